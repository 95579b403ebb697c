"""Who a privacy request may mean: callers by name, and by phone as far as phones are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet

from conversations.identity import vault
from conversations.models import Conversation, PhoneLink

MOST = 50


@dataclass(frozen=True, slots=True)
class Known:
    """One caller as the backend knows them."""

    backend_user_id: str
    name: str
    conversations: int
    last_seen_at: datetime

    def as_json(self) -> dict[str, object]:
        """The fields as JSON takes them."""
        return {**asdict(self), "last_seen_at": self.last_seen_at.isoformat()}


@dataclass(frozen=True, slots=True)
class OfPhone:
    """What a phone may have left here: exactly known is only the first, the rest by its last four digits.

    `unused` and `others` are links, `nameless` conversations whose caller the backend did not name.
    """

    unused: Sequence[UUID]
    others: int
    callers: Sequence[Known]
    nameless: Sequence[UUID]


def of_phone(phone: str) -> OfPhone:
    """Everything that a privacy request for this number may mean; the number comes normalised."""
    ending, unused = phone[-4:], unused_links(phone)
    others = PhoneLink.objects.filter(phone_ending=ending).exclude(pk__in=unused)
    behind = Conversation.objects.filter(phone_links__phone_ending=ending, backend_user_id="")
    nameless = behind.order_by("-opened_at").values_list("pk", flat=True).distinct()
    return OfPhone(unused, others.count(), with_phone_ending(ending), list(nameless[:MOST]))


def named(part: str) -> list[Known]:
    """The callers with this in their name, those who called last first; of anonymous ones there are none."""
    return _known(Q(caller_name__icontains=part))


def with_phone_ending(ending: str) -> list[Known]:
    """The callers who used a phone link with these last digits, with all of their conversations."""
    behind = Conversation.objects.filter(phone_links__phone_ending=ending).values("backend_user_id")
    return _known(Q(backend_user_id__in=behind))


def unused_links(phone: str) -> Sequence[UUID]:
    """The links made for exactly this phone that nobody has used: only these still hold the phone."""
    waiting: QuerySet[PhoneLink] = PhoneLink.objects.exclude(phone_ciphertext="")
    return [link.pk for link in waiting.iterator() if _holds(link, phone)]


def _known(condition: Q) -> list[Known]:
    found = Conversation.objects.filter(condition).exclude(backend_user_id="").order_by()
    callers = found.values("backend_user_id").annotate(
        name=Min("caller_name"), conversations=Count("pk"), last_seen_at=Max("last_seen_at")
    )
    return [Known(**each) for each in callers.order_by("-last_seen_at")[:MOST]]


def _holds(link: PhoneLink, phone: str) -> bool:
    try:
        return vault.unseal(link.phone_ciphertext, bound_to=str(link.pk)) == phone
    except vault.Unreadable:
        return False
