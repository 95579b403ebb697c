"""Notices work that takes too long, with one timer now and then instead of one for each piece of work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Stall:
    """`noticed` is called once a piece of work has lasted `limit` seconds; there is one piece at a time."""

    def __init__(self, limit: float, noticed: Callable[[], None]) -> None:
        self._limit, self._noticed = limit, noticed
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begins(self) -> None:
        """A piece of work begins."""
        self._since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._limit, self._look)

    def ends(self) -> None:
        """It is done."""
        self._since = None

    def close(self) -> None:
        """Nothing is noticed any more."""
        self._since = None
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + self._limit - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._noticed()
