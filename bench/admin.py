"""How long an operator waits for each page over a great many rows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit, urlunsplit

import psycopg

from bench.processes import Process, python
from bench.report import Effort, Part, spread

LIMIT = 1_000.0
FILL_LIMIT = 3_600.0
# Conversations and tool calls; each conversation has six turns.
POSTGRES = (100_000, 1_000_000)
SQLITE = (5_000, 50_000)
QUICK = (60, 600)

ABOUT = f"""Pages of the admin, asked for in a process of their own with no network between, over rows that
`manage.py make_rows` made up: {POSTGRES[1]:,} tool calls of {POSTGRES[0]:,} conversations on PostgreSQL where
its URL is given (a database of the bench's own, which is dropped again), {SQLITE[1]:,} of {SQLITE[0]:,} on
SQLite. A twentieth of the calls belongs to one conversation. The last page is the last one that a list has:
longer lists go on by time. The number of queries is the same however many rows there are."""


def measure(effort: Effort) -> Part:
    """Milliseconds by page."""
    part = Part("The admin over many rows", ABOUT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "admin.sqlite3"
        _tell(part, "SQLite", _opened(effort, Path(folder), f"sqlite:///{file}", SQLITE), None)
        if effort.postgres:
            with _database(effort.postgres) as url:
                _tell(part, "PostgreSQL", _opened(effort, Path(folder), url, POSTGRES), LIMIT)
    return part


def _opened(effort: Effort, folder: Path, url: str, amounts: tuple[int, int]) -> dict[str, dict[str, object]]:
    conversations, calls = QUICK if effort.quick else amounts
    sizes = ("--conversations", str(conversations), "--tool-calls", str(calls))
    log, rounds = folder / "pages.json", "1" if effort.quick else "5"
    settings = {
        "ENV_FILE": "",
        "SECRET_KEY": "only-for-the-bench-Zp4vXq8sTn2wLk6yRb0cHd5fGj9m3aUe7i1oBx",
        "DJANGO_SETTINGS_MODULE": "vocero.settings",
        "ALLOWED_HOSTS": "127.0.0.1",
        "DATABASE_URL": url,
        "LOG_LEVEL": "ERROR",
    }
    process = Process("the admin", python("bench.admin_pages", *sizes, "--rounds", rounds), log, settings)
    try:
        process.succeed(FILL_LIMIT)
    finally:
        process.stop()
    found: dict[str, dict[str, object]] = json.loads(log.read_text().splitlines()[-1])
    return found


def _tell(part: Part, database: str, found: dict[str, dict[str, object]], limit: float | None) -> None:
    for name, one in found.items():
        spent = [float(each) for each in _numbers(one["ms"])]
        target, met = ("", None) if limit is None else (f"≤ {limit:.0f} ms", median(spent) <= limit)
        part.add(f"{database}, {name}", spread(spent, "ms", 0), f"{one['queries']} queries", target, met)


def _numbers(value: object) -> list[float]:
    return value if isinstance(value, list) else []


@contextmanager
def _database(server: str) -> Iterator[str]:
    """A database of the bench's own on that server, for as long as it is measured."""
    name = "vocero_bench_admin"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
