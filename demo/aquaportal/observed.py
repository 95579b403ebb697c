"""Every request of a caller passes here: it is noted, may fail on purpose, and is then answered."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from demo.aquaportal.accounts import fingerprint
from demo.aquaportal.faults import Fault, Kind
from demo.aquaportal.journal import Entry
from demo.aquaportal.portal import ENTRY, Portal

HTTP_KINDS: frozenset[Kind] = frozenset(
    {"status", "forgotten", "redirect", "drop", "truncate", "malformed", "html", "body"}
)
MOVED_PATH = "/moved"
HALF_ANSWER = b'{"jsonrpc": "2.0", "id": 1, "resu'
PAGE = "<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>"


@dataclass(frozen=True, slots=True)
class Observed:
    """An ASGI endpoint whose requests are noted and fail as the faults in force on its name say."""

    portal: Portal
    name: str
    answer: Callable[[Scope, Receive, Send], Awaitable[None]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            return
        entry = self.portal.journal.add(entry_for(request, decoded(body) if self.name == "mcp" else {}))
        scope[ENTRY] = entry
        watched = watch_status(self.portal, entry, send)
        on = entry.rpc or self.name
        if on != "tools/call" and (slow := self.portal.faults.take(frozenset({"slow"}), on)) is not None:
            await self.portal.faults.pause(slow.seconds)
        fault = self.portal.faults.take(HTTP_KINDS, on, entry.tool)
        if fault is None:
            await self.answer(scope, replay(body, receive), watched)
            return
        self.portal.journal.note(entry, fault=fault.kind)
        await fail(self.portal, fault, Request(scope, receive), watched)


def entry_for(request: Request, message: dict[str, Any]) -> Entry:
    """The journal's entry for a request and its JSON-RPC message, which is empty where it has none."""
    params = message.get("params")
    is_call = message.get("method") == "tools/call" and isinstance(params, dict)
    call = params if is_call and params else {}
    token, session = bearer(request), request.headers.get("mcp-session-id")
    return Entry(
        method=request.method,
        path=request.url.path,
        headers=tuple(request.headers.keys()),
        rpc=message.get("method"),
        tool=call.get("name"),
        arguments=call.get("arguments"),
        token=fingerprint(token) if token else None,
        session=fingerprint(session) if session else None,
    )


def decoded(body: bytes) -> dict[str, Any]:
    """The JSON object of a body, or an empty one."""
    try:
        message = json.loads(body)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def bearer(request: Request) -> str | None:
    """The bearer token of a request."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" and token else None


def replay(body: bytes, receive: Receive) -> Receive:
    """A receive channel that gives the body that was read already, and then what comes after it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


def watch_status(portal: Portal, entry: Entry, send: Send) -> Send:
    """A send channel that notes the status and the content type of the answer."""

    async def watched(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            portal.journal.note(entry, status=message["status"], content_type=headers.get("content-type"))
        await send(message)

    return watched


async def fail(portal: Portal, fault: Fault, request: Request, send: Send) -> None:
    """Answer as the fault says."""
    if fault.kind in ("drop", "truncate"):
        await cut(portal, fault, request, send)
        return
    await failed_response(fault, request)(request.scope, request.receive, send)


def failed_response(fault: Fault, request: Request) -> Response:
    """The answer of a fault that answers at all."""
    if fault.kind == "redirect":
        host = "localhost" if fault.other_origin else request.url.hostname
        return RedirectResponse(str(request.url.replace(hostname=host, path=MOVED_PATH)))
    if fault.kind == "malformed":
        return Response(HALF_ANSWER, media_type="application/json")
    if fault.kind == "html":
        return Response(PAGE, media_type="text/html")
    if fault.kind == "body":
        return Response(fault.text, media_type=fault.content_type)
    if fault.kind == "forgotten":
        error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)
    body = {"error": "on_purpose", "message": fault.text or f"Status {fault.status} on purpose"}
    headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
    return JSONResponse(body, fault.status, headers=headers)


async def cut(portal: Portal, fault: Fault, request: Request, send: Send) -> None:
    """End the connection before the answer, or within it."""
    if request.client is None:
        return
    if fault.kind == "truncate":
        headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": HALF_ANSWER, "more_body": True})
    portal.cut(request.client, fault.kind == "drop")
    while (await request.receive())["type"] != "http.disconnect":
        pass
