"""Limits and the questions they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

LEAST_ROOM = 2_000
REPEATABLE = frozenset({"unavailable", "timeout", "connection_lost"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one turn may use: attempts, code points of results, seconds of silence, of an open sheet.

    After `slow_tool` seconds of a tool without a word one is said; 0 means never.
    """

    attempts: int = 6
    result_chars: int = 64_000
    turn_result_chars: int = 96_000
    silence: float = 20.0
    browser_output: float = 20.0
    confirm: float = 90.0
    hold: float = 1.0
    slow_tool: float = 0.0


@dataclass(frozen=True, slots=True)
class Setup:
    """What one call may do, as plain data.

    `server_tools` maps each offered name to its source; those of `finish_tools` run on when the caller goes
    on. `for_model`, `for_caller` have a text for each code, `spoken` for those that are said aloud, too.
    `aliases` lead from names that the model is told to the tools' own.
    `canonical` gives canonical JSON and its digest, None for malformed arguments. `new_id(kind)` makes ids of
    the kinds `turn`, `call`, `item`, `event`, `nonce` and `ref`. Tools in `confirm_tools` need the caller's
    tap on a sheet, which only a client with `has_sheets` can show; `objection` is what the model is told of
    arguments that do not fit a tool, empty where they do. With `thinks_first` an answer is expected to begin
    with thoughts that only a closing tag ends.
    """

    conversation_id: str
    plain: bool
    server_tools: Mapping[str, str]
    browser_tools: frozenset[str]
    canonical: Callable[[str], tuple[str, str] | None]
    new_id: Callable[[str], str]
    for_model: Mapping[str, str]
    for_caller: Mapping[str, str]
    spoken: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    confirm_tools: frozenset[str] = frozenset()
    has_sheets: bool = False
    objection: Callable[[str, str], str] = lambda _name, _arguments: ""
    labels: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    next_turn: int = 1
    finish_tools: frozenset[str] = frozenset()
    thinks_first: bool = False

    def own_name(self, name: str) -> str:
        """The tool's own name for the one that the model used."""
        return self.aliases.get(name, name)

    def label(self, name: str) -> str:
        """What the caller reads for a tool."""
        return self.labels.get(name, name.replace("_", " ").capitalize())


class Allowance:
    """What is left of one turn's limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._attempts = 0
        self._chars = 0
        self._seen: dict[str, str] = {}
        self._reserved: dict[str, int] = {}

    @property
    def spent(self) -> bool:
        """Whether the last attempt is used up."""
        return self._attempts >= self._limits.attempts

    def attempt(self) -> bool:
        """Count one attempt, refusals included; False when none was left."""
        if self.spent:
            return False
        self._attempts += 1
        return True

    def admit(self, call_id: str, digest: str) -> tuple[str, int]:
        """The refusing code, or `""` and the code points that this call's result may have, label included.

        The same call runs once a turn, with one repeat after a failure of the line. Calls that run side by
        side share what is left, so that none is refused for a result that another may never fill.
        """
        before = self._seen.get(digest)
        if before is not None and before not in REPEATABLE:
            return "duplicate_call", 0
        left = self._limits.turn_result_chars - self._chars - sum(self._reserved.values())
        if left < LEAST_ROOM:
            return "result_budget", 0
        share = max(left // 2, LEAST_ROOM) if self._reserved else left
        room = min(self._limits.result_chars, share)
        self._reserved[call_id] = room
        self._seen[digest] = "running" if before is None else "repeated"
        return "", room

    def ended(self, call_id: str, digest: str, code: str, chars: int) -> None:
        """A call ended: so many code points go to the model."""
        self._reserved.pop(call_id, None)
        self._chars += chars
        if self._seen.get(digest) == "running":
            self._seen[digest] = code or "completed"

    def bring(self, chars: int) -> bool:
        """Count a result of so many code points that the browser brings; False where it is too long."""
        left = self._limits.turn_result_chars - self._chars - sum(self._reserved.values())
        if chars > min(left, self._limits.result_chars):
            return False
        self._chars += chars
        return True
