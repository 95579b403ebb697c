"""What one live call is about and what it asks of the world, as plain data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conversations.core.events import ConfirmAnswered, ToolsOffered
from conversations.core.policy import Limits, Setup
from conversations.core.records import Record
from conversations.core.transcript import Said
from conversations.realtime.allowed import ClientMessage
from conversations.realtime.connection import Connection
from conversations.realtime.endings import Ending
from conversations.realtime.outbox import never
from conversations.realtime.words import FOR_CALLER, FOR_MODEL
from tools import executor
from tools.catalog import Offer
from tools.contract import Caller


@dataclass(frozen=True, slots=True)
class Call:
    """What one live call is about, as plain data. With `extras` the client knows Vocero's own events."""

    conversation_id: str
    caller: Caller | None
    caller_name: str
    plain: bool
    expires_at: str
    selection: str
    tool_timeout: float
    speech_session_max: float = 0.0
    extras: bool = True
    browser_tools: frozenset[str] = frozenset()
    finish_tools: frozenset[str] = frozenset()
    thinks_first: bool = False
    confirm_tools: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    next_turn: int = 1
    history: Sequence[Said] = ()
    page: Mapping[str, Any] = field(default_factory=dict)
    background: str = ""
    spoken: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ports:
    """What a call asks of the world.

    `offer` sends a frame where that needs no waiting, and says so; it may never. `send` sends any.
    `discover(again)` gives what the caller may use, asked anew with `again`; `unauthorized` is told when the
    backend no longer accepts the caller. `hold` says whether the call goes on for a while without a browser
    whose socket ends like this. Where a brain thinks for the call, `ticket` is as in upstream.Line,
    `stop_brain` ends what it does, and `to_brain` says whether it takes a message of the client's. `begun` is
    told once, when the caller may speak.
    """

    send: Callable[[str], Awaitable[None]]
    dial: Callable[[], Awaitable[Connection]]
    discover: Callable[[bool], Awaitable[Offer]]
    write: Callable[[Record], None]
    commit: Callable[[Record], Awaitable[None]]
    now: Callable[[], float]
    new_id: Callable[[str], str]
    unauthorized: Callable[[], None]
    offer: Callable[[str], bool] = never
    hold: Callable[[Ending], bool] = lambda _ending: False
    ticket: Callable[[str, bool], str] = lambda _session_id, _says: ""
    stop_brain: Callable[[], None] = lambda: None
    begun: Callable[[], None] = lambda: None
    to_brain: Callable[[ClientMessage | ConfirmAnswered], bool] = lambda _message: False


def owned(call: Call, offer: Offer) -> ToolsOffered:
    """Which source each offered tool is of, the tools that are the browser's own, the model's names."""
    browsers = frozenset(name for name in call.browser_tools if offer.find(name) is None)
    return ToolsOffered({tool.name: tool.source for tool in offer.tools}, browsers, offer.aliases)


def setup(call: Call, ports: Ports, offered: Callable[[], Offer]) -> Setup:
    """The core's view of the call; `offered` is what may be called at that moment."""
    owners = owned(call, offered())
    return Setup(
        conversation_id=call.conversation_id,
        plain=call.plain,
        server_tools=owners.server_tools,
        browser_tools=owners.browser_tools,
        aliases=owners.aliases,
        canonical=executor.canonical,
        new_id=ports.new_id,
        for_model=FOR_MODEL,
        for_caller=FOR_CALLER,
        spoken=call.spoken,
        confirm_tools=call.confirm_tools,
        has_sheets=call.extras,
        objection=lambda name, arguments: executor.objection(offered(), name, arguments),
        labels=call.labels,
        limits=call.limits,
        next_turn=call.next_turn,
        finish_tools=call.finish_tools,
        thinks_first=call.thinks_first,
    )


def ready(call: Call, offer: Offer) -> Mapping[str, Any]:
    """The fields of `vocero.conversation.ready`."""
    caller = {"name": call.caller_name} if call.caller_name else None
    return {
        "protocol_version": 1,
        "conversation": {"id": call.conversation_id, "caller": caller, "expires_at": call.expires_at},
        "tools": {"count": len(offer.tools), "error": offer.error or None},
    }


def with_own_tools(call: Call, offer: Offer, wishes: Mapping[str, Any]) -> dict[str, Any]:
    """A page's wishes with those tools only that may be the browser's own."""
    return {**wishes, "tools": [tool for tool in wishes.get("tools") or () if _is_own(call, offer, tool)]}


def _is_own(call: Call, offer: Offer, tool: object) -> bool:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return False
    name = str(tool.get("name"))
    return name in call.browser_tools and offer.find(offer.own_name(name)) is None
