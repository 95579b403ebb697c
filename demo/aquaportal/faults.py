"""Switches for what can go wrong: faults answer instead of the portal, switches change how it behaves."""

import asyncio
import contextlib
import threading
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter

Kind = Literal[
    "status",
    "forgotten",
    "redirect",
    "drop",
    "truncate",
    "malformed",
    "html",
    "body",
    "slow",
    "tool_error",
    "hostile",
    "wrong_shape",
    "text_only",
    "huge",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, and how often: `on` is "login", "mcp" for all of MCP, or a JSON-RPC method.

    `status`: answer with this HTTP status, and with `retry_after` where it is given. `forgotten`: 400, as
    from a server that no longer knows the session. `redirect`: 307, to another origin if `other_origin`.
    `drop`: reset the connection. `truncate`: cut it within the answer. `malformed`, `html`, `body`: answer
    with broken JSON, a page, or `text` as `content_type`. `slow`: wait `seconds` or until released, in so
    many `steps`, of which a tool tells. The rest are answers of a tool: an error of `text`, text that gives
    orders (`text` or a set one), a result unlike its schema, one without structure, one of at least so many
    `characters`.
    """

    kind: Kind
    on: str = "tools/call"
    tool: str | None = None
    times: int | None = None
    status: int = 503
    retry_after: int | None = None
    seconds: float = 20.0
    steps: int = 1
    text: str = ""
    content_type: str = "application/json"
    characters: int = 100_000
    other_origin: bool = False

    __pydantic_config__ = ConfigDict(extra="forbid")

    def strikes(self, on: str, tool: str | None) -> bool:
        """Whether it is meant for such a request."""
        return (self.on == on or (self.on == "mcp" and on not in OUTSIDE_MCP)) and self.tool in (None, tool)


@dataclass(frozen=True, slots=True)
class Switches:
    """How the portal behaves: its transport, its list of tools, how many calls an expiring token lasts.

    With `refuses_get` older clients have no stream of news. `withdrawn_tools` are neither listed nor run,
    `extra_tools` are names, or whole declarations, which replace a listed tool of the same name.
    """

    json_answers: bool = False
    stateless: bool = False
    legacy_only: bool = False
    refuses_get: bool = False
    withdrawn_tools: tuple[str, ...] = ()
    extra_tools: tuple[str | dict[str, Any], ...] = ()
    tools_page_size: int | None = None
    repeat_cursor: bool = False
    expiring_calls: int = 2

    __pydantic_config__ = ConfigDict(extra="forbid")


OUTSIDE_MCP = frozenset({"login", "moved"})
FAULT = TypeAdapter(Fault)
SWITCHES = TypeAdapter(Switches)


class Faults:
    """The faults and switches in force; safe to use from another thread than the server's."""

    def __init__(self, switches: Switches = Switches()) -> None:
        self._start = switches
        self._lock = threading.Lock()
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self.active: list[Fault] = []
        self.switches = switches

    def add(self, kind: Kind, **options: Any) -> None:
        """Put a fault in force, see Fault; raises pydantic.ValidationError for what it does not have."""
        fault = FAULT.validate_python({"kind": kind, **options})
        with self._lock:
            self.active.append(fault)

    def switch(self, **changes: Any) -> None:
        """Change some switches, see Switches; raises pydantic.ValidationError for one that does not exist."""
        known = {each.name: getattr(self.switches, each.name) for each in fields(Switches)}
        self.switches = SWITCHES.validate_python(known | changes)

    def clear(self) -> None:
        """Take back every fault and switch, and let slow calls go on."""
        with self._lock:
            self.active.clear()
        self.switches = self._start
        self.release()

    def take(self, kinds: frozenset[Kind], on: str, tool: str | None = None) -> Fault | None:
        """The first fault of these kinds that strikes such a request; it is spent by one time."""
        with self._lock:
            for index, fault in enumerate(self.active):
                if fault.kind in kinds and fault.strikes(on, tool):
                    self._spend(index, fault)
                    return fault
        return None

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until released."""
        waiting = (asyncio.get_running_loop(), asyncio.Event())
        self._waiting.add(waiting)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waiting[1].wait(), seconds)
        finally:
            self._waiting.discard(waiting)

    def release(self) -> None:
        """Let every slow request go on at once."""
        for loop, event in list(self._waiting):
            loop.call_soon_threadsafe(event.set)

    def _spend(self, index: int, fault: Fault) -> None:
        if fault.times is None:
            return
        if fault.times <= 1:
            del self.active[index]
        else:
            self.active[index] = replace(fault, times=fault.times - 1)
