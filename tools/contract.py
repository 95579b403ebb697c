"""The small interface between who calls tools and where tools live."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

FAILURE_CODES = frozenset(
    {
        "unknown_tool",
        "invalid_arguments",
        "malformed_selection",
        "duplicate_call",
        "call_limit",
        "result_budget",
        "confirmation_declined",
        "confirmation_timeout",
        "timeout",
        "tool_error",
        "unauthorized",
        "forbidden",
        "unavailable",
        "connection_lost",
        "cancelled",
        "stale",
        "outcome_unknown",
        "internal",
    }
)


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a tool runs: backend user id, credential, and the credential's SHA-256.

    The token is left out of `repr`, so that no log line or traceback can carry it.
    """

    user_id: str
    token: str = field(repr=False)
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as its source declares it; the schemas are whole JSON Schemas, never edited.

    With `requires_auth` it runs only for somebody who shows a credential.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    source: str
    output_schema: Mapping[str, Any] | None = None
    requires_auth: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a source answered: `data` is JSON or text for the model, `titles` name what it came from.

    With `is_error` the tool itself reports a failure, in words that the model may use.
    """

    data: Any
    is_error: bool = False
    titles: Sequence[str] = ()


class ToolFailure(Exception):
    """A call that produced no result: a stable code and a sentence for the model, without secrets."""

    def __init__(self, code: str, message: str) -> None:
        if code not in FAILURE_CODES:
            raise ValueError(f"unknown failure code {code!r}")
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running call is: `total` and `message` where the source tells them."""

    progress: float
    total: float | None = None
    message: str | None = None


def _ignore() -> None:
    return None


@dataclass(frozen=True, slots=True)
class CallContext:
    """What surrounds one call: its caller, its time limit in seconds, and where progress goes.

    `on_untold` is called just before a cancellation or timeout passes through, when the work could not be
    told to stop: its outcome is unknown.
    """

    caller: Caller
    timeout: float
    on_progress: Callable[[Progress], None]
    on_untold: Callable[[], None] = _ignore


class ToolSource(Protocol):
    """A place where tools live, held open for one conversation.

    `tools` and `call` raise ToolFailure; a cancelled `call` tells its server. `aclose` is idempotent.
    """

    name: str

    async def tools(self, caller: Caller) -> Sequence[Tool]: ...

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult: ...

    async def aclose(self) -> None: ...
