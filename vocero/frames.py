"""Text frames straight between a server's socket and the application, without a queue or a task for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from websockets.speedups import apply_mask

Take = Callable[[str], None]

# The extension of an ASGI scope under which an application finds the frames of its socket.
NAME = "vocero.frames"
# Servers answer every ping, also those of a client that reads no answer: where more than any frame of ours
# waits for it, the socket ends.
MOST_UNREAD = 24 * 1024 * 1024
_WHOLE_TEXT = 0x81
_MASKED = 0x80
_TWO, _EIGHT = 126, 127
# How long the header of a client's frame is, by its second byte; any other is six bytes long.
_HEADERS = {_MASKED | _TWO: 8, _MASKED | _EIGHT: 14}
_SHORTEST = 6


@dataclass(frozen=True, slots=True)
class Server:
    """What a server's own protocol does for one socket.

    `parse` takes bytes as they came. `is_idle` says that the socket is open and that the application has
    everything that was parsed. `write` sends bytes where that needs no waiting, and says so.
    """

    parse: Callable[[bytes], None]
    is_idle: Callable[[], bool]
    write: Callable[[bytes], bool]


class Frames:
    """One socket's. `read` is told what comes in; what is no whole text frame is left to the server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._take: Take | None = None
        self._header = b""
        self._owed = 0
        self._in_parts = False

    def listen(self, take: Take) -> None:
        """From now on a frame goes to `take` as it comes; where it cannot, it comes as an event, in order."""
        self._take = take

    def offer(self, frame: str) -> bool:
        """Sends it where that needs no waiting; False where it does, or where the client is gone."""
        payload = frame.encode()
        return self._server.write(_header(len(payload)) + payload)

    def read(self, data: bytes) -> None:
        """What the client sent next, cut anywhere."""
        if self._header:
            data, self._header = self._header + data, b""
        start = 0
        while start < len(data):
            size = self._owed or _size(data, start)
            if not size:
                self._header = data[start:]
                return
            frame = data[start : start + size]
            start += size
            if self._owed or len(frame) < size or not self._taken(frame):
                self._leave(frame, size)

    def _taken(self, frame: bytes) -> bool:
        if frame[0] != _WHOLE_TEXT or frame[1] < _MASKED or self._take is None or self._in_parts:
            return False
        if not self._server.is_idle():
            return False
        start = _HEADERS.get(frame[1], _SHORTEST)
        try:
            text = apply_mask(frame[start:], frame[start - 4 : start]).decode()
        except UnicodeDecodeError:
            return False
        self._take(text)
        return True

    def _leave(self, part: bytes, size: int) -> None:
        """To the server; only that knows what else there is, and whether it is allowed."""
        if not self._owed and part[0] & 0x0F < 8:
            self._in_parts = part[0] < 0x80
        self._owed = size - len(part)
        self._server.parse(part)


def with_frames(scope: Mapping[str, Any], frames: Frames) -> dict[str, Any]:
    """The scope of a socket whose application may use them."""
    return {**scope, "extensions": {**scope.get("extensions", {}), NAME: frames}}


def of(scope: Mapping[str, Any]) -> Frames | None:
    """Those of a scope; None where its server has none."""
    found: Frames | None = scope.get("extensions", {}).get(NAME)
    return found


def _size(data: bytes, start: int) -> int:
    """Bytes of the frame that begins there, its header included; 0 where that is not there yet."""
    there = len(data) - start
    if there < 2:
        return 0
    second = data[start + 1]
    mask, length = (4, second - _MASKED) if second >= _MASKED else (0, second)
    if length < _TWO:
        return 2 + mask + length
    if length == _TWO:
        return 4 + mask + int.from_bytes(data[start + 2 : start + 4]) if there >= 4 else 0
    return 10 + mask + int.from_bytes(data[start + 2 : start + 10]) if there >= 10 else 0


def _header(size: int) -> bytes:
    """Of a whole text frame to a client."""
    if size < _TWO:
        return bytes((_WHOLE_TEXT, size))
    if size < 1 << 16:
        return b"\x81\x7e" + size.to_bytes(2)
    return b"\x81\x7f" + size.to_bytes(8)
