"""Rows of calls that never were, spread as real ones are: to try lists and cleanups at their size."""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Model

from conversations.models import BackendToken, Conversation, ToolCall, Turn, UpstreamSession
from tools.models import CatalogSnapshot

Values = dict[str, Any]
LIVE = 20
CALLS_A_TURN = 8
_REF = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_FIRST = (
    "Ada Aina Berta Biel Carla Dora Enric Ferran Gemma Hug Iria Jordi Laia Marta Mara Nil Ona Pau Roc Sara"
)
_LAST = "Aubert Bosch Casals Duran Esteve Font Garcia Horta Ibarra Julià Llull Mir Navarro Oliver Puig Ribas"
_TOOLS = {
    "list_centers": 10,
    "list_reports": 25,
    "get_report": 30,
    "list_insights": 12,
    "get_insight": 10,
    "get_metric_history": 8,
    "list_podcasts": 3,
    "get_podcast": 2,
}
_ASKED = ("What is the oxygen level in cage four?", "How many fish were lost?", "And the north center?")
_HEARD = (
    "The oxygen level is eight point two milligrams.",
    "Twelve fish were lost this week.",
    "Just a moment.",
)
_MODES = {"mcp": 92, "apipilot": 5, "plain": 3}
_REASONS = {"idle": 50, "caller_cleanup": 35, "expired": 8, "superseded": 4, "operator": 1, "error": 2}
_DIALECTS = {"ga": 88, "beta": 9, "s2s-1.1": 3}
_ORIGINS = {"voice": 80, "text": 17, "http": 3}
_OUTCOMES = {"done": 88, "interrupted": 6, "cancelled": 3, "failed": 3}
_CODES = {
    "": 930,
    "timeout": 20,
    "tool_error": 15,
    "invalid_arguments": 12,
    "cancelled": 10,
    "unavailable": 8,
    "forbidden": 3,
    "unknown_tool": 2,
}


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is made; `largest` is the number of tool calls in the one conversation that has most."""

    conversations: int
    turns: int
    tool_calls: int
    largest: int = 0
    days: int = 365
    seed: int = 1


@dataclass(slots=True)
class Made:
    """Rows of some conversations by model, those that others point at first."""

    rows: dict[type[Model], list[Values]] = field(default_factory=dict)

    def add(self, model: type[Model], **values: Any) -> Values:
        """One more row."""
        self.rows.setdefault(model, []).append(values)
        return values


class Maker:
    """Makes the same rows for the same amounts and moment."""

    def __init__(self, amounts: Amounts, now: datetime) -> None:
        self.amounts = amounts
        self._now = now
        self._chance = random.Random(amounts.seed)
        self._callers = [
            f"{first} {last}"
            for first, last in zip(
                self._many(_FIRST, amounts.conversations // 10 + 1),
                self._many(_LAST, amounts.conversations // 10 + 1),
                strict=True,
            )
        ]

    def batches(self, size: int = 2_000) -> Iterator[Mapping[type[Model], list[Values]]]:
        """All rows, so many conversations at a time; the newest conversations, which are open, come last."""
        amounts = self.amounts
        turns = _shares(amounts.turns, amounts.conversations)
        calls = _shares(max(amounts.tool_calls - amounts.largest, 0), amounts.conversations)
        made = Made()
        self._catalogs(made)
        for number in range(amounts.conversations):
            live = number >= amounts.conversations - min(LIVE, amounts.conversations // 5)
            largest = amounts.largest if number == 0 else 0
            self._conversation(made, next(turns), next(calls) + largest, live)
            if number % size == size - 1:
                yield made.rows
                made = Made()
        yield made.rows

    def _many(self, words: str, count: int) -> list[str]:
        return self._chance.choices(words.split(), k=count)

    def _one(self, weights: Mapping[str, int]) -> str:
        return self._chance.choices(list(weights), list(weights.values()))[0]

    def _id(self) -> uuid.UUID:
        return uuid.UUID(int=self._chance.getrandbits(128), version=4)

    def _ref(self) -> str:
        return "".join(self._chance.choices(_REF, k=7))

    def _catalogs(self, made: Made) -> None:
        tools = [
            {"name": name, "description": f"{name}.", "parameters": {"type": "object"}} for name in _TOOLS
        ]
        for number in range(len(self._callers)):
            fetched_at = self._now - timedelta(minutes=number)
            made.add(
                CatalogSnapshot,
                source="aquaportal",
                caller_fingerprint=_fingerprint(number),
                tools=tools,
                fetched_at=fetched_at,
                expires_at=fetched_at + timedelta(minutes=10),
            )

    def _conversation(self, made: Made, turns: int, calls: int, live: bool) -> None:
        caller = self._chance.randrange(len(self._callers))
        age = (
            timedelta(minutes=5) if live else timedelta(days=self.amounts.days * self._chance.random() ** 1.5)
        )
        opened_at = self._now - age
        ended_at = opened_at + timedelta(seconds=30 + 40 * turns)
        closed: Values = {"state": "closed", "close_reason": self._one(_REASONS), "closed_at": ended_at}
        held: Values = {"owner": "made-up", "lease_expires_at": self._now + timedelta(hours=1)}
        row = made.add(
            Conversation,
            id=self._id(),
            mode=self._one(_MODES),
            caller_name=self._callers[caller],
            backend_user_id=f"made-up-{caller}",
            opened_at=opened_at,
            last_seen_at=ended_at,
            expires_at=opened_at + timedelta(hours=4),
            **(held if live else closed),
        )
        made.add(
            BackendToken,
            conversation_id=row["id"],
            fingerprint=_fingerprint(caller),
            obtained_at=opened_at,
            erased_at=None if live else ended_at,
        )
        made.add(
            UpstreamSession,
            id=self._id(),
            conversation_id=row["id"],
            dialect=self._one(_DIALECTS),
            selection="native",
            tool_names=list(_TOOLS),
            opened_at=opened_at,
            closed_at=None if live else ended_at,
            close_reason="" if live else "closed",
        )
        self._turns(made, row, max(turns, -(-calls // CALLS_A_TURN)), calls)

    def _turns(self, made: Made, conversation: Values, turns: int, calls: int) -> None:
        shares = _shares(calls, turns)
        for index in range(1, turns + 1):
            started_at = conversation["opened_at"] + timedelta(seconds=30 * index)
            answered_at = started_at + timedelta(seconds=2 + self._chance.lognormvariate(0.3, 0.4))
            outcome = self._one(_OUTCOMES)
            failed = outcome == "failed"
            turn = made.add(
                Turn,
                id=self._id(),
                conversation_id=conversation["id"],
                index=index,
                origin=self._one(_ORIGINS),
                caller_text=self._chance.choice(_ASKED),
                heard_text=self._chance.choice(_HEARD),
                outcome=outcome,
                code="no_answer" if failed else "",
                ref=self._ref() if failed else "",
                started_at=started_at,
                caller_done_at=started_at + timedelta(seconds=2),
                answered_at=None if failed else answered_at,
                ended_at=answered_at + timedelta(seconds=5),
            )
            for sequence in range(1, next(shares) + 1):
                self._call(made, turn, sequence)

    def _call(self, made: Made, turn: Values, sequence: int) -> None:
        code = self._one(_CODES)
        refused = code in ("unknown_tool", "invalid_arguments")
        started_at = turn["started_at"] + timedelta(milliseconds=2_000 + 400 * sequence)
        took = int(self._chance.lognormvariate(5.5, 0.8))
        made.add(
            ToolCall,
            id=self._id(),
            conversation_id=turn["conversation_id"],
            turn_id=turn["id"],
            sequence=sequence,
            source="" if refused else "aquaportal",
            selection="native" if self._chance.random() < 0.97 else "marker",
            name=self._one(_TOOLS),
            arguments={"request": {"report_id": f"r-{took}"}},
            status="failed" if code else "completed",
            code=code,
            result_chars=took * 3,
            excerpt=f'{{"items": {took}, "note": "made up"}}',
            ref=self._ref() if code else "",
            started_at=started_at,
            ended_at=started_at + timedelta(milliseconds=took),
            duration_ms=took,
        )


def _fingerprint(caller: int) -> str:
    return hashlib.sha256(f"made up {caller}".encode()).hexdigest()


def _shares(amount: int, among: int) -> Iterator[int]:
    """The amount in `among` whole parts that differ by one at most."""
    for number in range(among):
        yield amount * (number + 1) // among - amount * number // among
