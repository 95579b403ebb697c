"""A call's timers by name; one that is set again begins anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Timers:
    """`fired` is told the name of each whose time is over."""

    def __init__(self, fired: Callable[[str], None]) -> None:
        self._fired = fired
        self._running: dict[str, asyncio.TimerHandle] = {}

    def start(self, name: str, seconds: float) -> None:
        self.stop(name)
        self._running[name] = asyncio.get_running_loop().call_later(seconds, self._fire, name)

    def stop(self, name: str) -> None:
        timer = self._running.pop(name, None)
        if timer is not None:
            timer.cancel()

    def stop_all(self) -> None:
        for name in list(self._running):
            self.stop(name)

    def _fire(self, name: str) -> None:
        # Many are named after a response: kept, they would grow with the call.
        del self._running[name]
        self._fired(name)
