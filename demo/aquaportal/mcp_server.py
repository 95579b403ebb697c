"""The MCP server: lists the tools and runs them for the caller of the request."""

import asyncio
import json
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from starlette.requests import Request
from starlette.types import Scope

from demo.aquaportal.access import Refusal
from demo.aquaportal.answers.question import Answer
from demo.aquaportal.faults import Switches
from demo.aquaportal.portal import Portal, caller_of, entry_of
from demo.aquaportal.schemas import TOOLS, Schema
from demo.aquaportal.tool_faults import spoiled_answer, tool_error
from demo.aquaportal.tools import ANSWERS, answer

NAME = "AquaPortal demo stand-in"
Context = ServerRequestContext[Any, Request]


def build_server(portal: Portal) -> Server[Any]:
    """The server of this portal; its requests must carry an entry and a caller in their scope."""

    async def on_list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        portal.news.follow(context)
        return list_tools(portal.faults.switches, params.cursor if params else None)

    async def on_call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        entry = entry_of(scope_of(context))
        portal.journal.note(entry, started=True)
        portal.news.follow(context)
        try:
            result = await call_tool(portal, context, params)
        except asyncio.CancelledError:
            portal.journal.note(entry, cancelled=True)
            raise
        portal.journal.note(entry, finished=True)
        return result

    return Server(
        NAME,
        version="1.0",
        title=NAME,
        instructions="A stand-in for AquaPortal with made-up data of a fish farm.",
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_subscriptions_listen=portal.news.listen,
    )


def scope_of(context: Context) -> Scope:
    """The scope of the HTTP request that brought the message."""
    if context.request is None:
        raise TypeError("the portal is served over HTTP only")
    return context.request.scope


def declared_tools(switches: Switches) -> list[Schema]:
    """The eight tools and the extra ones without those withdrawn, in wire form."""
    extra = [tool if isinstance(tool, dict) else bare_tool(tool) for tool in switches.extra_tools]
    listed = {tool["name"]: tool for tool in (*TOOLS, *extra)}
    return [tool for name, tool in listed.items() if name not in switches.withdrawn_tools]


def bare_tool(name: str) -> Schema:
    """A declaration of which only the name matters."""
    description = f"{name.replace('_', ' ').capitalize()}."
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def list_tools(switches: Switches, cursor: str | None) -> types.ListToolsResult:
    """The whole list, or the page of it that the cursor asks for."""
    tools = [types.Tool.model_validate(tool) for tool in declared_tools(switches)]
    if switches.tools_page_size is None:
        return types.ListToolsResult(tools=tools)
    start = int(cursor) if cursor and cursor.isdecimal() else 0
    end = start + switches.tools_page_size
    following = str(end) if end < len(tools) else None
    return types.ListToolsResult(
        tools=tools[start:end], next_cursor=(cursor or "0") if switches.repeat_cursor else following
    )


async def call_tool(
    portal: Portal, context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Run one tool; what the caller may not see or asked wrongly is an error result in words."""
    name, faults = params.name, portal.faults
    slow = faults.take(frozenset({"slow"}), "tools/call", name)
    if slow is not None:
        for step in range(slow.steps):
            await context.session.report_progress(step, slow.steps, "Reading the sensors")
            await faults.pause(slow.seconds / slow.steps)
    failing = faults.take(frozenset({"tool_error"}), "tools/call", name)
    if failing is not None:
        return tool_error(failing.text or "The tool failed.")
    if name not in ANSWERS or name in faults.switches.withdrawn_tools:
        return extra_result(faults.switches, name)
    try:
        found = answer(name, params.arguments or {}, caller_of(scope_of(context)), portal.today())
    except Refusal as refusal:
        return tool_error(str(refusal))
    return spoiled_answer(faults, name, found) or plain_answer(found)


def plain_answer(found: Answer) -> types.CallToolResult:
    """The answer as structured content, and the same as text for older clients."""
    text = types.TextContent(type="text", text=json.dumps(found))
    return types.CallToolResult(content=[text], structured_content=found)


def extra_result(switches: Switches, name: str) -> types.CallToolResult:
    """What an extra tool answers; it has no effect, that it ran is in the journal."""
    if name not in [tool["name"] for tool in declared_tools(switches)]:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"{name} ran.")])
