"""One turn over HTTP at a time, in all processes and beside the live call; and what apps send to it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from conversations import nudging, storage
from conversations.models import Conversation, Turn, WaitingMessage

LEASE = timedelta(seconds=15)
MOST_WAITING = 32


def enter(conversation_id: str, key: str) -> bool:
    """Begins the turn of that key; False where another runs, spoken ones too, or the conversation is over."""
    now = timezone.now()
    spoken = Turn.objects.filter(conversation=OuterRef("pk"), outcome=Turn.Outcome.RUNNING)
    in_call = Q(lease_expires_at__gt=now) & Exists(spoken.exclude(origin=Turn.Origin.HTTP))
    free = Q(turn_lease_expires_at=None) | Q(turn_lease_expires_at__lte=now)
    with transaction.atomic():
        _hold(conversation_id)
        entered = (
            _open(conversation_id)
            .filter(free, ~in_call, expires_at__gt=now)
            .update(turn_key=key, turn_lease_expires_at=now + LEASE, last_seen_at=now)
        )
        if entered:
            WaitingMessage.objects.filter(conversation_id=conversation_id).delete()
            left = Turn.objects.filter(conversation_id=conversation_id, origin=Turn.Origin.HTTP)
            # A process that was killed left it so: no other can run beside this one.
            left.filter(outcome=Turn.Outcome.RUNNING).update(
                outcome=Turn.Outcome.FAILED, code="connection_lost", ended_at=now
            )
    return bool(entered)


def keep(conversation_id: str, key: str) -> str:
    """Renews the turn's lease; else why it is to end: `cancelled` where the caller has gone on."""
    now = timezone.now()
    held = _open(conversation_id)
    if held.filter(turn_key=key).update(turn_lease_expires_at=now + LEASE, last_seen_at=now):
        return ""
    return "cancelled" if held.exists() else "conversation_closed"


def make_room(conversation_id: str) -> bool:
    """A turn of the live call is in the record: one over HTTP, in whatever process, is to end.

    It has its lease until it has ended. False where there is none.
    """
    with transaction.atomic():
        _hold(conversation_id)
        running = _open(conversation_id).filter(turn_lease_expires_at__gt=timezone.now())
        found = running.exclude(turn_key="").update(turn_key="")
        if found:
            transaction.on_commit(partial(nudging.nudge, conversation_id))
    return bool(found)


def leave(conversation_id: str, key: str) -> None:
    """The turn is over; the next may enter. Without a key it was one that made room."""
    held = Conversation.objects.filter(pk=conversation_id, turn_key__in=[key, ""])
    if held.update(turn_key="", turn_lease_expires_at=None):
        WaitingMessage.objects.filter(conversation_id=conversation_id).delete()


def send(conversation_id: str, body: Mapping[str, Any]) -> str:
    """Leaves a message for the running turn, in whatever process; `no_turn` or `full` where it cannot be."""
    now = timezone.now()
    with transaction.atomic():
        running = _open(conversation_id).filter(turn_lease_expires_at__gt=now)
        if not running.exists():
            return "no_turn"
        if WaitingMessage.objects.filter(conversation_id=conversation_id).count() >= MOST_WAITING:
            return "full"
        stored = storage.storable(dict(body))
        WaitingMessage.objects.create(conversation_id=conversation_id, body=stored, sent_at=now)
        transaction.on_commit(partial(nudging.nudge, conversation_id))
    return ""


def take(conversation_id: str) -> list[Mapping[str, Any]]:
    """The messages that wait, oldest first, each once."""
    with transaction.atomic():
        waiting = list(WaitingMessage.objects.filter(conversation_id=conversation_id).order_by("pk"))
        WaitingMessage.objects.filter(pk__in=[one.pk for one in waiting]).delete()
    return [one.body for one in waiting]


def _hold(conversation_id: str) -> None:
    """Whoever comes at the same moment waits: each then sees what the other wrote."""
    list(Conversation.objects.select_for_update(no_key=True).filter(pk=conversation_id).values_list("pk"))


def _open(conversation_id: str) -> QuerySet[Conversation]:
    return Conversation.objects.filter(pk=conversation_id, state=Conversation.State.OPEN)
