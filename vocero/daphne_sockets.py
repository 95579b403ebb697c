"""What Daphne lacks for long calls: flow control, close codes, events of any size, a short way for frames."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from vocero.frames import MOST_UNREAD, Frames, Server, with_frames

App = Callable[[Any, Any, Any], Awaitable[None]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Stop = Callable[[], Coroutine[Any, Any, None]]

# Above what Vocero takes from a client, so that it can say so before it closes.
RECEIVE_LIMIT = 2 * 1024 * 1024
# The one close code outside of 1000 and 3000 to 4999 that Daphne can be made to send.
_FAILED = 1011


def mended(app: App, stop: Stop) -> App:
    """The application, with what its WebSockets miss where Daphne serves them; `stop` ends what runs."""
    announced = False

    async def served(scope: Any, receive: Any, send: Any) -> None:
        nonlocal announced
        if not announced and type(_bound(send)).__module__.startswith("daphne."):
            announced = True
            _before_shutdown(stop)
        protocol = _protocol(send) if scope["type"] == "websocket" else None
        if protocol is not None:
            send = _Sender(protocol, send)
            scope = with_frames(scope, _beside(protocol, send))
        await app(scope, receive, send)

    return served


def _before_shutdown(stop: Stop) -> None:
    """Daphne knows no lifespan; its reactor waits for what is due before it stops."""
    # Only a process of Daphne's has a reactor, and importing it makes one.
    from twisted.internet import defer, reactor  # noqa: PLC0415

    def stopped() -> Any:
        return defer.Deferred.fromFuture(asyncio.ensure_future(stop()))

    running: Any = reactor
    running.addSystemEventTrigger("before", "shutdown", stopped)


def _protocol(send: Any) -> Any:
    """Daphne's protocol behind a `send` of its, None for any other server."""
    bound = _bound(send)
    return bound if type(bound).__module__ == "daphne.ws_protocol" else None


def _bound(send: Any) -> Any:
    return send.args[0] if isinstance(send, partial) and send.args else None


def _beside(protocol: Any, sender: _Sender) -> Frames:
    """The frames of a socket; handshake, pings, closing and whatever else comes stay the protocol's."""
    received = protocol.dataReceived

    def parse(data: bytes) -> None:
        received(data)
        if sender.unread > MOST_UNREAD:
            protocol.transport.abortConnection()

    def is_idle() -> bool:
        return bool(protocol.state == protocol.STATE_OPEN and protocol.application_queue.empty())

    frames = Frames(Server(parse, is_idle, sender.write))
    protocol.dataReceived = frames.read
    return frames


class _Sender:
    """Sends at the pace at which the client reads; Twisted calls the three methods of a producer."""

    def __init__(self, protocol: Any, send: Send) -> None:
        self._protocol, self._send = protocol, send
        self._flowing = asyncio.Event()
        self._flowing.set()
        protocol.maxMessagePayloadSize = max(protocol.maxMessagePayloadSize, RECEIVE_LIMIT)
        protocol.maxFramePayloadSize = max(protocol.maxFramePayloadSize, RECEIVE_LIMIT)
        # Through anything else, such as TLS, bytes must not go past its buffers.
        self._is_plain = type(protocol.transport).__module__ == "twisted.internet.tcp"
        protocol.transport.unregisterProducer()
        protocol.transport.registerProducer(self, True)

    @property
    def unread(self) -> int:
        """Bytes that wait for the client in its socket's buffers."""
        transport = self._protocol.transport
        # That of TLS has another below it.
        below = getattr(transport, "transport", transport)
        return len(below.dataBuffer) + int(below._tempDataLen)

    def write(self, data: bytes) -> bool:
        """Sends bytes of ours where that needs no waiting, and says so."""
        transport = self._protocol.transport
        if self._protocol.state != self._protocol.STATE_OPEN or not self._flowing.is_set():
            return False
        if not self._is_plain or transport.dataBuffer or transport._tempDataBuffer:
            transport.write(data)
            return True
        # Without the reactor, which would be asked to wait until the socket can be written, each time.
        sent = transport.writeSomeData(data)
        if not isinstance(sent, int):
            return False
        if sent < len(data):
            transport.write(data[sent:])
        return True

    async def __call__(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.close":
            await self._close(message)
        elif message["type"] == "websocket.send":
            await self._flowing.wait()
            await self._send_whole(message)
        else:
            await self._send(message)

    def pauseProducing(self) -> None:  # noqa: N802  (Twisted's name)
        self._flowing.clear()

    def resumeProducing(self) -> None:  # noqa: N802
        self._flowing.set()

    def stopProducing(self) -> None:  # noqa: N802
        self._flowing.set()

    async def _send_whole(self, message: dict[str, Any]) -> None:
        """Without the limit, which is meant for what clients send, and which would end the call.

        Raises ConnectionResetError where the client is gone.
        """
        if self._protocol.state in (self._protocol.STATE_CLOSING, self._protocol.STATE_CLOSED):
            raise ConnectionResetError("the client is gone")
        limit, self._protocol.maxMessagePayloadSize = self._protocol.maxMessagePayloadSize, 0
        try:
            await self._send(message)
        finally:
            self._protocol.maxMessagePayloadSize = limit

    async def _close(self, message: dict[str, Any]) -> None:
        code = message.get("code") or 1000
        if code == 1000 or 3000 <= code <= 4999 or self._protocol.state != self._protocol.STATE_OPEN:
            await self._send(message)
        else:
            self._protocol.sendCloseFrame(code=_FAILED)
