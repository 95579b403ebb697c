"""The HTTP application of the portal, and the server that runs it on loopback."""

import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from demo.aquaportal.control import answer_control
from demo.aquaportal.login import answer_login
from demo.aquaportal.mcp_endpoint import McpEndpoint
from demo.aquaportal.observed import MOVED_PATH, Observed
from demo.aquaportal.portal import Portal

ABOUT = """<!doctype html><html lang="en"><title>AquaPortal demo stand-in</title>
<p>This is a demo stand-in for AquaPortal. It is not the real service: its fish farm, people and
podcasts are made up. Log in with <code>POST /login</code>, speak MCP on <code>/mcp</code> with the
token as bearer. To try a slow tool, send <code>{"add": [{"kind": "slow", "seconds": 20}]}</code> as
JSON to <code>/control</code>, and <code>{"clear": true}</code> to end that.</p></html>
"""


RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def build_app(portal: Portal) -> Starlette:
    """The application: a page about it, login, MCP, and the control endpoint of tests."""
    endpoint = McpEndpoint(portal)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with endpoint.running():
            yield

    async def control(request: Request) -> Response:
        return await answer_control(portal, request)

    async def about(_request: Request) -> Response:
        return HTMLResponse(ABOUT)

    routes = [
        Route("/", about),
        Route("/login", Observed(portal, "login", partial(answer_login, portal))),
        Route("/mcp", Observed(portal, "mcp", endpoint.answer)),
        Route(MOVED_PATH, Observed(portal, "moved", answer_moved)),
        Route("/control", control, methods=["GET", "POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


async def answer_moved(scope: Scope, receive: Receive, send: Send) -> None:
    """Where a redirect leads; that somebody followed it is in the journal."""
    await JSONResponse({"moved": True})(scope, receive, send)


class Server(uvicorn.Server):
    """A uvicorn server that tells when it accepts connections, and can end one of them."""

    def __init__(self, config: uvicorn.Config, portal: Portal, on_ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        portal.cut = self.cut

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell the address."""
        await super().startup(sockets=sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        self._on_ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    def cut(self, client: tuple[str, int], reset: bool) -> None:
        """End the connection of this client: reset it, or close it after what is written already."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, H11Protocol) and connection.client == tuple(client):
                if reset:
                    peer: socket.socket = connection.transport.get_extra_info("socket")
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                connection.transport.close()


def build(portal: Portal, host: str, port: int, on_ready: Callable[[str], None]) -> Server:
    """A server for the portal, which calls `on_ready` with its base URL; port 0 is any free one."""
    return server_of(build_app(portal), portal, (host, port), on_ready)


def server_of(
    app: Starlette, portal: Portal, place: tuple[str, int], on_ready: Callable[[str], None]
) -> Server:
    """A server for an application whose connections the portal can end."""
    host, port = place
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="asyncio",
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
    )
    return Server(config, portal, on_ready)
