"""A server on FastMCP, in an environment of its own: `python fastmcp_server.py PORT`."""

import argparse
import asyncio

import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Audio, Image
from pydantic import BaseModel, Field
from starlette.middleware import Middleware
from starlette.responses import Response

PIXEL = bytes.fromhex("89504e470d0a1a0a") + bytes(3000)


class Span(BaseModel):
    """A span of days."""

    first: int = Field(ge=0)
    last: int | None = None


class Request(BaseModel):
    """What is asked for."""

    metric: str = Field(pattern="^[a-z]+$")
    span: Span | None = None
    limit: int = 5


class Reading(BaseModel):
    """What was measured."""

    metric: str
    values: list[float]
    next_offset: int | None = None


server = FastMCP("peer", mask_error_details=False)


@server.tool
def measure(request: Request) -> Reading:
    """Reads a metric."""
    return Reading(metric=request.metric, values=[7.4] * request.limit, next_offset=request.limit)


@server.tool
def add(first: int, second: int = 0) -> int:
    """Adds."""
    return first + second


@server.tool
def spare() -> str:
    """Will be withdrawn."""
    return "still there"


@server.tool
def nothing() -> None:
    """Answers nothing."""


@server.tool
def picture() -> list:
    """A text, a picture, a sound."""
    return ["before", Image(data=PIXEL, format="png"), Audio(data=PIXEL, format="wav"), "after"]


@server.tool
def link() -> types.ResourceLink:
    """Where more is to be read."""
    return types.ResourceLink(type="resource_link", name="manual", uri="https://elsewhere.test/manual")


@server.tool
def fail() -> str:
    """Fails in words."""
    raise ToolError("There is no such report.")


@server.tool
def crash() -> str:
    """Fails by a bug."""
    raise KeyError("cage")


@server.tool
async def steps(count: int, seconds: float, ctx: Context) -> str:
    """Works in steps and tells of each; the log has how it ended."""
    try:
        for step in range(count):
            await ctx.report_progress(step + 1, count, f"step {step + 1}")
            await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=seconds / count)
    except asyncio.CancelledError:
        print("cancelled", flush=True)
        raise
    print("finished", flush=True)
    return "done"


@server.tool
async def ask_the_caller(ctx: Context) -> str:
    """Wants an answer from a person."""
    answer = await ctx.elicit("Which cage?", int)
    return f"{answer.action}"


@server.tool
async def ask_the_model(ctx: Context) -> str:
    """Wants the client's model to write."""
    message = types.SamplingMessage(
        role="user", content=types.TextContent(type="text", text="Say something.")
    )
    answer = await ctx.session.create_message([message], max_tokens=10)
    return str(answer.content)


@server.tool
async def withdraw(name: str, ctx: Context) -> str:
    """Takes a tool away for good and tells everybody."""
    server.local_provider.remove_tool(name)
    await ctx.send_notification(types.ToolListChangedNotification())
    return "gone"


class OlderOnly:
    """Refuses clients of the newer protocol, as a server of the handshake era does."""

    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"")
        await (Response(status_code=400) if version > b"2026" else self._app)(scope, receive, send)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--legacy", action="store_true")
    asked = parser.parse_args()
    server.run(
        transport="http",
        host="127.0.0.1",
        port=asked.port,
        show_banner=False,
        json_response=asked.json,
        stateless_http=asked.stateless,
        middleware=[Middleware(OlderOnly)] if asked.legacy else [],
    )


main()
