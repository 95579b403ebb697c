"""Whole characters out of text that comes in pieces: a model's server may cut between the halves of one."""

from __future__ import annotations

from codecs import getincrementaldecoder


class Letters:
    """Keeps half a character back until the other half comes; one that never does is U+FFFD."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-16-le")("replace")

    def take(self, piece: str) -> str:
        """What can be said now."""
        return self._decoder.decode(piece.encode("utf-16-le", "surrogatepass"))

    def rest(self) -> str:
        """What was kept back, at the end."""
        return self._decoder.decode(b"", final=True)
