"""A shorter way for the frames of WebSockets where uvicorn serves them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from vocero.frames import MOST_UNREAD, Frames, Server, with_frames

App = Callable[[Any, Any, Any], Awaitable[None]]


def shortened(app: App) -> App:
    """The application, with the frames of its WebSockets at hand."""

    async def served(scope: Any, receive: Any, send: Any) -> None:
        protocol = getattr(send, "__self__", None) if scope["type"] == "websocket" else None
        if type(protocol).__module__ == "uvicorn.protocols.websockets.websockets_sansio_impl":
            scope = with_frames(scope, _beside(protocol))
        await app(scope, receive, send)

    return served


@dataclass(frozen=True, slots=True)
class _Between:
    """In a protocol's place at its transport, which calls these and nothing else."""

    data_received: Callable[[bytes], None]
    eof_received: Callable[[], None]
    connection_lost: Callable[[Exception | None], None]
    pause_writing: Callable[[], None]
    resume_writing: Callable[[], None]


def _beside(protocol: Any) -> Frames:
    """The frames of a socket; handshake, pings, closing and whatever else comes stay the protocol's."""

    def parse(data: bytes) -> None:
        transport = protocol.transport
        if transport.is_closing():
            return
        protocol.data_received(data)
        if transport.get_write_buffer_size() > MOST_UNREAD:
            transport.abort()

    def is_idle() -> bool:
        return protocol.queue.empty() and not protocol.close_sent

    def write(data: bytes) -> bool:
        if not protocol.writable.is_set() or protocol.close_sent or protocol.transport.is_closing():
            return False
        protocol.transport.write(data)
        return True

    frames = Frames(Server(parse, is_idle, write))
    between = _Between(
        frames.read,
        protocol.eof_received,
        protocol.connection_lost,
        protocol.pause_writing,
        protocol.resume_writing,
    )
    protocol.transport.set_protocol(between)
    return frames
