"""What is kept for how long: the sweep, then transcripts, payloads and rows that are past their days."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import Error, transaction
from django.db.models import Model, Q, QuerySet

from conversations import lifecycle
from conversations.models import Conversation, PhoneLink, ToolCall, Turn, UpstreamSession
from tools.models import CatalogSnapshot

log = structlog.get_logger(__name__)

BATCH = 500


@dataclass(frozen=True, slots=True)
class Cleaned:
    """How many rows each step changed, or would change; the steps that failed did not stop the others."""

    rows: Mapping[str, int]
    failures: tuple[str, ...]


def clean_up(now: datetime, dry_run: bool = False) -> Cleaned:
    """Closes what expired, erases credentials, applies retention: batched, idempotent, step by step."""
    swept = lifecycle.Swept(lifecycle.waiting(now), ()) if dry_run else lifecycle.sweep(now)
    rows, failures = dict(swept.changed), list(swept.failures)
    for name, step in STEPS.items():
        overdue = step.overdue(now)
        try:
            rows[name] = overdue.count() if dry_run else _in_batches(overdue, step.apply)
        except Error:
            log.exception("cleanup.failed", step=name)
            failures.append(name)
    return Cleaned(rows, tuple(failures))


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that ends with time: which rows are overdue, and what happens to a batch of them."""

    overdue: Callable[[datetime], QuerySet[Model]]
    apply: Callable[[QuerySet[Model]], object]


def _in_batches(overdue: QuerySet[Model], apply: Callable[[QuerySet[Model]], object]) -> int:
    done = 0
    while batch := list(overdue.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            apply(overdue.model._default_manager.filter(pk__in=batch))
        done += len(batch)
    return done


def _before(now: datetime, days: int) -> datetime:
    return now - timedelta(days=days)


def _old_transcripts(now: datetime) -> QuerySet[Turn]:
    old = Turn.objects.filter(started_at__lt=_before(now, settings.VOCERO.retention_transcripts))
    return old.exclude(outcome=Turn.Outcome.RUNNING).exclude(caller_text="", heard_text="")


def _old_payloads(now: datetime) -> QuerySet[ToolCall]:
    old = ToolCall.objects.filter(started_at__lt=_before(now, settings.VOCERO.retention_payloads))
    return old.exclude(status=ToolCall.Status.RUNNING).exclude(arguments__isnull=True, excerpt="")


def _old_calls(now: datetime) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(started_at__lt=_rows(now), conversation__state=Conversation.State.CLOSED)


def _old_turns(now: datetime) -> QuerySet[Turn]:
    return Turn.objects.filter(started_at__lt=_rows(now), conversation__state=Conversation.State.CLOSED)


def _old_sessions(now: datetime) -> QuerySet[UpstreamSession]:
    closed = Q(conversation__state=Conversation.State.CLOSED)
    return UpstreamSession.objects.filter(closed, opened_at__lt=_rows(now))


def _old_conversations(now: datetime) -> QuerySet[Conversation]:
    return Conversation.objects.filter(state=Conversation.State.CLOSED, opened_at__lt=_rows(now))


def _old_links(now: datetime) -> QuerySet[PhoneLink]:
    return PhoneLink.objects.filter(expires_at__lt=_rows(now))


def _old_catalogs(now: datetime) -> QuerySet[CatalogSnapshot]:
    return CatalogSnapshot.objects.filter(expires_at__lt=_before(now, settings.VOCERO.retention_payloads))


def _rows(now: datetime) -> datetime:
    return _before(now, settings.VOCERO.retention_rows)


def _delete(batch: QuerySet[Model]) -> object:
    return batch.delete()


STEPS: Mapping[str, Step] = {
    "transcripts": Step(_old_transcripts, lambda batch: batch.update(caller_text="", heard_text="")),
    "payloads": Step(_old_payloads, lambda batch: batch.update(arguments=None, excerpt="")),
    "old_tool_calls": Step(_old_calls, _delete),
    "old_turns": Step(_old_turns, _delete),
    "old_upstream_sessions": Step(_old_sessions, _delete),
    "old_conversations": Step(_old_conversations, _delete),
    "old_phone_links": Step(_old_links, _delete),
    "old_catalogs": Step(_old_catalogs, _delete),
}
