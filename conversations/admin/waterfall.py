"""One turn as lanes on one time axis. Pure: rows in, percentages and words out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from conversations.admin import words
from conversations.models import ToolCall, Turn

Span = tuple[float, float]
_SHORTEST_AXIS = 100.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of a lane; `left` and `width` are per cent of the axis, as CSS writes them."""

    left: str
    width: str
    label: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One line of the picture: what it is, its bars, how long, and how it ended in a word and a tone."""

    kind: str
    label: str
    note: str
    bars: tuple[Bar, ...]
    duration: str
    outcome: str
    tone: str
    call: ToolCall | None = None
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the axis."""

    left: str
    label: str
    at_end: bool


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All lanes of a turn, the axis they share, and its length in words."""

    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    total: str


class Axis:
    """Places times, in ms since the turn began, on a line of so many ms."""

    def __init__(self, length: float) -> None:
        self.length = max(length, _SHORTEST_AXIS)

    def at(self, ms: float) -> str:
        return f"{min(max(ms / self.length, 0), 1) * 100:.2f}%"

    def bar(self, span: Span, what: str) -> Bar:
        start, end = span
        took = milliseconds(end - start)
        return Bar(self.at(start), self.at(end - start), f"{what}: {took}, from {milliseconds(start)} on")

    def ticks(self) -> tuple[Tick, ...]:
        step = round_step(self.length / 5)
        count = math.floor(self.length / step + 1e-9)
        places = [step * i for i in range(count + 1)]
        return tuple(Tick(self.at(ms), axis_label(ms), ms > self.length * 0.9) for ms in places)


def milliseconds(ms: float) -> str:
    """`1,204 ms`."""
    return f"{max(round(ms), 0):,} ms"


def axis_label(ms: float) -> str:
    """`0`, `200 ms`, `1.5 s`."""
    if not ms:
        return "0"
    return f"{ms / 1000:g} s" if ms >= 1000 else f"{ms:g} ms"


def round_step(ms: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, … that is at least this long."""
    power = 10.0 ** math.floor(math.log10(ms))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= ms * 0.999)


def gaps(span: Span, taken: Iterable[Span]) -> list[Span]:
    """What is left of a span when others are taken out of it, in order."""
    start, end = span
    left: list[Span] = []
    for begins, ends in sorted(taken):
        if min(begins, end) > start:
            left.append((start, min(begins, end)))
        start = max(start, ends)
        if start >= end:
            return left
    return [*left, (start, end)] if end > start else left


def draw(turn: Turn, calls: Sequence[ToolCall], now: datetime) -> Waterfall:
    """The waterfall of a turn and its tool calls, all of them in order of their start."""

    def ms(at: datetime | None) -> float | None:
        return None if at is None else max((at - turn.started_at).total_seconds() * 1000, 0.0)

    over = ms(turn.ended_at or now) or 0.0
    spans = [call_span(call, ms(call.started_at) or 0.0, ms(call.ended_at), over) for call in calls]
    answered = ms(turn.answered_at)
    first_sign = min([over, *(start for start, _ in spans), *([] if answered is None else [answered])])
    spoken = ms(turn.caller_done_at)
    spoken = (first_sign if turn.origin == Turn.Origin.VOICE else 0.0) if spoken is None else spoken
    waits_until = over if answered is None else answered
    axis = Axis(max([over, spoken, waits_until, *(end for _, end in spans)]))
    lanes = [caller_lane(turn, spoken, axis)]
    if thinking := gaps((spoken, max(waits_until, spoken)), spans):
        lanes.append(thinking_lane(thinking, axis))
    for call, span in zip(calls, spans, strict=True):
        approved = ms(call.approved_at)
        if approved is not None:
            lanes.append(sheet_lane(call, (span[0], approved), axis))
        lanes.append(
            call_lane(call, (span[0] if approved is None else min(approved, span[1]), span[1]), axis)
        )
    lanes.append(answer_lane(turn, answered, over, axis))
    return Waterfall(tuple(lanes), axis.ticks(), milliseconds(axis.length if over else 0))


def call_span(call: ToolCall, start: float, end: float | None, over: float) -> Span:
    """From where to where a call ran; one without an end runs until the turn's."""
    if end is None and call.duration_ms is not None:
        end = start + call.duration_ms
    return start, max(over if end is None else end, start)


def caller_lane(turn: Turn, spoken: float, axis: Axis) -> Lane:
    """What the caller did before anything else could happen."""
    what = {"voice": "caller speaks", "text": "caller typed", "http": "request"}.get(turn.origin, "caller")
    return Lane(
        kind="caller",
        label=what.capitalize(),
        note="",
        bars=(axis.bar((0.0, spoken), what),),
        duration=milliseconds(spoken) if spoken else "",
        outcome="",
        tone="plain",
    )


def thinking_lane(spans: Sequence[Span], axis: Axis) -> Lane:
    """The time in which neither the caller, a tool nor the answer was at work."""
    return Lane(
        kind="thinking",
        label="Thinking",
        note="speech service and model",
        bars=tuple(axis.bar(span, "thinking") for span in spans),
        duration=milliseconds(sum(end - start for start, end in spans)),
        outcome="",
        tone="plain",
    )


def sheet_lane(call: ToolCall, span: Span, axis: Axis) -> Lane:
    """The time that a tool waited for the caller's tap."""
    return Lane(
        kind="caller",
        label="Caller is asked",
        note=call.name,
        bars=(axis.bar(span, "sheet open"),),
        duration=milliseconds(span[1] - span[0]),
        outcome="approved",
        tone="good",
    )


def call_lane(call: ToolCall, span: Span, axis: Axis) -> Lane:
    """One attempt to use a tool."""
    outcome, tone = words.call_outcome(call.status, call.code)
    took = span[1] - span[0] if call.duration_ms is None else call.duration_ms
    return Lane(
        kind="call",
        label=call.name or "unknown tool",
        note=" · ".join(part for part in (call.source or "not run", call.selection) if part),
        bars=(axis.bar(span, f"{call.name or 'unknown tool'}, {outcome}"),),
        duration=milliseconds(took),
        outcome=outcome,
        tone=tone,
        call=call,
    )


def answer_lane(turn: Turn, answered: float | None, over: float, axis: Axis) -> Lane:
    """What the caller heard, and whether it was cut."""
    word, tone, _ = words.TURN_OUTCOMES.get(turn.outcome, (turn.outcome, "plain", ""))
    if answered is None:
        bars: tuple[Bar, ...] = ()
        duration, word = "", "still to come" if turn.outcome == Turn.Outcome.RUNNING else f"none, {word}"
    else:
        bars = (axis.bar((answered, max(over, answered)), "answer"),)
        duration = milliseconds(over - answered)
    cut = turn.outcome == Turn.Outcome.INTERRUPTED or (turn.outcome == Turn.Outcome.CANCELLED and bars)
    return Lane(
        kind="answer",
        label="Answer",
        note="as heard",
        bars=bars,
        duration=duration,
        outcome=word,
        tone=tone,
        cut=axis.at(over) if cut and turn.ended_at else "",
    )
