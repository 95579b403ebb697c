"""What was said, arguments and results, erased before retention would."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import structlog
from django.db.models import Q, QuerySet

from conversations.models import Conversation, ToolCall, Turn

log = structlog.get_logger(__name__)

BATCH = 500
# A call that has sources has the beginning of its result, too.
PAYLOAD: Mapping[str, Any] = MappingProxyType({"arguments": None, "excerpt": "", "sources": None})


@dataclass(frozen=True, slots=True)
class Contents:
    """How many turns lose, or would lose, their words, and how many tool calls their payloads."""

    turns: int
    calls: int


def concerned(days: int, now: datetime) -> Contents:
    """What `erase` would do now."""
    border = now - timedelta(days=days)
    return Contents(_worded(border).count(), _filled(border).count())


def erase(days: int, now: datetime) -> Contents:
    """Erases them in closed conversations where they are older than so many days; the rows stay."""
    border = now - timedelta(days=days)
    turns = _in_batches(_worded(border), lambda rows: rows.update(caller_text="", heard_text=""))
    calls = _in_batches(_filled(border), lambda rows: rows.update(**PAYLOAD))
    log.info("contents.erased", older_than=days, turns=turns, calls=calls)
    return Contents(turns, calls)


def _old(border: datetime) -> Q:
    return Q(started_at__lt=border, conversation__state=Conversation.State.CLOSED)


def _worded(border: datetime) -> QuerySet[Turn]:
    # One that still runs is written to when it ends.
    ended = Turn.objects.filter(_old(border)).exclude(outcome=Turn.Outcome.RUNNING)
    return ended.exclude(caller_text="", heard_text="").order_by()


def _filled(border: datetime) -> QuerySet[ToolCall]:
    ended = ToolCall.objects.filter(_old(border)).exclude(status=ToolCall.Status.RUNNING)
    return ended.filter(~Q(arguments__isnull=True) | ~Q(excerpt="")).order_by()


def _in_batches(rows: QuerySet[Any], erase: Callable[[QuerySet[Any]], int]) -> int:
    done = 0
    while batch := list(rows.order_by("started_at").values_list("pk", flat=True)[:BATCH]):
        done += erase(rows.model._default_manager.filter(pk__in=batch))
    return done
