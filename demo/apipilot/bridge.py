"""The HTTP application of the bridge: who asks, what is listed for them, what a tool answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from demo.apipilot.tools import BY_NAME, TOOLS, answer
from demo.aquaportal.access import Refusal
from demo.aquaportal.accounts import TokenRefused
from demo.aquaportal.control import answer_control
from demo.aquaportal.data.farm import CALLERS
from demo.aquaportal.data.records import Caller
from demo.aquaportal.faults import Kind
from demo.aquaportal.login import answer_login
from demo.aquaportal.observed import MOVED_PATH, Observed, bearer
from demo.aquaportal.portal import Portal, entry_of
from demo.aquaportal.server import answer_moved
from demo.aquaportal.tool_faults import HOSTILE_TEXT

ABOUT = """<!doctype html><html lang="en"><title>ApiPilot demo stand-in</title>
<p>This is a demo stand-in for an ApiPilot bridge. It is not the real service: its fish farm and people
are made up. Log in with <code>POST /login</code>, list tools with <code>GET /tools</code>, run one with
<code>POST /tools/execute</code>. <code>/control</code> makes it fail on purpose.</p></html>
"""
SPOILING: frozenset[Kind] = frozenset({"tool_error", "hostile", "huge"})
Answer = Callable[["Bridge", Request], Awaitable[Response]]


class ExecuteBody(BaseModel):
    """What an execution sends."""

    model_config = ConfigDict(extra="forbid")

    name: str
    arguments: dict[str, Any] = {}


@dataclass(slots=True)
class Bridge:
    """One running bridge; `service_token` is the credential of a service, which is nobody in particular.

    `hidden` names tools that are not listed any more, or not yet.
    """

    portal: Portal = field(default_factory=Portal)
    service_token: str = ""
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks: a caller, a service, or nobody; `refused` says what is wrong with what they showed."""

    caller: Caller | None = None
    known: bool = False
    refused: str = ""


def visitor(bridge: Bridge, request: Request) -> Visitor:
    """Who shows this bearer or this demo session."""
    token = bearer(request) or request.headers.get("x-demo-session")
    if token is None:
        return Visitor()
    if bridge.service_token and token == bridge.service_token:
        return Visitor(caller=CALLERS[0], known=True)
    try:
        caller = bridge.portal.accounts.caller_of(token)
        if request.method == "POST":
            bridge.portal.accounts.count_tool_call(token, bridge.portal.faults.switches.expiring_calls)
            bridge.portal.accounts.caller_of(token)
    except TokenRefused as reason:
        return Visitor(refused=str(reason))
    bridge.portal.journal.note(entry_of(request.scope), caller=caller.phone)
    return Visitor(caller=caller, known=True)


def failed(status: int, code: str, message: str, raw: Any = None) -> Response:
    """An error in the bridge's envelope."""
    error = {"message": message, "code": code, "status_code": status, "raw": raw}
    return JSONResponse({"success": False, "data": None, "error": error}, status)


def succeeded(data: Any) -> Response:
    """A success in the bridge's envelope."""
    return JSONResponse({"success": True, "data": data, "error": None})


async def answer_list(bridge: Bridge, request: Request) -> Response:
    """The tools that the visitor may use, or all of them."""
    who = visitor(bridge, request)
    if who.refused:
        return failed(401, "invalid_token", who.refused)
    everything = request.query_params.get("include_unauthorized") == "true"
    shown = [tool for tool in listed(bridge) if everything or who.known or not tool["requires_auth"]]
    return succeeded({"tools": shown, "count": len(shown), "include_unauthorized": everything})


def listed(bridge: Bridge) -> list[Mapping[str, Any]]:
    """What the bridge has: its own tools, and the extra ones of a test."""
    extra = [tool for tool in bridge.portal.faults.switches.extra_tools if isinstance(tool, dict)]
    known = {tool["name"]: tool for tool in (*TOOLS, *extra)}
    return [tool for tool in known.values() if tool["name"] not in bridge.hidden]


async def answer_execute(bridge: Bridge, request: Request) -> Response:
    """Run one tool."""
    try:
        body = ExecuteBody.model_validate_json(await request.body())
    except ValidationError:
        return failed(400, "invalid_request", 'Send {"name": "…", "arguments": {…}}.')
    bridge.portal.journal.note(entry_of(request.scope), tool=body.name, arguments=body.arguments)
    who = visitor(bridge, request)
    if who.refused:
        return failed(401, "invalid_token", who.refused)
    if body.name not in {tool["name"] for tool in listed(bridge)}:
        return failed(404, "unknown_tool", "There is no tool of this name.")
    if BY_NAME.get(body.name, {}).get("requires_auth") and not who.known:
        return failed(401, "unauthorized", "Log in to use this tool.")
    return run(bridge, body, who.caller)


def run(bridge: Bridge, body: ExecuteBody, caller: Caller | None) -> Response:
    """What the tool answers, as a fault in force spoils it."""
    fault = bridge.portal.faults.take(SPOILING, "execute", body.name)
    if fault is not None and fault.kind == "tool_error":
        raw = {"upstream": "on purpose"}
        return failed(422, "tool_failed", fault.text or "The tool failed.", raw)
    if body.name not in BY_NAME:
        return succeeded({"speech": f"{body.name} ran."})
    try:
        found = answer(body.name, body.arguments, caller, bridge.portal.today())
    except Refusal as refusal:
        return failed(422, "refused", str(refusal))
    if fault is not None:
        text = fault.text or HOSTILE_TEXT if fault.kind == "hostile" else "x" * fault.characters
        found = found | {"speech": f"{found['speech']} {text}"}
    return succeeded(found)


async def answer_profile(bridge: Bridge, request: Request) -> Response:
    """What a deployment may tell the model of its caller before the call."""
    who = visitor(bridge, request)
    if who.caller is None:
        return failed(401, "unauthorized", "Log in first.")
    centers = ", ".join(who.caller.centers) or "no centers"
    return JSONResponse({"profile": f"{who.caller.name} looks after: {centers}."})


def build_app(bridge: Bridge) -> Starlette:
    """The application: a page about it, login, tools, profile, and the control endpoint of tests."""

    async def control(request: Request) -> Response:
        return await answer_control(bridge.portal, request)

    async def about(_request: Request) -> Response:
        return HTMLResponse(ABOUT)

    def observed(name: str, answer: Answer) -> Observed:
        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            response = await answer(bridge, Request(scope, receive))
            await response(scope, receive, send)

        return Observed(bridge.portal, name, answered)

    routes = [
        Route("/", about),
        Route("/login", Observed(bridge.portal, "login", partial(answer_login, bridge.portal))),
        Route("/tools", observed("list", answer_list), methods=["GET"]),
        Route("/tools/execute", observed("execute", answer_execute), methods=["POST"]),
        Route("/profile", observed("profile", answer_profile), methods=["GET"]),
        Route(MOVED_PATH, Observed(bridge.portal, "moved", answer_moved)),
        Route("/control", control, methods=["GET", "POST"]),
    ]
    return Starlette(routes=routes)
