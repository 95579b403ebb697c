"""Is this process alive, and can it serve?"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from conversations import cleanups
from conversations.realtime import calls

log = structlog.get_logger(__name__)


@never_cache
@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """200 as long as requests are answered; asks nobody else."""
    return JsonResponse({"status": "alive"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200, or 503 with every failing check named, `draining` from the moment on that the process ends.

    `details` tell what an operator should look into.
    """
    failing = ["draining"] if calls.draining() else _failing()
    details = {} if failing else {"retention": _retention()}
    body = {"status": "unready" if failing else "ready", "failing": failing, "details": details}
    return JsonResponse(body, status=503 if failing else 200)


def _retention() -> str:
    """What is wrong with the cleanup: it makes nobody unready, since calls do not depend on it."""
    try:
        return cleanups.trouble(timezone.now()) or "ok"
    except Error as error:
        log.warning("readyz.failing", check="retention", error=type(error).__name__)
        return "unknown"


def _failing() -> list[str]:
    failing: list[str] = []
    for name, check in _checks().items():
        # Without a database nothing is known of its migrations, and asking again only takes time.
        if (name, failing) != ("migrations", ["database"]) and not _passes(name, check):
            failing.append(name)
    return failing


def _checks() -> dict[str, Callable[[], bool]]:
    checks: dict[str, Callable[[], bool]] = {"database": _database, "migrations": _migrations}
    return checks | {"cache": _cache} if settings.REDIS_URL else checks


def _passes(name: str, check: Callable[[], bool]) -> bool:
    try:
        return check()
    except (Error, RedisError, OSError) as error:
        log.warning("readyz.failing", check=name, error=type(error).__name__)
        return False


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _migrations() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def _cache() -> bool:
    stamp = str(time.time())
    cache.set("readyz", stamp, timeout=10)
    return cache.get("readyz") is not None
