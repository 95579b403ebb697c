"""MCP over Streamable HTTP: the bearer token is checked, then the SDK's transport answers."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import product

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from demo.aquaportal.accounts import TokenRefused
from demo.aquaportal.mcp_server import build_server
from demo.aquaportal.observed import bearer
from demo.aquaportal.portal import CALLER, Portal, entry_of

LOCAL_ONLY = TransportSecuritySettings(
    enable_dns_rebinding_protection=True,
    allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*"],
    allowed_origins=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
)


class McpEndpoint:
    """The endpoint in all four forms of the transport, of which the switches choose one for each request."""

    def __init__(self, portal: Portal) -> None:
        self._portal = portal
        server = build_server(portal)
        self._transports = {
            (json_answers, stateless): StreamableHTTPSessionManager(
                server, json_response=json_answers, stateless=stateless, security_settings=LOCAL_ONLY
            )
            for json_answers, stateless in product((False, True), repeat=2)
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the transports serve."""
        async with AsyncExitStack() as stack:
            for transport in self._transports.values():
                await stack.enter_async_context(transport.run())
            yield

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: 401 without a good token, 400 to a version that is switched off, else MCP."""
        request, switches = Request(scope, receive), self._portal.faults.switches
        refusal = self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        transport = self._transports[switches.json_answers, switches.stateless]
        await transport.handle_request(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        portal, token = self._portal, bearer(request)
        if token is None:
            return unauthorized("invalid_request", "No bearer token")
        try:
            caller = portal.accounts.caller_of(token)
            if entry_of(request.scope).tool is not None:
                portal.accounts.count_tool_call(token, portal.faults.switches.expiring_calls)
                portal.accounts.caller_of(token)
        except TokenRefused as reason:
            return unauthorized("invalid_token", str(reason))
        portal.journal.note(entry_of(request.scope), caller=caller.phone)
        request.scope[CALLER] = caller
        # The SDK binds a session to the principal that opened it.
        access = AccessToken(token=token, client_id=caller.user_id, scopes=[])
        request.scope["user"] = AuthenticatedUser(access)
        if request.method == "GET" and portal.faults.switches.refuses_get:
            return Response(status_code=405, headers={"Allow": "POST"})
        return unsupported_version(request) if portal.faults.switches.legacy_only else None


def unauthorized(error: str, description: str) -> Response:
    """401 as RFC 6750 has it."""
    challenge = f'Bearer realm="aquaportal-demo", error="{error}", error_description="{description}"'
    body = {"error": error, "error_description": description}
    return JSONResponse(body, 401, headers={"WWW-Authenticate": challenge})


def unsupported_version(request: Request) -> Response | None:
    """What a server of the handshake era answers to a newer protocol version."""
    version = request.headers.get("mcp-protocol-version")
    if version is None or version in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    error = {"code": -32600, "message": "Bad Request: Unsupported protocol version"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)
