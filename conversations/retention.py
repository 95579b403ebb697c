"""What is kept for how long: the sweep, then transcripts, payloads and rows that are past their days."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db import Error
from django.db.models import Exists, Model, OuterRef, QuerySet
from django.utils import timezone

from conversations import erasure, lifecycle
from conversations.contents import PAYLOAD
from conversations.locks import briefly
from conversations.models import CleanupRun, Conversation, PhoneLink, ToolCall, Turn, UpstreamSession
from tools.models import CatalogSnapshot

log = structlog.get_logger(__name__)

BATCH = 500
CLOSED = Conversation.State.CLOSED


@dataclass(frozen=True, slots=True)
class Cleaned:
    """How many rows each step changed, or would change; the steps that failed did not stop the others."""

    rows: Mapping[str, int]
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that ends with time: which rows are overdue, oldest first, and what happens to a batch."""

    overdue: Callable[[datetime], QuerySet[Model]]
    apply: Callable[[QuerySet[Model]], object]


def clean_up(now: datetime, dry_run: bool = False) -> Cleaned:
    """Closes what expired, erases credentials, applies retention: batched, idempotent, step by step.

    What it did is kept as a CleanupRun, unless it only counted.
    """
    started_at = timezone.now()
    swept = _waiting(now) if dry_run else lifecycle.sweep(now)
    rows, failures = dict(swept.changed), list(swept.failures)
    for name, step in STEPS.items():
        try:
            rows[name] = _counted(step.overdue(now)) if dry_run else _in_batches(step, now)
        except Error:
            log.exception("cleanup.failed", step=name)
            failures.append(name)
    try:
        rows["erasures"] = erasure.unfinished().count() if dry_run else _erased(now)
    except Error:
        log.exception("cleanup.failed", step="erasures")
        failures.append("erasures")
    if not dry_run:
        failures += _noted(started_at, rows, failures)
    return Cleaned(rows, tuple(failures))


def clean_chosen(conversations: Sequence[UUID], now: datetime, dry_run: bool = False) -> Cleaned:
    """Ends these where they are open, as their callers can, and applies retention to them alone."""
    still_open = Conversation.objects.filter(pk__in=conversations, state=Conversation.State.OPEN)
    ending = list(still_open.values_list("pk", flat=True))
    if not dry_run:
        ending = [pk for pk in ending if lifecycle.close(str(pk), Conversation.CloseReason.OPERATOR)]
    rows, failures = {"ended": len(ending)}, []
    for name in OF_A_CONVERSATION:
        step = _among(STEPS[name], conversations)
        try:
            rows[name] = _counted(step.overdue(now)) if dry_run else _in_batches(step, now)
        except Error:
            log.exception("cleanup.failed", step=name)
            failures.append(name)
    return Cleaned(rows, tuple(failures))


def _among(step: Step, conversations: Sequence[UUID]) -> Step:
    """The same for these conversations alone."""

    def overdue(now: datetime) -> QuerySet[Model]:
        rows = step.overdue(now)
        key = "pk" if rows.model is Conversation else "conversation"
        return rows.filter(**{f"{key}__in": conversations})

    return Step(overdue, step.apply)


def _erased(now: datetime) -> int:
    """How many erasures that were asked for are finished by this."""
    waiting = erasure.unfinished().count()
    return waiting - erasure.complete(now)


def _waiting(now: datetime) -> lifecycle.Swept:
    try:
        return lifecycle.Swept(briefly()(lifecycle.waiting)(now), ())
    except Error:
        log.exception("cleanup.failed", step="sweep")
        return lifecycle.Swept({}, ("sweep",))


def _noted(started_at: datetime, rows: Mapping[str, int], failures: list[str]) -> list[str]:
    """Keeps what was done; where even that fails, the name of this step."""
    try:
        with briefly():
            CleanupRun.objects.create(
                started_at=started_at, ended_at=timezone.now(), rows=rows, failures=failures
            )
    except Error:
        log.exception("cleanup.failed", step="cleanup_runs")
        return ["cleanup_runs"]
    return []


def _counted(overdue: QuerySet[Model]) -> int:
    with briefly():
        return overdue.order_by().count()


def _in_batches(step: Step, now: datetime) -> int:
    """Each batch in a short transaction; a row that somebody else holds is left for the next cleanup."""
    overdue, done = briefly()(step.overdue)(now), 0
    while True:
        with briefly():
            free = overdue.select_for_update(skip_locked=True, of=("self",)).only("pk")
            batch = [row.pk for row in free[:BATCH]]
            if not batch:
                return done
            step.apply(overdue.model._default_manager.filter(pk__in=batch))
        done += len(batch)


def _before(now: datetime, days: int) -> datetime:
    return now - timedelta(days=days)


def _old_transcripts(now: datetime) -> QuerySet[Turn]:
    old = Turn.objects.filter(started_at__lt=_before(now, settings.VOCERO.retention_transcripts))
    worded = old.exclude(outcome=Turn.Outcome.RUNNING).exclude(caller_text="", heard_text="")
    return worded.order_by("started_at")


def _old_payloads(now: datetime) -> QuerySet[ToolCall]:
    old = ToolCall.objects.filter(started_at__lt=_before(now, settings.VOCERO.retention_payloads))
    filled = old.exclude(status=ToolCall.Status.RUNNING).exclude(arguments__isnull=True, excerpt="")
    return filled.order_by("started_at")


def _old_calls(now: datetime) -> QuerySet[ToolCall]:
    old = ToolCall.objects.filter(started_at__lt=_rows(now), conversation__state=CLOSED)
    return old.order_by("started_at")


def _old_turns(now: datetime) -> QuerySet[Turn]:
    return Turn.objects.filter(started_at__lt=_rows(now), conversation__state=CLOSED).order_by("started_at")


def _old_sessions(now: datetime) -> QuerySet[UpstreamSession]:
    old = UpstreamSession.objects.filter(opened_at__lt=_rows(now), conversation__state=CLOSED)
    return old.order_by("opened_at")


def _old_conversations(now: datetime) -> QuerySet[Conversation]:
    """Those of which no younger turn is left: no batch takes thousands of rows along."""
    old = Conversation.objects.filter(state=CLOSED, opened_at__lt=_rows(now))
    turns = Turn.objects.filter(conversation=OuterRef("pk"))
    return old.exclude(Exists(turns)).order_by("opened_at")


def _old_links(now: datetime) -> QuerySet[PhoneLink]:
    return PhoneLink.objects.filter(expires_at__lt=_rows(now)).order_by("expires_at")


def _old_catalogs(now: datetime) -> QuerySet[CatalogSnapshot]:
    border = _before(now, settings.VOCERO.retention_payloads)
    return CatalogSnapshot.objects.filter(expires_at__lt=border).order_by("expires_at")


def _old_runs(now: datetime) -> QuerySet[CleanupRun]:
    return CleanupRun.objects.filter(ended_at__lt=_rows(now)).order_by("ended_at")


def _surplus(model: type[ToolCall] | type[Turn]) -> QuerySet[Model]:
    """The oldest rows beyond S2S_RETENTION_MAX_ROWS, of conversations that are over."""
    most = settings.VOCERO.retention_max_rows
    newest = model._default_manager.order_by("-started_at").values_list("started_at", flat=True)
    border = newest[most : most + 1].first() if most else None
    if border is None:
        return model._default_manager.none()
    surplus = model._default_manager.filter(started_at__lte=border, conversation__state=CLOSED)
    return surplus.order_by("started_at")


def _rows(now: datetime) -> datetime:
    return _before(now, settings.VOCERO.retention_rows)


def _delete(batch: QuerySet[Model]) -> object:
    return batch.delete()


STEPS: Mapping[str, Step] = {
    "transcripts": Step(_old_transcripts, lambda batch: batch.update(caller_text="", heard_text="")),
    "payloads": Step(_old_payloads, lambda batch: batch.update(**PAYLOAD)),
    "old_tool_calls": Step(_old_calls, _delete),
    "old_turns": Step(_old_turns, _delete),
    "surplus_tool_calls": Step(lambda now: _surplus(ToolCall), _delete),
    "surplus_turns": Step(lambda now: _surplus(Turn), _delete),
    "old_upstream_sessions": Step(_old_sessions, _delete),
    "old_conversations": Step(_old_conversations, _delete),
    "old_phone_links": Step(_old_links, _delete),
    "old_catalogs": Step(_old_catalogs, _delete),
    "old_cleanup_runs": Step(_old_runs, _delete),
}
OF_A_CONVERSATION = (
    "transcripts",
    "payloads",
    "old_tool_calls",
    "old_turns",
    "old_upstream_sessions",
    "old_conversations",
)
