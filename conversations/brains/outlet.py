"""Where the events of a turn wait for whoever reads them: bounded, and nobody who tells one ever waits."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import structlog

log = structlog.get_logger(__name__)

Event = Mapping[str, Any]

CAPACITY = 1_000
# With more than this unread, whoever speaks waits for the reader.
AHEAD = 200


class Outlet:
    """Events for one reader, in order; `read_text` is what the reader got of the answer."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._events: deque[Event] = deque()
        self._capacity = capacity
        self._moved = asyncio.Event()
        self._closed = False
        self._heard: list[str] = []

    @property
    def read_text(self) -> str:
        return "".join(self._heard)

    def tell(self, event: Event) -> bool:
        """Takes an event; False where there is no room for it, or nobody reads any more."""
        if self._closed:
            return False
        if len(self._events) >= self._capacity:
            log.warning("outlet.full", type=str(event.get("type")))
            return False
        self._events.append(event)
        self._moved.set()
        return True

    async def speak(self, text: str) -> None:
        """Takes a piece of the answer, once the reader is near enough."""
        while len(self._events) >= AHEAD and not self._closed:
            self._moved.clear()
            await self._moved.wait()
        self.tell({"type": "text.delta", "delta": text})

    def close(self) -> None:
        """Nothing more comes; what waits is still read."""
        self._closed = True
        self._moved.set()

    async def events(self) -> AsyncGenerator[Event, None]:
        """All of them until the end."""
        while True:
            while self._events:
                event = self._events.popleft()
                if event["type"] == "text.delta":
                    self._heard.append(event["delta"])
                self._moved.set()
                yield event
            if self._closed:
                return
            self._moved.clear()
            await self._moved.wait()
