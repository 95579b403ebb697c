"""What this process counts, from the records it writes; every label has few values, whatever a model says."""

from __future__ import annotations

import platform
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection
from typing import TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
)

from conversations.core.records import (
    CallClosed,
    CallOpened,
    Record,
    TurnClosed,
    TurnOpened,
    UpstreamClosed,
    UpstreamRecognised,
)
from conversations.realtime.dialects import ALL as DIALECTS
from tools.sentences import FAILURES
from vocero import VERSION

OTHER = "other"
# So many tools of one source have a label of their own: more than anybody lists in the settings, while a
# bridge or an integrator's page may name any number.
MOST_TOOLS = 100
LONGEST_TOOL = 80
# Turns and calls that have begun and not ended.
MOST_OPEN = 20_000

_ORIGINS = frozenset({"voice", "text", "http"})
_OUTCOMES = frozenset({"done", "interrupted", "cancelled", "failed"})
_STATUSES = frozenset({"completed", "failed"})
_SOURCES = frozenset({"aquaportal", "apipilot", "inprocess", "browser"})
_REASONS = frozenset({"caller_cleanup", "superseded", "expired", "idle", "auth_expired", "operator", "error"})
_CODES = frozenset({"", *FAILURES})
# With these the tool itself never began.
_NOT_RUN = frozenset(
    {"unknown_tool", "invalid_arguments", "malformed_selection", "duplicate_call", "call_limit"}
    | {"result_budget", "confirmation_declined", "confirmation_timeout"}
)
_TOOL_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180)
_ANSWER_BUCKETS = (0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 13, 20, 30)


def one_of(value: str, known: Collection[str]) -> str:
    """The value where it is a known one."""
    return value if value in known else OTHER


Value = TypeVar("Value")


class Meter:
    """Counters and histograms in a registry of their own; cheap enough for every record, not for a frame."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._tools: defaultdict[str, set[str]] = defaultdict(set)
        self._turns: OrderedDict[str, str] = OrderedDict()
        self._calls: OrderedDict[str, tuple[str, str]] = OrderedDict()
        for collect in (ProcessCollector, PlatformCollector, GCCollector):
            collect(registry=registry)
        Info("vocero_build", "What runs here.", registry=registry).info(
            {"version": VERSION, "python": platform.python_version()}
        )
        self._sessions = self._counter(
            "sessions", "Sessions at the speech service, by its dialect.", "dialect"
        )
        self._lost = self._counter(
            "speech_lost", "Sessions at the speech service that broke, or could not be had."
        )
        self._turns_total = self._counter("turns", "Turns that ended.", "origin", "outcome")
        self._silent = self._counter("silent_turns", "Turns that ended because nothing was said in them.")
        calls = ("tool", "source", "status", "code")
        self._calls_total = self._counter("tool_calls", "Attempts to use a tool, refusals included.", *calls)
        self._closed = self._counter("closed", "Conversations that ended here, by the reason.", "reason")
        self._refused = self._counter("refused", "Requests and sockets told no, by the code they got.", "why")
        self._dropped = self._counter("queue_dropped", "What a full queue did not take or keep.", "queue")
        self._tool_seconds = Histogram(
            "vocero_tool_seconds", "How long tools ran.", ["tool"], registry=registry, buckets=_TOOL_BUCKETS
        )
        self._first_audio = self._answers(
            "first_audio", "From a question's end, spoken or typed, to the answer."
        )
        self._voice_to_voice = self._answers(
            "voice_to_voice", "From the end of a caller's speech to the answer."
        )

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"vocero_{name}", about, labels, registry=self.registry)

    def _answers(self, name: str, about: str) -> Histogram:
        return Histogram(f"vocero_{name}_seconds", about, registry=self.registry, buckets=_ANSWER_BUCKETS)

    # ---- what is counted

    def record(self, record: Record) -> None:
        """One entry of the journal, whether or not there was room for it."""
        match record:
            case TurnOpened(turn_id=turn_id, origin=origin):
                _remember(self._turns, turn_id, one_of(origin, _ORIGINS))
            case TurnClosed():
                self._turn(record)
            case CallOpened(call_id=call_id):
                _remember(self._calls, call_id, self._tool(record))
            case CallClosed():
                self._call(record)
            case UpstreamRecognised(dialect=dialect):
                self._sessions.labels(one_of(dialect, DIALECTS)).inc()
            case UpstreamClosed(reason=reason) if reason.startswith(("lost", "unreachable")):
                self._lost.inc()

    def closed(self, reason: str) -> None:
        """A conversation was closed by this process."""
        self._closed.labels(one_of(reason, _REASONS)).inc()

    def refused(self, why: str) -> None:
        """A request or a socket was told no; `why` is one of our own codes."""
        self._refused.labels(why).inc()

    def dropping(self, queue: str) -> Callable[[float], None]:
        """What counts the losses of one of our own queues, found once: it may be asked for every frame."""
        return self._dropped.labels(queue).inc

    def swept(self, calls: int) -> int:
        """So many calls of a process that is gone were ended in its place."""
        if calls:
            self._calls_total.labels(OTHER, OTHER, "failed", "connection_lost").inc(calls)
        return calls

    # ---- how

    def _turn(self, turn: TurnClosed) -> None:
        origin = self._turns.pop(turn.turn_id, OTHER)
        self._turns_total.labels(origin, one_of(turn.outcome, _OUTCOMES)).inc()
        if turn.silent_ms is not None:
            self._silent.inc()
        if turn.answered_at is None or turn.caller_done_at is None or origin == "http":
            return
        waited = max(turn.answered_at - turn.caller_done_at, 0.0)
        self._first_audio.observe(waited)
        if origin == "voice":
            self._voice_to_voice.observe(waited)

    def _call(self, call: CallClosed) -> None:
        tool, source = self._calls.pop(call.call_id, (OTHER, OTHER))
        status, code = one_of(call.status, _STATUSES), one_of(call.code, _CODES)
        self._calls_total.labels(tool, source, status, code).inc()
        if code not in _NOT_RUN:
            self._tool_seconds.labels(tool).observe(max(call.duration_ms, 0) / 1000)

    def _tool(self, call: CallOpened) -> tuple[str, str]:
        """Labels for tool and source; a name that no source offers is the model's own text."""
        source = one_of(call.source, _SOURCES)
        if source == OTHER:
            return OTHER, OTHER
        known = self._tools[source]
        if call.name not in known and len(call.name) <= LONGEST_TOOL and len(known) < MOST_TOOLS:
            known.add(call.name)
        return one_of(call.name, known), source


def _remember(kept: OrderedDict[str, Value], key: str, value: Value) -> None:
    kept[key] = value
    if len(kept) > MOST_OPEN:
        kept.popitem(last=False)


METER = Meter()
