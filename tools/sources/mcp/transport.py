"""HTTP as the MCP SDK needs it: no fault ends the session, no status is lost, no redirect is followed.

The bare SDK lets a lost connection cancel its owner, makes 401 look like 500, and reads bodies of any size.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable
from functools import cache, partial
from typing import Any

import httpx2
import structlog

from tools.results import clean
from tools.sources.mcp.patience import Wait, Waiting

log = structlog.get_logger(__name__)

Make = Callable[[], httpx2.AsyncBaseTransport]

# JSON-RPC codes of ours, outside every range that the protocol uses; only this module makes them.
HTTP_STATUS = -31080
UNREACHABLE = -31081
LOST = -31082
SLOW = -31083
TOO_LARGE = -31084

MAX_BODY = 2_000_000
MAX_ERROR_BODY = 64 * 1024
# Objects and arrays in one answer, or in all that one stream brings: the SDK makes something of each of them
# on the event loop, where other conversations wait.
MAX_PARTS = 50_000
# Longer than any call may take: the deadline of a call ends it, not the silence of its connection.
READ_SECONDS = 300.0
CONNECT_SECONDS = 3.0
# What nobody waits for must not hold up what comes after it.
NOTIFY_SECONDS = 5.0
# Below the keep-alive of common servers (5 s), or calls meet connections that the server is just closing.
KEEPALIVE_SECONDS = 4.0
SESSION_HEADER = "mcp-session-id"
# No call of ours may take so long; a server that asks for more patience is not waited for.
MAX_RETRY_AFTER = 3600
MAX_LOCATION = 200
# Errors that say what is wrong with the request itself; the SDK negotiates by some of them.
REQUEST_ERRORS = frozenset({400, 404, 500})


def http_client(
    bearer: Callable[[], str], connect: Callable[[Make], httpx2.AsyncBaseTransport]
) -> tuple[httpx2.AsyncClient, GuardTransport]:
    """A client that sends the present bearer with every request, and the transport that guards it.

    `connect` makes of a plain transport the one that judges the addresses it connects to.
    """
    guard = GuardTransport(connect(_plain_transport), bearer)
    timeout = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
    # max_redirects is what the SDK consults; follow_redirects it ignores.
    client = httpx2.AsyncClient(
        transport=guard, timeout=timeout, trust_env=False, follow_redirects=False, max_redirects=0
    )
    return client, guard


def _plain_transport() -> httpx2.AsyncBaseTransport:
    limits = httpx2.Limits(
        max_connections=16, max_keepalive_connections=2, keepalive_expiry=KEEPALIVE_SECONDS
    )
    return httpx2.AsyncHTTPTransport(verify=_ssl_context(), trust_env=False, limits=limits)


def _ignore() -> None:
    return None


class GuardTransport(httpx2.AsyncBaseTransport):
    """Turns everything that can go wrong into a JSON-RPC error of the request that met it.

    `streams` tells whether this server was seen to stream an answer, `session` whether it gave a session id.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, bearer: Callable[[], str]) -> None:
        self._inner = inner
        self._bearer = bearer
        self._waiting = Waiting()
        self.streams = False
        self.session = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends the request; answers with the server's response or with an error of ours in its place."""
        request.headers["authorization"] = f"Bearer {self._bearer()}"
        request.headers["accept-encoding"] = "identity"
        if request.method == "POST" and b'"method":"notifications/' in request.content:
            patience = request.extensions.get("timeout", {}) | {"read": NOTIFY_SECONDS}
            request.extensions = {**request.extensions, "timeout": patience}
        key, wait = self._waiting.begin(request)
        streamed = False
        try:
            async with wait.bounded():
                response = await self._answered(request)
            streamed = isinstance(response.stream, Stream)
            if isinstance(response.stream, Stream):
                response.stream.wait, response.stream.ended = wait, partial(self._waiting.end, key)
            return response
        except TimeoutError:
            return _error(599, SLOW, "given up")
        finally:
            if not streamed:
                self._waiting.end(key)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._inner.aclose()

    async def _answered(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            return _failed(error)
        try:
            return await self._guarded(request, response)
        except BaseException:
            await response.aclose()
            raise

    async def _guarded(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self.session = self.session or SESSION_HEADER in response.headers
        if 300 <= response.status_code < 400:
            return await _redirected(response, self._bearer())
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            return _error(502, TOO_LARGE, "compressed answer refused")
        if response.status_code >= 400:
            return await _refused(request, response, kind)
        if kind == "application/json":
            return await _whole(response)
        if kind == "text/event-stream" and request.method == "POST":
            # A stream of news says nothing about how calls are answered.
            self.streams = self.streams or b'"method":"subscriptions/listen"' not in request.content
        stream = Stream(response)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )


class Stream(httpx2.AsyncByteStream):
    """A streamed body whose faults the SDK survives: it expects stream errors, not transport errors."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._parts = 0
        self.wait = Wait()
        self.ended: Callable[[], None] = _ignore

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._response.stream)  # type: ignore[arg-type] # it is an async response
        try:
            while True:
                async with self.wait.bounded():
                    chunk = await anext(chunks)
                self._parts += _parts(chunk)
                if self._parts > MAX_PARTS:
                    raise httpx2.StreamError("too much")
                yield chunk
        except StopAsyncIteration:
            return
        except (httpx2.TransportError, TimeoutError) as error:
            raise httpx2.StreamError(type(error).__name__) from error

    async def aclose(self) -> None:
        self.ended()
        await self._response.aclose()


@cache
def _ssl_context() -> ssl.SSLContext:
    """One for all clients: each of its own would cost 20 ms and 830 KiB a conversation."""
    return httpx2.create_ssl_context(trust_env=False)


async def _whole(response: httpx2.Response) -> httpx2.Response:
    """The response with its body read, so that a cut or oversized one has a name of its own."""
    try:
        body = await _body(response, MAX_BODY)
    except httpx2.TransportError as error:
        return _failed(error)
    finally:
        await response.aclose()
    if body is None or _parts(body) > MAX_PARTS:
        return _error(502, TOO_LARGE, "answer too large")
    return httpx2.Response(response.status_code, headers=_plain(response.headers), content=body)


async def _redirected(response: httpx2.Response, secret: str) -> httpx2.Response:
    """A redirect as the refusal that it meets here; where it leads is for the operator, without its query."""
    await response.aclose()
    status, location = response.status_code, response.headers.get("location", "").partition("?")[0]
    log.warning("mcp.redirect_refused", status=status, location=clean(location, secret)[:MAX_LOCATION])
    return _error(502, HTTP_STATUS, "redirect refused", {"status": status})


async def _refused(request: httpx2.Request, response: httpx2.Response, kind: str) -> httpx2.Response:
    """A refusal with its status kept; the server's own JSON-RPC error stays where it explains the request."""
    status = response.status_code
    try:
        body = await _body(response, MAX_ERROR_BODY) if kind == "application/json" else None
    except httpx2.TransportError:
        body = None
    finally:
        await response.aclose()
    told = _rpc_error(body) if body is not None else None
    in_session = SESSION_HEADER in request.headers
    forgotten = in_session and (status == 404 or (status == 400 and _names_session(told)))
    if told is not None and body is not None and status in REQUEST_ERRORS and not forgotten:
        return httpx2.Response(status, headers=_plain(response.headers), content=body)
    data = {"status": status, "forgotten": forgotten, "retry_after": _retry_after(response.headers)}
    return _error(status, HTTP_STATUS, f"HTTP {status}", data)


async def _body(response: httpx2.Response, limit: int) -> bytes | None:
    """The whole body, or None when it is larger than the limit."""
    body = bytearray()
    async for chunk in response.stream:  # type: ignore[union-attr] # it is an async response
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)


def _retry_after(headers: httpx2.Headers) -> int | None:
    """The seconds that a server asks to wait; None where it gives a date, or more than makes sense."""
    told = headers.get("retry-after", "").strip()
    seconds = int(told) if told.isascii() and told.isdigit() and len(told) < 6 else MAX_RETRY_AFTER
    return seconds if seconds < MAX_RETRY_AFTER else None


def _parts(body: bytes | bytearray) -> int:
    return body.count(b"{") + body.count(b"[")


def _rpc_error(body: bytes) -> dict[str, Any] | None:
    try:
        error = json.loads(body)["error"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return error if isinstance(error, dict) else None


def _names_session(error: dict[str, Any] | None) -> bool:
    return error is not None and "session" in str(error.get("message", "")).lower()


def _plain(headers: httpx2.Headers) -> list[tuple[str, str]]:
    """The headers without those that describe how the body came."""
    described = ("content-length", "transfer-encoding", "content-encoding")
    return [(name, value) for name, value in headers.multi_items() if name.lower() not in described]


def _failed(error: httpx2.TransportError) -> httpx2.Response:
    """The error in place of an answer; only what was never sent is `UNREACHABLE`."""
    match error:
        case (
            httpx2.ConnectError()
            | httpx2.ConnectTimeout()
            | httpx2.PoolTimeout()
            | httpx2.UnsupportedProtocol()
        ):
            code = UNREACHABLE
        case httpx2.TimeoutException():
            code = SLOW
        case _:
            code = LOST
    return _error(599, code, type(error).__name__)


def _error(status: int, code: int, message: str, data: dict[str, Any] | None = None) -> httpx2.Response:
    error = {"code": code, "message": message, "data": data}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    return httpx2.Response(status, headers={"content-type": "application/json"}, content=body)
