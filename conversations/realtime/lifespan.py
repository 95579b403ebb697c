"""The server begins and ends: what ASGI's lifespan tells of it. Daphne tells nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from conversations.brains import host
from conversations.realtime import calls

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def lifespan(_scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
    """Once the server stops, the calls that it still holds end, and their rows are closed."""
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await stop()
    await send({"type": "lifespan.shutdown.complete"})


async def stop() -> None:
    """Every call and every turn that runs here ends in order."""
    await asyncio.gather(calls.stop(), host.stop())
