"""How late a frame comes while another call's work waits for the database."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

from bench.report import Effort, Part, spread
from bench.servers import Stage, Target, seats_at

HELD = 1.0
SIZE = 1_400
RATE = 100.0
ROUNDS = 5
LIMIT = 5.0
VOCERO = "Vocero on uvicorn"

ABOUT = f"""For {HELD:.0f} second somebody else holds the write lock of the database, so that whatever the
process writes meanwhile waits for it, as for a slow query: a conversation that is being opened, heartbeats,
the journal. One live call goes on with {RATE:.0f} frames a second each way."""


def measure(effort: Effort, built: Stage) -> Part:
    """The longest round trip with and without such a query, in turns."""
    part = Part("A slow query", ABOUT)
    target = built.vocero(VOCERO)
    built.call(target, 1)
    held, rounds = (0.1, 1) if effort.quick else (HELD, ROUNDS)
    free, slow, waited = [], [], []
    for _ in range(rounds):
        free.append(_longest(built, target, held))
        longest, opened = _longest_beside_query(built, target, held)
        slow.append(longest)
        waited.append(opened)
    built.leave(target)
    added = [one - other for one, other in zip(slow, free, strict=True)]
    best = sorted(added)[len(added) // 2]
    told = f"{spread(slow, 'ms')}, against {spread(free, 'ms')} without"
    part.add(
        f"Longest round trip beside the query: {VOCERO}",
        told,
        f"+{best:.1f} ms",
        f"≤ {LIMIT:.0f} ms",
        best <= LIMIT,
    )
    part.add("What waited for the lock took", spread(waited, "ms", 0), "")
    return part


def _longest(built: Stage, target: Target, seconds: float) -> float:
    command = {"target": target.name, "size": SIZE, "callers": 1, "rate": RATE, "seconds": seconds}
    longest: float = built.load.does("paced", **command)["longest"]
    return longest / 1e3


def _longest_beside_query(built: Stage, target: Target, seconds: float) -> tuple[float, float]:
    """The longest round trip, and how long a conversation took to open, both in milliseconds."""
    database = sqlite3.connect(built.folder / "bench.sqlite3", isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as other:
        began = time.monotonic()
        opening = other.submit(seats_at, target, 1)
        longest = _longest(built, target, seconds)
        database.execute("ROLLBACK")
        opening.result()
        waited = time.monotonic() - began
    database.close()
    return longest, waited * 1e3
