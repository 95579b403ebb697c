"""Frames of a browser that came while the call could not act on them: in order and bounded."""

from __future__ import annotations

from collections import deque

from conversations.metrics import METER

AUDIO_LIMIT = 1024 * 1024
LIMIT = 2 * AUDIO_LIMIT
# What a frame costs beside its text, so that a flood of tiny ones is bounded too.
FRAME_COST = 64

DROPPED = METER.dropping("early")

_AUDIO = "input_audio_buffer.append"
_AUDIO_WITHIN = 100


class Waiting:
    """`put` until `take`; of audio that does not fit the oldest is lost: nobody answers it any more."""

    def __init__(self) -> None:
        self._frames: dict[int, str] = {}
        self._audio: deque[int] = deque()
        self._audio_size = 0
        self._rest_size = 0
        self._number = 0

    def put(self, frame: str) -> bool:
        """False when there is no room for a frame that must not be lost."""
        size = len(frame) + FRAME_COST
        if _AUDIO in frame[:_AUDIO_WITHIN]:
            self._put_audio(frame, size)
            return True
        if self._rest_size + size > LIMIT - AUDIO_LIMIT:
            return False
        self._rest_size += size
        self._keep(frame)
        return True

    def take(self) -> list[str]:
        """Everything, once."""
        frames, self._frames = list(self._frames.values()), {}
        self._audio.clear()
        self._audio_size = self._rest_size = 0
        return frames

    def _put_audio(self, frame: str, size: int) -> None:
        self._audio_size += size
        self._audio.append(self._keep(frame))
        while self._audio_size > AUDIO_LIMIT:
            DROPPED(1)
            self._audio_size -= len(self._frames.pop(self._audio.popleft())) + FRAME_COST

    def _keep(self, frame: str) -> int:
        self._number += 1
        self._frames[self._number] = frame
        return self._number
