"""Callers' session tokens, erased before their time."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from django.db.models import QuerySet
from django.utils import timezone

from conversations import lifecycle
from conversations.models import BackendToken, Conversation

log = structlog.get_logger(__name__)

OPERATOR = Conversation.CloseReason.OPERATOR.value


@dataclass(frozen=True, slots=True)
class Erased:
    """How many session tokens are, or would be, erased, and how many open conversations end with theirs."""

    tokens: int
    ended: int


def concerned(conversations: QuerySet[Conversation]) -> Erased:
    """What `erase` would do now."""
    still_open = conversations.filter(state=Conversation.State.OPEN)
    return Erased(_kept(conversations).count(), _kept(still_open).count())


def erase(conversations: QuerySet[Conversation]) -> Erased:
    """Erases the tokens; an open conversation ends with its own, as it does wherever one is erased."""
    kept = list(_kept(conversations).values_list("conversation", flat=True))
    ended = sum(lifecycle.close(str(each), OPERATOR) for each in kept)
    left = BackendToken.objects.filter(conversation__in=kept).exclude(ciphertext="")
    left.update(ciphertext="", erased_at=timezone.now())
    log.info("tokens.erased", tokens=len(kept), ended=ended)
    return Erased(len(kept), ended)


def of_caller(backend_user_id: str) -> QuerySet[Conversation]:
    """The conversations of one caller, by their id at the backend; none for nobody."""
    known = Conversation.objects.filter(backend_user_id=backend_user_id)
    return known if backend_user_id else known.none()


def _kept(conversations: QuerySet[Conversation]) -> QuerySet[BackendToken]:
    chosen = conversations.order_by().values("pk")
    return BackendToken.objects.filter(conversation__in=chosen).exclude(ciphertext="").order_by("pk")
