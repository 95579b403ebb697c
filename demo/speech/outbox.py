"""What waits to be written to one client: in order, bounded, and never awaited by who puts it in."""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable

from demo.speech.events import Event

_ROOM = 16
_MOST = 4000


class Overrun(Exception):
    """The client does not read what it is sent."""


class Outbox:
    """A queue of events with one writer, `run`."""

    def __init__(self, send: Callable[[str], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: deque[Event] = deque()
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def put(self, *events: Event) -> None:
        """Queue events; raises Overrun when far too many wait."""
        self._waiting.extend(events)
        if len(self._waiting) > _MOST:
            raise Overrun
        self._more.set()
        if len(self._waiting) > _ROOM:
            self._room.clear()

    async def room(self) -> None:
        """Wait until the client has read most of what was sent: for sound, which need not pile up here."""
        await self._room.wait()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._more.wait()
            await self.flush()
            self._more.clear()

    async def flush(self) -> None:
        """Write what waits now."""
        while self._waiting:
            await self._send(json.dumps(self._waiting.popleft(), ensure_ascii=False))
            if len(self._waiting) <= _ROOM:
                self._room.set()
