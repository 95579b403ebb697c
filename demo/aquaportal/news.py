"""The news that the list of tools has changed, for every client that is connected."""

import asyncio
import contextlib
from collections import OrderedDict
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from starlette.requests import Request

MOST_SESSIONS = 256
Context = ServerRequestContext[Any, Request]


class News:
    """Newer clients subscribe to it; older ones hear it on the stream of their session."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._sessions: OrderedDict[str, ServerSession] = OrderedDict()
        self._loop: asyncio.AbstractEventLoop | None = None

    def follow(self, context: Context) -> None:
        """Remember the session that this request belongs to, if it belongs to one."""
        self._loop = asyncio.get_running_loop()
        session_id = context.request.headers.get("mcp-session-id") if context.request else None
        if session_id is not None:
            self._sessions[session_id] = context.session
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """The stream of a newer client, until it goes away."""
        self._loop = asyncio.get_running_loop()
        return await self._listen(context, params)

    def announce(self) -> None:
        """Tell everybody; safe to use from another thread than the server's."""
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._tell(), self._loop)

    async def _tell(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for session in list(self._sessions.values()):
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await session.send_tool_list_changed()
