"""What Vocero itself stands on: its database, its cache, its static files, its settings."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core import checks
from django.core.cache import cache
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from redis.exceptions import RedisError

from conversations import cleanups
from conversations.doctor.asking import since
from conversations.doctor.findings import FAILED, OK, SKIPPED, WARNING, Finding


def database() -> Finding:
    """Whether it answers, and is at this version's tables."""
    began = time.monotonic()
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error as error:
        mend = "Is it running at DATABASE_URL, and may this user open it?"
        return Finding("database", FAILED, f"cannot be read ({type(error).__name__})", mend, since(began))
    if plan:
        mend = "Run `python manage.py migrate`."
        return Finding("database", FAILED, f"{len(plan)} migrations are not applied", mend, since(began))
    return Finding("database", OK, f"{connection.vendor}, at this version's tables", ms=since(began))


def redis() -> Finding:
    """Whether what one process writes another could read."""
    if not settings.REDIS_URL:
        return Finding("Redis", SKIPPED, "REDIS_URL is not set: one process only")
    began, stamp = time.monotonic(), secrets.token_hex(8)
    try:
        cache.set("doctor", stamp, timeout=10)
        kept = cache.get("doctor") == stamp
    except (RedisError, OSError) as error:
        mend = "Is it running at REDIS_URL? Calls go on without it; limits and nudges do not."
        return Finding("Redis", FAILED, f"cannot be reached ({type(error).__name__})", mend, since(began))
    if not kept:
        return Finding("Redis", FAILED, "forgets what it is told", "Look at its memory limit.", since(began))
    return Finding("Redis", OK, "keeps what it is told", ms=since(began))


def static_files() -> Finding:
    """Whether the page's files were collected under their hashed names."""
    if (Path(settings.STATIC_ROOT) / "staticfiles.json").is_file():
        return Finding("static files", OK, "collected")
    mend = "Run `python manage.py collectstatic --noinput`."
    return Finding("static files", WARNING, "not collected: each process looks for them itself", mend)


def cleanup() -> Finding:
    """Whether retention is applied."""
    try:
        success = cleanups.last_success()
    except Error as error:
        return Finding("cleanup", SKIPPED, f"the database does not say ({type(error).__name__})")
    if success is None:
        mend = "Let `python manage.py cleanup` run at least once a day."
        return Finding("cleanup", WARNING, "never ran to its end", mend)
    return Finding("cleanup", OK, f"last ran to its end on {success:%d %b at %H:%M} UTC")


def system_checks() -> Finding:
    """What `check --deploy` would say, as a number."""
    found = [one for one in checks.run_checks(include_deployment_checks=True) if not one.is_silenced()]
    errors = [one for one in found if one.level >= checks.ERROR]
    if not found:
        return Finding("settings", OK, "`check --deploy` finds nothing")
    said = f"`check --deploy` finds errors: {len(errors)}, warnings: {len(found) - len(errors)}"
    ids = ", ".join(sorted({str(one.id) for one in found}))
    return Finding("settings", FAILED if errors else WARNING, said, f"Run it: {ids}")


OWN: tuple[Callable[[], Finding], ...] = (database, redis, static_files, cleanup, system_checks)
