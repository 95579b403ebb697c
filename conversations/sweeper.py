"""The sweep that every web process runs: what time and dead processes left behind."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import structlog
from channels.db import database_sync_to_async
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.utils import timezone

from conversations import erasure, lifecycle

log = structlog.get_logger(__name__)

INTERVAL = 30.0
SLICE_PAUSE = 0.25

App = Callable[[Any, Any, Any], Awaitable[None]]


def sweeping(app: App) -> App:
    """The application, with a sweep running beside it from its first request on; one for each event loop.

    There is no start-up hook to use: Daphne knows no ASGI lifespan.
    """
    sweeps: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]]
    sweeps = weakref.WeakKeyDictionary()

    async def swept(scope: Any, receive: Any, send: Any) -> None:
        loop = asyncio.get_running_loop()
        if loop not in sweeps:
            sweeps[loop] = loop.create_task(_sweep_for_ever())
        await app(scope, receive, send)

    return swept


async def _sweep_for_ever() -> None:
    while True:
        try:
            await database_sync_to_async(_sweep)(timezone.now())
            await _erase()
        except (OperationalError, InterfaceError) as error:
            log.warning("sweep.unreachable", error=type(error).__name__)
        except DatabaseError:
            log.exception("sweep.failed")
        await asyncio.sleep(INTERVAL)


async def _erase() -> None:
    """What operators asked to be erased, in slices: between them others use the thread."""
    while True:
        progress = await database_sync_to_async(erasure.proceed)(timezone.now())
        if not progress.more:
            return
        await asyncio.sleep(SLICE_PAUSE)


def _sweep(now: datetime) -> None:
    lifecycle.sweep(now, lambda: not _restarted_just_now())


def _restarted_just_now() -> bool:
    """Whether the database was away a moment ago: nobody could renew a lease then."""
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT now() - pg_postmaster_start_time()")
        return bool(cursor.fetchone()[0] < lifecycle.LEASE)
