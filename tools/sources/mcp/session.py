"""One open MCP client, entered and left by a task of its own, used by any other."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx2
import structlog
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tools import sentences
from tools.addresses import Pinned
from tools.contract import ToolFailure
from tools.sources.mcp import changes
from tools.sources.mcp.failures import SDK_ERRORS, explain
from tools.sources.mcp.listing import tolerant
from tools.sources.mcp.transport import MAX_BODY, GuardTransport, Make, http_client

CLOSE_SECONDS = 2.0
WHO = Implementation(name="vocero", version="1")


def _ignore() -> None:
    return None


def _pinned() -> Callable[[Make], httpx2.AsyncBaseTransport]:
    """Connections that all know which names were public."""
    return partial(Pinned, were_public=set[str]())


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: `connect` bounds an opening, `discovery` a whole listing, opening included.

    After `idle` seconds without use the connection is closed until it is needed again.
    """

    connect: float = 5.0
    discovery: float = 10.0
    idle: float = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """One MCP server at its address from the settings.

    `on_changed` is told when its tools may be others than those listed last; `connect` makes a transport that
    judges where the address leads.
    """

    url: str
    patience: Patience = Patience()
    on_changed: Callable[[], None] = _ignore
    connect: Callable[[Make], httpx2.AsyncBaseTransport] = field(default_factory=_pinned)


class Session:
    """A connection of one conversation: opened once, closed by itself after a while without use.

    The SDK's scopes must be left by the task that entered them, hence the owner task: `aclose` may be called
    from anywhere, and more than once.
    """

    def __init__(self, server: Server, bearer: Callable[[], str]) -> None:
        self._server = server
        self._bearer = bearer
        self._stop = asyncio.Event()
        self._users = 0
        self._closer: asyncio.TimerHandle | None = None
        self._owner: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._guard: GuardTransport | None = None
        self._modern = False
        self._insists_on_streams = False

    @property
    def usable(self) -> bool:
        """Whether it is open and not about to close."""
        return self._client is not None and not self._stop.is_set()

    @property
    def stops_work(self) -> bool:
        """Whether abandoning a request reaches the tool that works on it."""
        if self._guard is None:
            return False
        if self._modern:
            # Closing the request is the cancellation, and only servers that stream notice that it was closed.
            return self._insists_on_streams or self._guard.streams
        # A notification finds its call by the session; without one it lands in another.
        return self._guard.session

    async def open(self) -> None:
        """Connects and negotiates; ToolFailure when that fails, TimeoutError when it takes too long."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(ready), name="mcp-session", context=_beyond_the_call())
        try:
            async with asyncio.timeout(self._server.patience.connect):
                await asyncio.shield(ready)
        except BaseException:
            await self.aclose()
            raise
        # Not before whoever waited for it can use it.
        self._postpone_close()

    @contextlib.contextmanager
    def in_use(self) -> Iterator[Client]:
        """The client, which is not closed as unused meanwhile; ToolFailure when it is closed already."""
        if self._client is None:
            raise ToolFailure("connection_lost", sentences.for_model("connection_lost"))
        self._users += 1
        self._postpone_close()
        try:
            yield self._client
        finally:
            self._users -= 1
            self._postpone_close()

    async def aclose(self) -> None:
        """Ends the session: in order when it is open, at once while it is still connecting."""
        self._stop.set()
        if self._closer is not None:
            self._closer.cancel()
        if self._owner is None:
            return
        if self._client is None:
            self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=CLOSE_SECONDS)
        if not self._owner.done():
            self._owner.cancel()
            await asyncio.wait({self._owner}, timeout=CLOSE_SECONDS)

    def _postpone_close(self) -> None:
        if self._closer is not None:
            self._closer.cancel()
        loop = asyncio.get_running_loop()
        idle = self._server.patience.idle
        self._closer = None if self._users else loop.call_later(idle, self._stop.set)

    async def _own(self, ready: asyncio.Future[None]) -> None:
        try:
            await self._serve(ready)
        except (*SDK_ERRORS, ExceptionGroup) as error:
            # After the opening nobody waits for this: what is lost shows in the next request.
            _fail(ready, explain(error))
        finally:
            self._client = None
            self._stop.set()
            _fail(ready, ToolFailure("unavailable", "The connection was closed."))

    async def _serve(self, ready: asyncio.Future[None]) -> None:
        url = self._server.url
        http, self._guard = http_client(self._bearer, self._server.connect)
        streams = tolerant(streamable_http_client(url, http_client=http, max_sse_event_size=MAX_BODY))
        heard = changes.noticing(self._server.on_changed)
        # The SDK's cache would be a second one beside the catalog's, out of anybody's sight.
        async with http, Client(streams, cache=None, client_info=WHO, message_handler=heard) as client:
            # Its check runs backtracking patterns on the event loop, and loses a result that does not fit.
            client.session.validate_tool_result = _no_check  # type: ignore[method-assign]
            self._modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
            if self._modern:
                self._insists_on_streams = await _insists_on_streams(http, url, client.protocol_version)
            async with self._hearing_news(client):
                self._client = client
                ready.set_result(None)
                await self._stop.wait()

    @contextlib.asynccontextmanager
    async def _hearing_news(self, client: Client) -> AsyncIterator[None]:
        """While this lasts, a newer server tells of changes; an older one does so anyway."""
        if not self._modern:
            yield
            return
        hearing = asyncio.create_task(changes.subscribe(client, self._server.on_changed), name="mcp-news")
        try:
            yield
        finally:
            hearing.cancel()
            await asyncio.wait({hearing})


async def _insists_on_streams(http: httpx2.AsyncClient, url: str, version: str) -> bool:
    """Whether the server refuses a client that takes no streams: then it watches for closed requests."""
    headers = {"accept": "application/json", "mcp-protocol-version": version}
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = await http.post(url, json=notification, headers=headers)
    return response.status_code == httpx2.codes.NOT_ACCEPTABLE


def _beyond_the_call() -> contextvars.Context:
    """The conversation's context without the call that happened to open the connection, which others use."""
    context = contextvars.copy_context()
    context.run(structlog.contextvars.unbind_contextvars, "turn", "call_id", "request_id")
    return context


def _fail(ready: asyncio.Future[None], failure: ToolFailure) -> None:
    """Tells whoever waits for the opening, if anybody still does."""
    if not ready.done():
        ready.set_exception(failure)
        ready.exception()


async def _no_check(name: str, result: Any) -> None:
    return None
