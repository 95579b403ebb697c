"""One socket to the speech service: open, send, receive, close."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from picows import (
    WSCloseCode,
    WSError,
    WSFrame,
    WSListener,
    WSMsgType,
    WSProtocolError,
    WSTransport,
    ws_connect,
)

OPEN_TIMEOUT = 8.0
# A service that is still sending may not read our goodbye; it is cut off soon.
CLOSE_TIMEOUT = 0.5
# A service that answers no ping within this many seconds is gone.
SILENCE = 20.0
MAX_FRAME = 16 * 1024 * 1024
# What a part of a frame costs beside its bytes, so that empty ones without end are bounded too.
PART_COST = 64
# Frames that are kept until somebody reads them; the service waits then.
AHEAD = 16
READ_BUFFER = 4 * 1024
# What may wait in the kernel: it is read into one buffer, which grows to hold it all and never shrinks.
RECEIVED = 64 * 1024

Take = Callable[[str], None]


class SpeechUnavailable(Exception):
    """The speech service could not be reached, or refused the connection."""


class Connection(Protocol):
    """What a session asks of the service's socket."""

    def offer(self, frame: str) -> bool:
        """Sends a frame where that needs no waiting; False where it does, or where the socket is gone."""

    async def send(self, frame: str) -> None:
        """Raises SpeechUnavailable when the socket is gone."""

    async def receive(self) -> str:
        """The next text frame; raises SpeechUnavailable when the socket is gone. Safe to cancel."""

    async def read(self, take: Take) -> None:
        """Hands over each text frame as it comes, until SpeechUnavailable or an error of `take`.

        `take` may raise SpeechUnavailable itself.
        """

    async def close(self) -> None: ...


class SpeechConnection(WSListener):
    """A WebSocket at the service. Frames go from the socket to `take` without a task between them."""

    def __init__(self) -> None:
        self._transport: WSTransport | None = None
        self._take: Take = self._keep
        self._kept: deque[str] = deque()
        self._parts: list[bytes] = []
        self._size = 0
        self._changed = asyncio.Event()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._gone = False
        self._why = "broken off"
        self._over = asyncio.Event()

    # ---- what a session asks

    def offer(self, frame: str) -> bool:
        if self._transport is None or self._gone or not self._flowing.is_set():
            return False
        self._transport.send(WSMsgType.TEXT, frame)
        return True

    async def send(self, frame: str) -> None:
        while not self.offer(frame):
            if self._gone:
                raise SpeechUnavailable(self._why)
            await self._flowing.wait()

    async def receive(self) -> str:
        while not self._kept:
            if self._gone:
                raise SpeechUnavailable(self._why)
            self._changed.clear()
            await self._changed.wait()
        frame = self._kept.popleft()
        if len(self._kept) == AHEAD - 1 and self._transport is not None:
            self._transport.underlying_transport.resume_reading()
        return frame

    async def read(self, take: Take) -> None:
        while self._kept:
            take(await self.receive())
        self._take = take
        try:
            await self._over.wait()
        finally:
            self._take = _drop
        if self._gone and self._transport is not None:
            with contextlib.suppress(WSProtocolError):
                await self._transport.wait_disconnected()
        raise SpeechUnavailable(self._why)

    async def close(self) -> None:
        transport = self._transport
        if transport is None or self._gone:
            return
        transport.send_close(WSCloseCode.OK)
        with contextlib.suppress(TimeoutError, WSError):
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await transport.wait_disconnected()
        transport.disconnect(graceful=False)

    # ---- what the socket tells

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        with contextlib.suppress(OSError):
            peer = transport.underlying_transport.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        kind = frame.msg_type
        if kind is WSMsgType.TEXT and frame.fin:
            self._hand_over(frame.get_payload_as_utf8_text)
        elif kind is WSMsgType.CLOSE:
            code = int.from_bytes(frame.get_payload_as_bytes()[:2])
            self._why = f"closed {code or 1005}"
            transport.send_close(frame.get_close_code())
            transport.disconnect()
        elif kind is WSMsgType.TEXT or (kind is WSMsgType.CONTINUATION and self._parts):
            self._put_together(frame)

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._gone = True
        for event in (self._changed, self._flowing, self._over):
            event.set()

    def pause_writing(self) -> None:
        self._flowing.clear()

    def resume_writing(self) -> None:
        self._flowing.set()

    def _keep(self, frame: str) -> None:
        self._kept.append(frame)
        self._changed.set()
        if len(self._kept) == AHEAD and self._transport is not None:
            self._transport.underlying_transport.pause_reading()

    def _put_together(self, frame: WSFrame) -> None:
        """A frame in parts."""
        part = frame.get_payload_as_bytes()
        self._parts.append(part)
        self._size += len(part) + PART_COST
        if self._size > MAX_FRAME:
            raise WSProtocolError(WSCloseCode.MESSAGE_TOO_BIG, "too large")
        if frame.fin:
            whole, self._parts, self._size = b"".join(self._parts), [], 0
            self._hand_over(whole.decode)

    def _hand_over(self, text: Callable[[], str]) -> None:
        try:
            self._take(text())
        except UnicodeDecodeError as error:
            raise WSProtocolError(WSCloseCode.INVALID_TEXT, "not UTF-8") from error
        except SpeechUnavailable as error:
            self._why, self._take = str(error), _drop
            self._over.set()


def _drop(_frame: str) -> None:
    """Where nobody reads any more, nothing counts."""


async def dial(url: str, api_key: str, model: str) -> SpeechConnection:
    """Connects to this address and no other, without proxy; raises SpeechUnavailable."""
    headers = {"User-Agent": "Vocero", **({"Authorization": f"Bearer {api_key}"} if api_key else {})}
    connection = SpeechConnection()
    try:
        async with asyncio.timeout(OPEN_TIMEOUT):
            await ws_connect(
                lambda: connection,
                _with_model(url, model),
                websocket_handshake_timeout=OPEN_TIMEOUT,
                enable_auto_ping=True,
                auto_ping_idle_timeout=SILENCE,
                auto_ping_reply_timeout=SILENCE,
                max_frame_size=MAX_FRAME,
                extra_headers=headers,
                max_redirects=0,
                use_aiofastnet=False,
                read_buffer_init_size=READ_BUFFER,
            )
    except (OSError, TimeoutError, WSError) as error:
        raise SpeechUnavailable(type(error).__name__) from error
    return connection


def _with_model(url: str, model: str) -> str:
    if not model:
        return url
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit(parts._replace(query=urlencode({**query, "model": model})))
