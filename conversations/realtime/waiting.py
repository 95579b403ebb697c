"""Frames of a browser that came before the call could act on them: in order and bounded."""

from __future__ import annotations

AUDIO_LIMIT = 1024 * 1024
LIMIT = 2 * AUDIO_LIMIT
# What a frame costs beside its text, so that a flood of tiny ones is bounded too.
FRAME_COST = 64

_AUDIO = "input_audio_buffer.append"
_AUDIO_WITHIN = 100


class Waiting:
    """`put` until `take`; of audio that does not fit the newest is lost, since nobody answers it any more."""

    def __init__(self) -> None:
        self._frames: list[str] = []
        self._size = 0

    def put(self, frame: str) -> bool:
        """False when there is no room for a frame that must not be lost."""
        audio = _AUDIO in frame[:_AUDIO_WITHIN]
        size = self._size + len(frame) + FRAME_COST
        if size > (AUDIO_LIMIT if audio else LIMIT):
            return audio
        self._size = size
        self._frames.append(frame)
        return True

    def take(self) -> list[str]:
        """Everything, once."""
        frames, self._frames, self._size = self._frames, [], 0
        return frames
