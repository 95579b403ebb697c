"""A small real MCP server on the official SDK, with bearers, for the tests of the MCP source."""

import asyncio
import contextlib

import mcp_types as types
from mcp.server.lowlevel import Server
from starlette.requests import Request
from starlette.responses import Response

from tools.testing import ECHO_PARAMETERS, NO_PARAMETERS
from tools.tests.serving import serving

BEARER = "Bearer secret-token-of-"
PIXEL = "iVBORw0KGgo" + "A" * 4096
COUNT_SCHEMA = {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}}


class McpServer:
    """Its tools are those of the contract and a few more.

    `requests` records (HTTP method, user, JSON-RPC body) of every request; `revoked` users are refused.
    """

    def __init__(self, *, json_response=False, stateless=False, era=None, page_size=100):
        self.url = ""
        self.requests = []
        self.revoked = set()
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()
        self.finished = asyncio.Event()
        self.release = asyncio.Event()
        self.page_size = page_size
        self.cursors = None
        self._era = era
        self.sdk = Server("tests", on_list_tools=self._list, on_call_tool=self._call)
        self._app = self.sdk.streamable_http_app(json_response=json_response, stateless_http=stateless)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        user = request.headers.get("authorization", "").removeprefix(BEARER)
        body = await request.body()
        self.requests.append((request.method, user, body.decode()))
        if not request.headers.get("authorization", "").startswith(BEARER) or user in self.revoked:
            await Response(status_code=401)(scope, receive, send)
            return
        if self._era == "legacy" and request.headers.get("mcp-protocol-version", "") > "2026":
            await Response(status_code=400)(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    def forget_sessions(self):
        """Loses every session, as a restart does."""
        self.sdk.session_manager._server_instances.clear()

    def called(self):
        """The users of the tool calls that came, in order."""
        return [user for _, user, body in self.requests if '"tools/call"' in body]

    async def _list(self, ctx, params):
        offset = int(params.cursor) if params and params.cursor else 0
        tools = TOOLS[offset : offset + self.page_size]
        following = str(offset + self.page_size) if offset + self.page_size < len(TOOLS) else None
        if self.cursors is not None:
            following = next(self.cursors)
        return types.ListToolsResult(tools=tools, next_cursor=following)

    async def _call(self, ctx, params):
        handler = getattr(self, f"_{params.name}", None)
        if handler is None:
            return types.CallToolResult(content=[_text("no such tool")], is_error=True)
        return await handler(ctx, params.arguments or {})

    async def _echo(self, ctx, arguments):
        user = ctx.request.headers["authorization"].removeprefix(BEARER)
        return _data({"arguments": arguments, "user": user})

    async def _wait(self, ctx, arguments):
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        self.finished.set()
        return _data({"done": True})

    async def _fail(self, ctx, arguments):
        return types.CallToolResult(content=[_text("There is no such report.")], is_error=True)

    async def _nothing(self, ctx, arguments):
        return types.CallToolResult(content=[], structured_content={"items": []})

    async def _halves(self, ctx, arguments):
        await ctx.session.report_progress(1, 2, "half")
        return _data({"done": True})

    async def _mixed(self, ctx, arguments):
        image = types.ImageContent(type="image", data=PIXEL, mime_type="image/png")
        link = types.ResourceLink(type="resource_link", name="manual", uri="https://elsewhere.test/manual")
        note = types.TextResourceContents(uri="note://1", text="a note")
        embedded = types.EmbeddedResource(type="resource", resource=note)
        return types.CallToolResult(content=[_text("one"), image, link, embedded, _text("two")])

    async def _count(self, ctx, arguments):
        return types.CallToolResult(content=[_text("many")], structured_content=arguments or None)


def _text(words):
    return types.TextContent(type="text", text=words)


def _data(value):
    return types.CallToolResult(content=[], structured_content=value)


def _tool(name, parameters=NO_PARAMETERS, **fields):
    return types.Tool(name=name, description=f"Does {name}.", input_schema=dict(parameters), **fields)


TOOLS = [
    _tool("echo", ECHO_PARAMETERS),
    *(_tool(name) for name in ("wait", "fail", "nothing", "halves", "mixed")),
    _tool("count", output_schema=COUNT_SCHEMA),
]


def _replayed(body, receive):
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay():
        return waiting.pop() if waiting else await receive()

    return replay


@contextlib.asynccontextmanager
async def mcp_server(**options):
    """A running McpServer, its `url` set."""
    server = McpServer(**options)
    async with serving(server) as origin:
        server.url = f"{origin}/mcp"
        yield server
