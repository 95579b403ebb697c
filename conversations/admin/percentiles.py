"""Percentiles: by the database where it can, else of the newest rows; linear between two values, as SQL's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import Aggregate, Count, F, FloatField, Func, Q, QuerySet

from conversations.admin.outcomes import SPOKEN, WAIT, WRITTEN
from conversations.models import ToolCall, Turn

SHARES = (0.5, 0.95, 0.99)
# Without PERCENTILE_CONT the newest of these speak for all.
SAMPLE = 5_000
DONE = Q(status=ToolCall.Status.COMPLETED, duration_ms__isnull=False) & ~Q(source="")

Tool = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took, in milliseconds; `count` is of how many, `sampled` that there were more."""

    p50: float
    p95: float
    p99: float
    count: int
    sampled: bool = False


class Percentiles(Aggregate):
    """PERCENTILE_CONT at the three shares, as an array."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())


class Milliseconds(Func):
    """A stretch of time as a number."""

    template = "(EXTRACT(EPOCH FROM %(expressions)s) * 1000)::double precision"
    output_field = FloatField()


def waits(turns: QuerySet[Turn]) -> Mapping[str, Spread]:
    """How long callers waited for the first of an answer, by `spoken` and `written`."""
    if connection.vendor != "postgresql":
        return _sampled_waits(turns)
    took = Milliseconds(WAIT)
    found = turns.order_by().aggregate(
        spoken=Percentiles(took, filter=SPOKEN),
        spoken_count=Count("pk", filter=SPOKEN),
        written=Percentiles(took, filter=WRITTEN),
        written_count=Count("pk", filter=WRITTEN),
    )
    return {
        kind: _spread(found[kind], found[f"{kind}_count"]) for kind in ("spoken", "written") if found[kind]
    }


def durations(calls: QuerySet[ToolCall]) -> Mapping[Tool, Spread]:
    """How long each tool took when it was completed, by source and name."""
    done = calls.filter(DONE).order_by()
    if connection.vendor != "postgresql":
        return _sampled_durations(done)
    took = Milliseconds(F("duration_ms"), template="%(expressions)s::double precision")
    rows = done.values_list("source", "name").annotate(spread=Percentiles(took), count=Count("*"))
    return {(source, name): _spread(found, count) for source, name, found, count in rows}


def _sampled_waits(turns: QuerySet[Turn]) -> Mapping[str, Spread]:
    answered = turns.filter(SPOKEN | WRITTEN).order_by("-started_at")
    rows = list(answered.values_list("origin", "started_at", "caller_done_at", "answered_at")[:SAMPLE])
    of_kind: dict[str, list[float]] = {}
    for origin, started_at, caller_done_at, answered_at in rows:
        kind = "spoken" if origin == Turn.Origin.VOICE else "written"
        took = (answered_at or started_at) - (caller_done_at or started_at)
        of_kind.setdefault(kind, []).append(took.total_seconds() * 1000)
    return {kind: spread(values, len(rows) == SAMPLE) for kind, values in of_kind.items()}


def _sampled_durations(done: QuerySet[ToolCall]) -> Mapping[Tool, Spread]:
    rows = list(done.order_by("-started_at").values_list("source", "name", "duration_ms")[:SAMPLE])
    of_tool: dict[Tool, list[float]] = {}
    for source, name, took in rows:
        of_tool.setdefault((source, name), []).append(float(took or 0))
    return {tool: spread(values, len(rows) == SAMPLE) for tool, values in of_tool.items()}


def spread(values: Iterable[float], sampled: bool = False) -> Spread:
    """The three percentiles of at least one value."""
    ordered = sorted(values)
    return _spread([percentile(ordered, share) for share in SHARES], len(ordered), sampled)


def _spread(found: Sequence[float], count: int, sampled: bool = False) -> Spread:
    p50, p95, p99 = found
    return Spread(p50, p95, p99, count, sampled)


def percentile(ordered: Sequence[float], share: float) -> float:
    """What this share of the ordered values does not exceed, linear between the two next to it."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
