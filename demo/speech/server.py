"""The service on its port: who is let in over WebSocket, and what it says of itself over HTTP."""

import asyncio
import hmac
import http
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from demo.speech.engine import Engine
from demo.speech.outbox import Overrun
from demo.speech.session import Limits, Session

PATH = "/v1/realtime"
LARGEST_MESSAGE = 2 << 20
SERVICE = "Vocero demo speech"
_REALTIME = Subprotocol("realtime")
_KEY_PROTOCOL = "openai-insecure-api-key."

log = logging.getLogger("demo.speech")


@dataclass(frozen=True, slots=True)
class Door:
    """Where the service listens and whom it lets in; without an `api_key` everyone on this host."""

    host: str = "127.0.0.1"
    port: int = 0
    api_key: str = ""
    most_sessions: int = 16


@dataclass(slots=True)
class Service:
    """The running service; `open` gives the server, whose sockets say where it is."""

    engine: Engine
    door: Door = Door()
    limits: Limits = field(default_factory=Limits)
    _sessions: set[Session] = field(default_factory=set, init=False)

    async def open(self) -> Server:
        """Listen; close what is returned to stop."""
        return await serve(
            self._talk,
            self.door.host,
            self.door.port,
            # A browser always sends its origin, and no web page has business with a service on this host.
            origins=[None],
            process_request=self._asked,
            select_subprotocol=_subprotocol,
            compression=None,
            max_size=LARGEST_MESSAGE,
        )

    def about(self) -> dict[str, str]:
        """What the service says of itself."""
        parts = self.engine.parts
        found = {"service": SERVICE, "mode": parts.mode, "hearing": parts.hearing, "voice": parts.voice_name}
        return found | ({"why": parts.why} if parts.why else {})

    async def _talk(self, connection: ServerConnection) -> None:
        session = Session(self.engine, self.limits, connection.send)
        self._sessions.add(session)
        try:
            await session.run(connection)
        except* ConnectionClosed:
            pass
        except* Overrun:
            log.warning("a client did not read what it was sent; its session is closed")
        finally:
            self._sessions.discard(session)

    def _asked(self, connection: ServerConnection, request: Request) -> Response | None:
        """The HTTP answer to a request, or None to go on to a WebSocket."""
        path = urlsplit(request.path).path
        if path == "/":
            return _answer(http.HTTPStatus.OK, self.about())
        if path != PATH:
            return _answer(http.HTTPStatus.NOT_FOUND, {"error": "not found"})
        if self.door.api_key and not self._is_key(request.headers):
            return _answer(http.HTTPStatus.UNAUTHORIZED, {"error": "the API key is missing or wrong"})
        if len(self._sessions) >= self.door.most_sessions:
            return _answer(http.HTTPStatus.SERVICE_UNAVAILABLE, {"error": "all sessions are taken"})
        return None

    def _is_key(self, headers: Headers) -> bool:
        offered = [
            part.strip() for value in headers.get_all("Sec-WebSocket-Protocol") for part in value.split(",")
        ]
        keys = [part.removeprefix(_KEY_PROTOCOL) for part in offered if part.startswith(_KEY_PROTOCOL)]
        keys += [value.removeprefix("Bearer ") for value in headers.get_all("Authorization")]
        return any(hmac.compare_digest(key.encode(), self.door.api_key.encode()) for key in keys)


def port_of(server: Server) -> int:
    """The port that a server really listens on."""
    port: int = next(iter(server.sockets)).getsockname()[1]
    return port


async def until_stopped(server: Server, stop: asyncio.Event) -> None:
    """Serve until `stop` is set, then close every session."""
    await stop.wait()
    server.close()
    await server.wait_closed()


def _subprotocol(connection: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return _REALTIME if _REALTIME in offered else None


def _answer(status: http.HTTPStatus, body: dict[str, str]) -> Response:
    content = json.dumps(body).encode()
    headers = Headers(
        {"Content-Type": "application/json", "Content-Length": str(len(content)), "Connection": "close"}
    )
    return Response(status.value, status.phrase, headers, content)
