"""Why an MCP operation failed, in Vocero's codes."""

from __future__ import annotations

import re
from typing import Any

import anyio
import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from tools import sentences
from tools.contract import ToolFailure
from tools.sources.mcp import transport

# What the SDK raises; TypeError, KeyError and the like would be bugs, and are not caught.
CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)
SDK_ERRORS = (
    MCPError,
    ValidationError,
    httpx2.HTTPError,
    httpx2.StreamError,
    RuntimeError,
    ValueError,
    *CLOSED,
)

MAX_MESSAGE = 200
TOO_MANY_REQUESTS = 429
LEAST_WAIT = 0.1
UNREADABLE = "The server answered in a form that cannot be read."
# Codes under which the SDK puts its own words about a body, which may quote it.
UNREADABLE_CODES = frozenset({PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR})
CODES = {
    transport.UNREACHABLE: "unavailable",
    transport.LOST: "connection_lost",
    transport.SLOW: "timeout",
    CONNECTION_CLOSED: "connection_lost",
    REQUEST_TIMEOUT: "timeout",
}
# Servers use these two for errors of their own as well; the SDK's are known by their words.
SHARED_CODES = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})
SDK_WORDS = re.compile(r"Connection closed\Z|SSE stream |Request .* timed out\Z")
STATUSES = {401: "unauthorized", 403: "forbidden", 404: "unavailable", 408: "timeout", 429: "unavailable"}


def explain(error: BaseException) -> ToolFailure:
    """The failure that an error of the SDK stands for; its text holds neither bodies nor headers."""
    error = root(error)
    if isinstance(error, CLOSED):
        return ToolFailure("connection_lost", sentences.for_model("connection_lost"))
    if not isinstance(error, MCPError):
        return ToolFailure("tool_error", UNREADABLE)
    if error.code in CODES and (error.code not in SHARED_CODES or SDK_WORDS.match(error.message)):
        code = CODES[error.code]
        return ToolFailure(code, sentences.for_model(code))
    if error.code == transport.HTTP_STATUS:
        return _by_status(_datum(error, "status"))
    if error.code == transport.TOO_LARGE:
        return ToolFailure("tool_error", "The server's answer is too large.")
    words = "" if error.code in UNREADABLE_CODES else error.message.strip()[:MAX_MESSAGE]
    return ToolFailure("tool_error", words or UNREADABLE)


def forgotten(error: BaseException) -> bool:
    """Whether the server refused the request because it no longer knows the session: nothing ran."""
    error = root(error)
    return isinstance(error, MCPError) and _datum(error, "forgotten") is True


def busy_for(error: BaseException) -> float | None:
    """The seconds after which a server that is too busy wants to be asked again; None for any other error.

    Such a server has not begun to work on what it was asked.
    """
    error = root(error)
    if not isinstance(error, MCPError) or _datum(error, "status") != TOO_MANY_REQUESTS:
        return None
    seconds = _datum(error, "retry_after")
    return max(float(seconds), LEAST_WAIT) if isinstance(seconds, int) else None


def died(error: BaseException) -> bool:
    """Whether the client that met this error can serve no further request."""
    error = root(error)
    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED and error.message == "Connection closed"
    return isinstance(error, CLOSED)


def root(error: BaseException) -> BaseException:
    """The one error inside the groups that the SDK's task groups wrap around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _by_status(status: Any) -> ToolFailure:
    if not isinstance(status, int):
        return ToolFailure("tool_error", UNREADABLE)
    if status in STATUSES:
        code = STATUSES[status]
        return ToolFailure(code, sentences.for_model(code))
    if 300 <= status < 400:
        words = f"The server redirects elsewhere (HTTP {status}), which is refused."
        return ToolFailure("unavailable", words)
    if status >= 500:
        return ToolFailure("unavailable", sentences.for_model("unavailable"))
    return ToolFailure("tool_error", f"The server refused the request (HTTP {status}).")


def _datum(error: MCPError, key: str) -> Any:
    data = error.data
    return data.get(key) if error.code == transport.HTTP_STATUS and isinstance(data, dict) else None
