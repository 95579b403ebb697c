"""Frames on their way to one peer: in order, bounded in bytes, sent by one task."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable


class Outbox:
    """`put` never waits; `drain` sends until it is cancelled or the peer is gone."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._frames: deque[str] = deque()
        self._size = 0
        self._filled = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def put(self, frame: str, beyond: int = 0) -> bool:
        """False when the peer is too slow to take it: the frame is not kept.

        A frame that matters more than others may go so many bytes `beyond` the limit.
        """
        if self._size + self._cost(frame) > self._limit + beyond:
            return False
        self._frames.append(frame)
        self._size += self._cost(frame)
        self._empty.clear()
        self._filled.set()
        return True

    async def emptied(self, seconds: float) -> None:
        """Waits until everything is sent, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._empty.wait()

    async def drain(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Sends every frame in order; what `send` raises ends it."""
        while True:
            await self._filled.wait()
            while self._frames:
                frame = self._frames.popleft()
                self._size -= self._cost(frame)
                await send(frame)
            self._filled.clear()
            self._empty.set()

    def _cost(self, frame: str) -> int:
        """Its size; a huge one is no reason to call its peer slow, while two of them would be."""
        return min(len(frame), self._limit // 2 + 1)
