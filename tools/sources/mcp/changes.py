"""News that a server's list of tools changed: pushed by older servers, subscribed to at newer ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import MessageHandlerFnT
from mcp.client.subscriptions import SubscriptionLost

# A stream of news that breaks is opened again after so many seconds, and given up after the last of them.
PAUSES = (1.0, 2.0, 5.0, 15.0, 60.0)


def noticing(on_changed: Callable[[], None]) -> MessageHandlerFnT:
    """A handler for what a server says by itself: of all that, only a changed list is of interest."""

    async def handle(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            on_changed()

    return handle


async def subscribe(client: Client, on_changed: Callable[[], None]) -> None:
    """Keeps a stream of news open, which the handler of `noticing` hears; ends where there is none to have.

    While a stream was broken, changes may have been missed: then `on_changed` is called.
    """
    tools = client.server_capabilities.tools
    if tools is None or not tools.list_changed:
        return
    for pause in PAUSES:
        try:
            async with client.listen(tools_list_changed=True) as news:
                async for _ in news:
                    pass
        except MCPError:
            return
        except SubscriptionLost:
            pass
        await asyncio.sleep(pause)
        on_changed()
