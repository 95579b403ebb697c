"""Frames on their way to one peer: bounded in bytes, sent by one task; sound gives way to everything else."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import deque
from collections.abc import Awaitable, Callable

from conversations.realtime.begun import Rest

# What a frame costs beside its text, so that a flood of tiny ones is bounded too.
FRAME_COST = 64
# This part of the room is never taken by sound.
ROOM_BESIDE_AUDIO = 8


def never(_frame: str) -> bool:
    """The `offer` of a peer to whom nothing can be sent without waiting."""
    return False


def unnoticed(_count: int) -> None:
    """The `dropped` of an outbox whose losses nobody counts."""


async def finish(rest: Rest) -> None:
    """Goes on with a sending that has begun."""
    await rest


class Outbox:
    """`put` never waits; `drain` sends until it is cancelled or the peer is gone.

    `offer` sends a frame at once where it can: then nothing is kept, and no task is woken. What it gives
    instead of a yes or no is the rest of a sending that has begun and waits. `dropped` is told how many
    frames found no room, or had to give theirs up.
    """

    def __init__(
        self,
        limit: int,
        offer: Callable[[str], bool | Rest] = never,
        dropped: Callable[[int], None] = unnoticed,
    ) -> None:
        self._limit, self._offer, self._dropped = limit, offer, dropped
        self._rest: Rest | None = None
        self._ahead: deque[tuple[str, bool]] = deque()
        self._frames: deque[tuple[str, bool]] = deque()
        self.size = 0
        self._sounds = 0
        self._filled = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def put(self, frame: str, is_audio: bool = False, ahead: bool = False) -> bool:
        """False when the peer is too slow to take it: the frame is not kept.

        Where there is no room, sound that waits is dropped for a frame that is none. With `ahead` it goes out
        before all that waits and was not put so.
        """
        if self._empty.is_set():
            offered = self._offer(frame)
            if offered is True:
                return True
            if offered:
                self._rest = offered
                self._wake()
                return True
        cost = self._cost(frame)
        limit = self._limit - self._limit // ROOM_BESIDE_AUDIO if is_audio else self._limit
        if self.size + cost > limit and not is_audio:
            self._dropped(self._sounds)
            self.drop_audio()
        if self.size + cost > limit:
            self._dropped(1)
            return False
        (self._ahead if ahead and not is_audio else self._frames).append((frame, is_audio))
        self.size += cost
        self._sounds += is_audio
        self._wake()
        return True

    def _wake(self) -> None:
        self._empty.clear()
        self._filled.set()

    def drop_audio(self) -> None:
        """Sound that waits is not to be heard any more."""
        if not self._sounds:
            return
        self._sounds = 0
        kept = [(frame, is_audio) for frame, is_audio in self._frames if not is_audio]
        # In place: `drain` waits with these frames in its hands, and would keep the sound that long.
        self._frames.clear()
        self._frames.extend(kept)
        self.size = sum(self._cost(frame) for frame, _ in (*self._ahead, *self._frames))

    async def emptied(self, seconds: float) -> None:
        """Waits until everything is sent, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._empty.wait()

    async def drain(
        self,
        send: Callable[[str], Awaitable[None]],
        go_on: Callable[[Rest], Awaitable[None]] = finish,
    ) -> None:
        """Sends every frame in order; what `send` raises ends it. `go_on` ends what an offer has begun."""
        while True:
            await self._filled.wait()
            if self._rest is not None:
                rest, self._rest = self._rest, None
                await go_on(rest)
            while waiting := self._ahead or self._frames:
                frame, is_audio = waiting.popleft()
                self.size -= self._cost(frame)
                self._sounds -= is_audio
                await send(frame)
            self._filled.clear()
            self._empty.set()

    def _cost(self, frame: str) -> int:
        """Its bytes; a huge one is no reason to call its peer slow, while two of them would be."""
        return min(sys.getsizeof(frame) + FRAME_COST, self._limit // 2 + 1)
