"""What a row of the record costs, written by itself and written by the journal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import median

from bench.processes import Process, python
from bench.report import Effort, Part, ratio, spread, times
from bench.servers import Stage

ROWS = 1_000
LIMIT = 0.1

ABOUT = """Turns opened and closed, two writes each. *Alone*: each in its own transaction, as a call that
waited for them would write them. *Journal*: as live calls leave them, which wait for nothing; the journal's
thread takes what has come and writes it together. PostgreSQL is measured where its URL is given (`make
bench POSTGRES=postgres://…`)."""


@dataclass(frozen=True, slots=True)
class Database:
    """Where rows go, and whether the target is meant for it."""

    name: str
    url: str
    is_target: bool


def measure(effort: Effort, built: Stage) -> Part:
    """Milliseconds by write."""
    part = Part("Journal", ABOUT)
    databases = [Database("SQLite", built.settings()["DATABASE_URL"], False)]
    if effort.postgres:
        databases.append(Database("PostgreSQL", effort.postgres, True))
    for database in databases:
        told = _written(built, database, effort)
        alone, together = told["alone"], told["journal"]
        compared = f"{times(ratio(together, alone))} of alone, {spread(alone, 'ms', 2)}"
        limit = f"≤ {LIMIT} ms" if database.is_target else ""
        met = median(together) <= LIMIT if database.is_target else None
        part.add(
            f"A write through the journal, {database.name}",
            spread(together, "ms", 3),
            compared,
            limit,
            met,
        )
    return part


def _written(built: Stage, database: Database, effort: Effort) -> dict[str, list[float]]:
    log = built.folder / f"journal-{database.name}.json"
    rows, rounds = (effort.count(ROWS), effort.rounds) if effort.quick else (ROWS, 3)
    command = python("bench.journal_rows", "--rows", str(rows), "--rounds", str(rounds))
    settings = {**built.settings(), "DATABASE_URL": database.url, "LOG_LEVEL": "ERROR"}
    process = Process(f"journal on {database.name}", command, log, settings)
    try:
        process.succeed()
    finally:
        process.stop()
    answer: dict[str, list[float]] = json.loads(log.read_text().splitlines()[-1])
    return answer
