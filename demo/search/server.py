"""The HTTP application of the provider: `POST /search` with a key, as Serper has it."""

import json
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from demo.aquaportal.control import answer_control
from demo.aquaportal.observed import MOVED_PATH, Observed
from demo.aquaportal.portal import Portal
from demo.aquaportal.server import answer_moved
from demo.search.engine import MOST, answer

ABOUT = """<!doctype html><html lang="en"><title>Web search demo stand-in</title>
<p>This is a demo stand-in for the provider of web search. It is not the real service: its pages are made up
and few. Ask with <code>POST /search {"q": "…"}</code> and any <code>X-API-KEY</code>.
<code>/control</code> makes it fail on purpose.</p></html>
"""


def build_app(portal: Portal, key: str = "") -> Starlette:
    """The application: a page about it, the search, and the control endpoint of tests.

    `key` is the only one that is accepted; any will do where it is empty.
    """

    async def search(scope: Scope, receive: Receive, send: Send) -> None:
        response = await answer_search(Request(scope, receive), key)
        await response(scope, receive, send)

    async def control(request: Request) -> Response:
        return await answer_control(portal, request)

    async def about(_request: Request) -> Response:
        return HTMLResponse(ABOUT)

    routes = [
        Route("/", about),
        Route("/search", Observed(portal, "search", search)),
        Route(MOVED_PATH, Observed(portal, "moved", answer_moved)),
        Route("/control", control, methods=["GET", "POST"]),
    ]
    return Starlette(routes=routes)


async def answer_search(request: Request, key: str) -> Response:
    """The results, or what Serper says of a key, a method or a body that it does not take."""
    shown = request.headers.get("x-api-key", "")
    if not shown or (key and shown != key):
        return _refusal(403, "Unauthorized.")
    if request.method != "POST":
        return _refusal(404, "Not Found")
    body = await _body(request)
    query = body.get("q")
    if not isinstance(query, str) or not query.strip():
        return _refusal(400, "Missing query parameter")
    count = body.get("num", MOST)
    return JSONResponse(answer(query.strip(), count if isinstance(count, int) and 0 < count <= 100 else MOST))


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"message": message, "statusCode": status}, status)
