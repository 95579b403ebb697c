"""One socket to the speech service: open, send, receive, close."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

OPEN_TIMEOUT = 8.0
# A service that is still sending may not read our goodbye; it is cut off soon.
CLOSE_TIMEOUT = 0.5
MAX_FRAME = 16 * 1024 * 1024


class SpeechUnavailable(Exception):
    """The speech service could not be reached, or refused the connection."""


class Connection(Protocol):
    """What a session asks of the service's socket."""

    async def send(self, frame: str) -> None:
        """Raises SpeechUnavailable when the socket is gone."""

    async def receive(self) -> str:
        """The next text frame; raises SpeechUnavailable when the socket is gone. Safe to cancel."""

    async def close(self) -> None: ...


class SpeechConnection:
    """A WebSocket at the service."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, frame: str) -> None:
        try:
            await self._socket.send(frame)
        except ConnectionClosed as error:
            raise SpeechUnavailable(_how(error)) from error

    async def receive(self) -> str:
        try:
            while not isinstance(frame := await self._socket.recv(), str):
                pass
        except ConnectionClosed as error:
            raise SpeechUnavailable(_how(error)) from error
        return frame

    async def close(self) -> None:
        await self._socket.close()


class _Straight(connect):
    """Follows no redirect: a call goes to the address that the operator set, and to no other."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def dial(url: str, api_key: str, model: str) -> SpeechConnection:
    """Connects, without proxy and without compression (6.8 times the CPU); raises SpeechUnavailable."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        socket = await _Straight(
            _with_model(url, model),
            additional_headers=headers,
            compression=None,
            open_timeout=OPEN_TIMEOUT,
            close_timeout=CLOSE_TIMEOUT,
            max_size=MAX_FRAME,
            proxy=None,
            user_agent_header="Vocero",
        )
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
        raise SpeechUnavailable(type(error).__name__) from error
    return SpeechConnection(socket)


def _how(closed: ConnectionClosed) -> str:
    """In short, without the service's own words."""
    return f"closed {closed.rcvd.code}" if closed.rcvd else "broken off"


def _with_model(url: str, model: str) -> str:
    if not model:
        return url
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit(parts._replace(query=urlencode({**query, "model": model})))
