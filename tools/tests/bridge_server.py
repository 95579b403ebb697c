"""A small ApiPilot bridge for the tests of its source: it answers as it is told."""

import asyncio
import contextlib

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from tools.testing import ECHO_PARAMETERS, NO_PARAMETERS
from tools.tests.serving import serving

BEARER = "Bearer secret-token-of-"


def listed(name, parameters=NO_PARAMETERS, **fields):
    return {"name": name, "description": f"Does {name}.", "parameters": parameters, **fields}


class BridgeServer:
    """`seen` holds every request as (method, target, headers, body); `answer` replaces what comes next."""

    def __init__(self):
        self.origin = ""
        self.seen = []
        self.answer = None
        self.tools = [
            listed("echo", ECHO_PARAMETERS),
            *(listed(name) for name in ("wait", "fail", "nothing", "halves")),
            listed("close_farm", requires_auth=True),
        ]
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()

    @property
    def tools_url(self):
        return f"{self.origin}/base/tools"

    @property
    def execute_url(self):
        return f"{self.origin}/base/tools/execute"

    def last(self):
        return self.seen[-1]

    async def respond(self, request: Request):
        body = await request.body()
        target = request.scope["raw_path"].decode()
        target += f"?{request.url.query}" if request.url.query else ""
        self.seen.append((request.method, target, request.headers, body.decode()))
        if self.answer is not None:
            answer, self.answer = self.answer, None
            return answer
        if request.method == "GET":
            return JSONResponse({"success": True, "data": {"tools": self.tools}, "error": None})
        asked = await request.json()
        return await self.run(asked["name"], asked["arguments"], request)

    async def run(self, name, arguments, request):
        user = request.headers.get("authorization", "").removeprefix(BEARER)
        if name == "wait":
            self.started.set()
            while (await request.receive())["type"] != "http.disconnect":
                pass
            self.stopped.set()
        if name == "fail":
            return refused(422, "There is no such report.")
        known = {tool["name"] for tool in self.tools}
        if name not in known:
            return refused(404, "There is no such tool.")
        data = {
            "nothing": {"items": []},
            "halves": {"done": True},
            "echo": {"arguments": arguments, "user": user},
        }
        return JSONResponse({"success": True, "data": data.get(name), "error": None})


def refused(status, message, http=None, **fields):
    error = {"message": message, "code": "refused", "status_code": status, "raw": None, **fields}
    return JSONResponse({"success": False, "data": None, "error": error}, http or status)


def plain(text, status=200, **options):
    return PlainTextResponse(text, status, **options)


@contextlib.asynccontextmanager
async def bridge_server():
    """The bridge, serving on loopback."""
    server = BridgeServer()
    app = Starlette(routes=[Route("/{path:path}", server.respond, methods=["GET", "POST"])])
    async with serving(app) as origin:
        server.origin = origin
        yield server
