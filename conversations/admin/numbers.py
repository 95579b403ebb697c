"""What the dashboard counts: a few queries, each bounded by time on an index, kept for some seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.core.cache import cache
from django.db.models import Case, Count, F, Func, IntegerField, Q, Value, When
from django.utils import timezone
from redis.exceptions import RedisError

from conversations.admin import percentiles
from conversations.admin.filters import BROKEN_CALL, live
from conversations.admin.outcomes import CALL_OUTCOMES
from conversations.admin.percentiles import Spread, Tool
from conversations.models import Conversation, ToolCall, Turn

log = structlog.get_logger(__name__)

# Ten operators' reloads cost one.
KEPT = 5
# A catalog has at most 256.
MOST_TOOLS = 300
_KEY = "admin.numbers.1"


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that ends now: its words, and how long each bar of the chart is."""

    name: str
    words: str
    length: timedelta
    step: timedelta

    @property
    def slots(self) -> int:
        return self.length // self.step


PERIODS = (
    Period("1h", "1 hour", timedelta(hours=1), timedelta(minutes=5)),
    Period("24h", "24 hours", timedelta(hours=24), timedelta(hours=1)),
    Period("7d", "7 days", timedelta(days=7), timedelta(hours=6)),
)
USUAL = PERIODS[1]


@dataclass(frozen=True, slots=True)
class TurnGroup:
    """So many turns of one bar that were asked alike and ended alike, and how many were rated."""

    slot: int
    origin: str
    outcome: str
    code: str
    count: int
    good: int
    bad: int


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """So many attempts to use one tool, by how they ended."""

    source: str
    name: str
    count: int
    failed: int
    ended: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """Everything that the dashboard shows of one period, as it was at `end`."""

    start: datetime
    end: datetime
    live: int
    conversations: Mapping[str, int]
    turns: tuple[TurnGroup, ...]
    tools: tuple[ToolGroup, ...]
    refused: Mapping[str, int]
    waits: Mapping[str, Spread]
    durations: Mapping[Tool, Spread]

    def turn_count(self, **wanted: str) -> int:
        """How many turns have these values, such as `outcome="failed"`."""
        fits = [
            one for one in self.turns if all(getattr(one, name) == value for name, value in wanted.items())
        ]
        return sum(one.count for one in fits)


class Slot(Func):
    """The number of the bar in which a time lies, counted from `start`."""

    output_field = IntegerField()
    template = "FLOOR((EXTRACT(EPOCH FROM %(expressions)s) - %(start)s) / %(step)s)::integer"

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, Any]:
        # Doubled twice: once for this template, once for the driver.
        template = "(CAST(STRFTIME('%%%%s', %(expressions)s) AS INTEGER) - %(start)s) / %(step)s"
        return super().as_sql(compiler, connection, template=template, **extra)


def period_named(name: str) -> Period:
    """The period of that name, the usual one for any other."""
    return next((period for period in PERIODS if period.name == name), USUAL)


def numbers(period: Period) -> Numbers:
    """The numbers of the period, at most some seconds old."""
    key = f"{_KEY}.{period.name}"
    try:
        kept: Numbers | None = cache.get(key)
    except (RedisError, OSError) as error:
        log.warning("numbers.cache_unreadable", error=type(error).__name__)
        return counted(period, timezone.now())
    if kept is None:
        kept = counted(period, timezone.now())
        _keep(key, kept)
    return kept


def _keep(key: str, fresh: Numbers) -> None:
    try:
        cache.set(key, fresh, timeout=KEPT)
    except (RedisError, OSError) as error:
        log.warning("numbers.cache_unwritable", error=type(error).__name__)


def counted(period: Period, now: datetime) -> Numbers:
    """The numbers of the period that ends now, from the database."""
    end = now.replace(microsecond=0) + timedelta(seconds=1)
    start = end - period.length
    turns = Turn.objects.filter(started_at__gte=start, started_at__lt=end).order_by()
    calls = ToolCall.objects.filter(started_at__gte=start, started_at__lt=end).order_by()
    refused = calls.filter(CALL_OUTCOMES["refused"]).values_list("code").annotate(count=Count("*"))
    return Numbers(
        start=start,
        end=end,
        live=Conversation.objects.filter(live()).order_by().count(),
        conversations=_conversations(start, end),
        turns=_turns(turns, start, period),
        tools=_tools(calls),
        refused=dict(refused),
        waits=percentiles.waits(turns),
        durations=percentiles.durations(calls),
    )


def _conversations(start: datetime, end: datetime) -> Mapping[str, int]:
    """Those that were opened then, by the reason of their end; under "" those that are open."""
    opened = Conversation.objects.filter(opened_at__gte=start, opened_at__lt=end).order_by()
    return dict(opened.values_list("close_reason").annotate(count=Count("*")))


def _turns(turns: Any, start: datetime, period: Period) -> tuple[TurnGroup, ...]:
    slot = Slot("started_at", start=int(start.timestamp()), step=int(period.step.total_seconds()))
    rows = turns.annotate(slot=slot).values_list("slot", "origin", "outcome", "code")
    rated = {name: Count("pk", filter=Q(rating=name)) for name in Turn.Rating.values}
    return tuple(TurnGroup(*row) for row in rows.annotate(count=Count("*"), **rated))


def _tools(calls: Any) -> tuple[ToolGroup, ...]:
    """The tools that were wanted most; names that belong to no source are the model's own, and in one."""
    known = Case(When(source="", then=Value("")), default=F("name"))
    rows = calls.annotate(tool=known).values_list("source", "tool")
    ended = ~Q(status=ToolCall.Status.RUNNING)
    grouped = rows.annotate(
        count=Count("*"), failed=Count("pk", filter=BROKEN_CALL), ended=Count("pk", filter=ended)
    )
    return tuple(ToolGroup(*row) for row in grouped.order_by("-count", "source", "tool")[:MOST_TOOLS])
