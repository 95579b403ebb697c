"""The tools of one MCP server for one conversation: one client, opened when needed, reopened when lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import structlog
from mcp import Client

from tools import sentences
from tools.contract import CallContext, Caller, Tool, ToolFailure, ToolResult
from tools.sources.mcp import content
from tools.sources.mcp.failures import SDK_ERRORS, busy_for, died, explain, forgotten
from tools.sources.mcp.session import Server, Session

log = structlog.get_logger(__name__)

MAX_PAGES = 50
# How often a server may say that it is too busy before it is believed.
MAX_BUSY = 3
ENDLESS = "The server's list of tools does not end."

Answer = TypeVar("Answer")
Ask = Callable[[Session, Client], Awaitable[Answer]]


class McpSource:
    """A ToolSource over Streamable HTTP. It serves one caller, whose token may be renewed."""

    name = "aquaportal"

    def __init__(self, server: Server) -> None:
        self._server = server
        self._caller: Caller | None = None
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def open(self, caller: Caller) -> None:
        """Connects ahead of the first use; ToolFailure when the server cannot be used."""
        self._serve(caller)
        await self._ready()

    async def tools(self, caller: Caller) -> Sequence[Tool]:
        """All pages of the server's list for this caller, as the server declares them; or ToolFailure."""
        self._serve(caller)
        try:
            async with asyncio.timeout(self._server.patience.discovery):
                return await self._asked(self._list, self._server.patience.discovery)
        except TimeoutError as error:
            raise ToolFailure("timeout", sentences.for_model("timeout")) from error

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Calls the tool within `context.timeout`; ToolFailure when there is no result.

        A cancellation passes through once the server is told; `context.on_untold` hears where it cannot be.
        """
        self._serve(context.caller)

        async def report(progress: float, total: float | None, message: str | None) -> None:
            known = content.progress(progress, total, message, context.caller.token)
            if known is not None:
                context.on_progress(known)

        async def ask(session: Session, client: Client) -> ToolResult:
            try:
                answer = await client.call_tool(
                    name, dict(arguments), read_timeout_seconds=context.timeout, progress_callback=report
                )
            except asyncio.CancelledError:
                if not session.stops_work:
                    context.on_untold()
                raise
            return content.result(answer)

        return await self._asked(ask, context.timeout)

    async def aclose(self) -> None:
        """Closes the connection for good; a later use is a ToolFailure."""
        self._closed = True
        if self._session is not None:
            await self._session.aclose()

    def _serve(self, caller: Caller) -> None:
        """Takes the caller's present token; another caller never comes to this connection."""
        if self._caller is not None and self._caller.user_id != caller.user_id:
            raise ToolFailure("internal", sentences.for_model("internal"))
        self._caller = caller

    def _bearer(self) -> str:
        return self._caller.token if self._caller else ""

    async def _asked(self, ask: Ask[Answer], seconds: float) -> Answer:
        """The answer; a server that is too busy is asked again when it says, where that is soon enough."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        for left in reversed(range(MAX_BUSY)):
            try:
                return await self._remembered(ask)
            except SDK_ERRORS as error:
                wait = busy_for(error)
                if wait is None or not left or loop.time() + wait >= deadline:
                    raise explain(error) from error
            await asyncio.sleep(wait)
        raise ToolFailure("unavailable", sentences.for_model("unavailable"))

    async def _remembered(self, ask: Ask[Answer]) -> Answer:
        """The answer over the held session, or over a new one when the server has forgotten the held one."""
        session = await self._ready()
        try:
            return await self._over(session, ask)
        except SDK_ERRORS as error:
            if not forgotten(error):
                raise
            log.info("mcp.session_forgotten")
        await session.aclose()
        return await self._over(await self._ready(), ask)

    async def _over(self, session: Session, ask: Ask[Answer]) -> Answer:
        with session.in_use() as client:
            try:
                return await ask(session, client)
            except SDK_ERRORS as error:
                if died(error):
                    await session.aclose()
                raise

    async def _ready(self) -> Session:
        """The open session; calls that come while it is opened wait for the same one."""
        async with self._opening:
            if self._closed:
                raise ToolFailure("unavailable", "The conversation is over.")
            held = self._session
            if held is not None and held.usable:
                return held
            if held is not None:
                await held.aclose()
            session = self._session = Session(self._server, self._bearer)
            try:
                await session.open()
            except TimeoutError as error:
                raise ToolFailure("unavailable", sentences.for_model("unavailable")) from error
            if held is not None:
                # While no session was open, nobody could tell of a change.
                self._server.on_changed()
            return session

    async def _list(self, _session: Session, client: Client) -> list[Tool]:
        found: list[Tool] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            listed = [content.tool(one, self.name) for one in page.tools]
            found += [tool for tool in listed if not content.repeats(tool, self._bearer())]
            cursor = page.next_cursor
            if cursor is None:
                return found
            if cursor in seen:
                break
            seen.add(cursor)
        raise ToolFailure("tool_error", ENDLESS)
