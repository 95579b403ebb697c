"""Writes rows of the record one way and the other, and prints what each cost, as JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
import uuid

import django
from django.core.management import call_command

django.setup()

from conversations import rows  # noqa: E402  (the models need the apps first)
from conversations.core.records import Record, TurnClosed, TurnOpened  # noqa: E402
from conversations.identity.login import Identity  # noqa: E402
from conversations.journal import Journal  # noqa: E402
from conversations.lifecycle import Opening, open_conversation  # noqa: E402

SAID = "What is the oxygen level in cage four? " * 3


def records(conversation_id: str, count: int, first: int) -> list[Record]:
    """So many turns, opened and closed."""
    made: list[Record] = []
    for index in range(first, first + count):
        turn_id = str(uuid.uuid4())
        made.append(TurnOpened(turn_id, conversation_id, index, "voice", time.time()))
        made.append(TurnClosed(turn_id, "done", SAID, SAID, time.time()))
    return made


def alone(written: list[Record]) -> float:
    """Milliseconds by write, each in its own transaction."""
    began = time.monotonic()
    for record in written:
        rows.write([record])
    return (time.monotonic() - began) * 1e3 / len(written)


async def through_journal(written: list[Record]) -> float:
    """Milliseconds by write, from the first that is left to the last that is stored."""
    journal = Journal()
    began = time.monotonic()
    for place, record in enumerate(written):
        journal.write(record)
        if place % 20 == 0:
            await asyncio.sleep(0)
    await journal.flush()
    spent = time.monotonic() - began
    await journal.aclose()
    return spent * 1e3 / len(written)


def main() -> None:
    """Both ways in turns."""
    parser = argparse.ArgumentParser(
        prog="bench.journal_rows", description="Writes rows, and says what they cost."
    )
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    asked = parser.parse_args()
    call_command("migrate", interactive=False, verbosity=0)
    opened = open_conversation(
        Opening(mode="mcp", identity=Identity("bench", "Bench", "token-of-the-bench"), browser_hash="")
    )
    found: dict[str, list[float]] = {"alone": [], "journal": []}
    turns = max(asked.rows // 2, 1)
    for number in range(asked.rounds):
        first = number * 2 * turns + 1
        found["alone"].append(alone(records(str(opened.pk), turns, first)))
        found["journal"].append(asyncio.run(through_journal(records(str(opened.pk), turns, first + turns))))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
