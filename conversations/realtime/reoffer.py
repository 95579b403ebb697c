"""A call's tools, asked for again when a source says that they changed: one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

from tools.catalog import Offer

log = structlog.get_logger(__name__)

# A server may tell of a thousand changes a second.
PAUSE = 2.0

Guard = Callable[[Callable[[], Coroutine[Any, Any, None]]], Coroutine[Any, Any, None]]


class Reoffer:
    """`ask` again, and `take` what is offered then; `guarded` wraps the task that asks."""

    def __init__(
        self, ask: Callable[[], Awaitable[Offer]], take: Callable[[Offer], None], guarded: Guard
    ) -> None:
        self._ask, self._take, self._guarded = ask, take, guarded
        self._stale = False
        self._asking: asyncio.Task[None] | None = None

    def wish(self) -> None:
        """What is offered may have changed; never waits."""
        self._stale = True
        if self._asking is None:
            self._asking = asyncio.create_task(self._guarded(self._ask_again))
            self._asking.add_done_callback(self._asked)

    async def stop(self) -> None:
        """Asks no more."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait({self._asking})

    async def _ask_again(self) -> None:
        while self._stale:
            self._stale = False
            self._take(await self._ask())
            await asyncio.sleep(PAUSE)

    def _asked(self, _task: asyncio.Task[None]) -> None:
        self._asking = None
