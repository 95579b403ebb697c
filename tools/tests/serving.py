"""Servers for tests, on free loopback ports, in the test's own event loop."""

import asyncio
import contextlib
import socket

import uvicorn


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self):
        # The test run's own signal handlers stay.
        yield


@contextlib.asynccontextmanager
async def serving(app):
    """Serves the ASGI app and yields its origin, such as http://127.0.0.1:1234."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_config=None, ws="none", lifespan="on", timeout_graceful_shutdown=1)
        server = _Server(config)
        started = asyncio.Event()
        startup = server.startup

        async def announce(sockets=None):
            await startup(sockets)
            started.set()

        server.startup = announce
        task = asyncio.create_task(server.serve([listener]))
        try:
            async with asyncio.timeout(10):
                await started.wait()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await asyncio.wait({task}, timeout=5)
