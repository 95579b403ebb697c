"""Erasing what is known of callers: asked for once, done in small batches, gone on with by every sweep.

The conversation's own row loses its caller at once. What hangs on it follows: words, arguments and results,
or with `rows` the whole record. It is finished only after whatever still writes to it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, Q, QuerySet

from conversations import lifecycle
from conversations.contents import PAYLOAD
from conversations.locks import briefly
from conversations.models import (
    BackendToken,
    Conversation,
    PhoneLink,
    ToolCall,
    Turn,
    UpstreamSession,
    WaitingMessage,
)
from tools.models import CatalogSnapshot

log = structlog.get_logger(__name__)

BATCH = 500
# What one request, or one sweep, does of it before others have their turn.
SLICE = 20
# A call that was ended may write its last turn down for this long.
SETTLED = timedelta(seconds=30)
OPERATOR = Conversation.CloseReason.OPERATOR.value
Erasure = Conversation.Erasure
ANONYMOUS: Mapping[str, Any] = {
    "caller_name": "",
    "backend_user_id": "",
    "episode_id": "",
    "browser_hash": "",
    "secret_hash": "",
    "secret_expires_at": None,
    "session": {},
}


@dataclass(frozen=True, slots=True)
class Progress:
    """What a slice of the work did; `more` where it could go on at once."""

    changed: int
    finished: int
    more: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of a conversation that are still to be erased, in the order of `along`, and what they become."""

    rows: QuerySet[Any]
    along: str
    values: Mapping[str, Any] | None


def of_caller(backend_user_id: str) -> list[UUID]:
    """The conversations of a caller as the backend knows them; of nobody for an empty id."""
    known = Conversation.objects.filter(backend_user_id=backend_user_id) if backend_user_id else ()
    return [row.pk for row in known]


def counted(conversations: Sequence[UUID]) -> dict[str, int]:
    """How many rows of each kind these conversations have, without reading them."""
    mine = {"conversation__in": conversations}
    chosen = Conversation.objects.filter(pk__in=conversations)
    return {
        "conversations": chosen.count(),
        "open": chosen.filter(state=Conversation.State.OPEN).count(),
        "turns": Turn.objects.filter(**mine).count(),
        "tool_calls": ToolCall.objects.filter(**mine).count(),
        "tokens": BackendToken.objects.filter(**mine).count(),
        "catalogs": _catalogs(conversations).count(),
        "phone_links": PhoneLink.objects.filter(**mine).count(),
    }


def ask(conversations: Sequence[UUID], now: datetime, rows: bool = False) -> int:
    """Ends the live ones, takes the caller off each, and leaves the rest to `proceed`; how many there are."""
    asked = 0
    for first in range(0, len(conversations), BATCH):
        some = conversations[first : first + BATCH]
        still_open = Conversation.objects.filter(pk__in=some, state=Conversation.State.OPEN)
        for pk in list(still_open.values_list("pk", flat=True)):
            lifecycle.close(str(pk), OPERATOR)
        with briefly():
            asked += _take_caller_off(some, Erasure.ROWS if rows else Erasure.WORDS)
    log.info("erasure.asked", conversations=asked, rows=rows)
    return asked


def forget_links(links: Sequence[UUID]) -> None:
    """Takes the phone off these links, which then work for nobody."""
    with briefly():
        _rename_log(PhoneLink, links)
        chosen = PhoneLink.objects.filter(pk__in=links)
        chosen.update(phone_ciphertext="", phone_ending="", used_by_hash="")


def proceed(now: datetime, batches: int = SLICE) -> Progress:
    """Does so many batches of what was asked for; safe to run in every process at once."""
    changed, finished, left = 0, 0, batches
    for conversation in _pending():
        for count in _batches(conversation):
            changed, left = changed + count, left - 1
            if left <= 0:
                return Progress(changed, finished, more=True)
        finished += _finish(conversation, now)
    return Progress(changed, finished, more=False)


def complete(now: datetime) -> int:
    """All that can be done now; how many conversations must be left to a later sweep."""
    while proceed(now).more:
        pass
    return _pending().count()


def unfinished() -> QuerySet[Conversation]:
    """The conversations of which something is still to be erased."""
    return Conversation.objects.exclude(erasure="").filter(erased_at=None)


def _pending() -> QuerySet[Conversation]:
    return unfinished().order_by("opened_at")


def _take_caller_off(some: Sequence[UUID], erasure: str) -> int:
    _catalogs(some).delete()
    BackendToken.objects.filter(conversation__in=some).delete()
    WaitingMessage.objects.filter(conversation__in=some).delete()
    _rename_log(Conversation, some)
    forget_links(list(PhoneLink.objects.filter(conversation__in=some).values_list("pk", flat=True)))
    # Rows that are to go are not kept by who asks for less afterwards.
    chosen = Conversation.objects.filter(pk__in=some)
    chosen.exclude(erasure=Erasure.ROWS).update(erasure=erasure)
    return chosen.update(erased_at=None, **ANONYMOUS)


def _catalogs(conversations: Sequence[UUID]) -> QuerySet[CatalogSnapshot]:
    tokens = BackendToken.objects.filter(conversation__in=conversations)
    return CatalogSnapshot.objects.filter(caller_fingerprint__in=tokens.values("fingerprint"))


def _rename_log(model: type[Model], pks: Sequence[UUID]) -> None:
    """The admin's log names the rows of what operators did, and with them the caller."""
    of_model = ContentType.objects.get_for_model(model)
    entries = LogEntry.objects.filter(content_type=of_model, object_id__in=[str(pk) for pk in pks])
    entries.update(object_repr="erased")


def _parts(conversation: Conversation) -> list[_Part]:
    """Calls before the turns that they belong to."""
    calls, turns = conversation.tool_calls.all(), conversation.turns.all()
    if conversation.erasure == Erasure.ROWS:
        sessions = UpstreamSession.objects.filter(conversation=conversation)
        return [
            _Part(calls, "started_at", None),
            _Part(turns, "index", None),
            _Part(sessions, "opened_at", None),
        ]
    # A model may have put a caller's words into the name of a tool that does not exist.
    invented = Q(code="unknown_tool") & ~Q(name="")
    filled = Q(arguments__isnull=False) | ~Q(excerpt="", argument_digest="")
    payload = {**PAYLOAD, "argument_digest": ""}
    return [
        _Part(calls.filter(filled), "started_at", payload),
        _Part(calls.filter(invented), "started_at", {"name": ""}),
        _Part(turns.exclude(caller_text="", heard_text=""), "index", {"caller_text": "", "heard_text": ""}),
    ]


def _batches(conversation: Conversation) -> Iterator[int]:
    """Each batch in a short transaction, counted; rows that somebody else holds are for the next time."""
    for part in _parts(conversation):
        last: Any = None
        while True:
            with briefly():
                rows = part.rows if last is None else part.rows.filter(**{f"{part.along}__gte": last})
                free = rows.order_by(part.along).select_for_update(skip_locked=True, of=("self",))
                batch = list(free.only("pk", part.along)[:BATCH])
                if not batch:
                    break
                chosen = part.rows.model._default_manager.filter(pk__in=[row.pk for row in batch])
                if part.values is None:
                    chosen.delete()
                else:
                    chosen.update(**part.values)
            last = getattr(batch[-1], part.along)
            yield len(batch)


def _finish(conversation: Conversation, now: datetime) -> int:
    """Marks it erased, or deletes it, once nobody writes to it and nothing is left."""
    mine = Conversation.objects.filter(pk=conversation.pk, state=Conversation.State.CLOSED)
    working = Q(lease_expires_at__gt=now) | Q(turn_lease_expires_at__gt=now)
    at_rest = mine.exclude(working).exclude(closed_at__gt=now - SETTLED)
    with briefly():
        settled = at_rest.select_for_update(skip_locked=True, of=("self",)).only("pk").first()
        if settled is None or any(part.rows.exists() for part in _parts(conversation)):
            return 0
        if conversation.erasure == Erasure.ROWS:
            mine.delete()
        else:
            mine.update(erased_at=now)
    log.info("erasure.finished", conversation=str(conversation.pk), rows=conversation.erasure)
    return 1
