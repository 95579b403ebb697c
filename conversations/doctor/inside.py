"""Vocero's own server inside this process, on a free loopback port, for as long as the doctor needs it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from django.conf import settings

from conversations.doctor.turn import Place
from conversations.realtime.lifespan import stop

LOOK_EVERY = 0.02


@asynccontextmanager
async def served() -> AsyncIterator[Place]:
    """The whole application, its WebSocket included; calls that are left end in order."""
    # The application begins to serve when it is imported.
    from vocero.asgi import application  # noqa: PLC0415

    config = uvicorn.Config(
        application,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        timeout_graceful_shutdown=3,
    )
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            # It tells nobody when it has started.
            while not server.started and not serving.done():  # noqa: ASYNC110
                await asyncio.sleep(LOOK_EVERY)
            yield Place(f"127.0.0.1:{port}", f"http://{_host(port)}")
        finally:
            await stop()
            server.should_exit = True
            await serving


def _host(port: int) -> str:
    """A name that this deployment answers to."""
    names = [name for name in settings.ALLOWED_HOSTS if name != "*"]
    if not names or "127.0.0.1" in names:
        return f"127.0.0.1:{port}"
    return f"doctor{names[0]}" if names[0].startswith(".") else names[0]
