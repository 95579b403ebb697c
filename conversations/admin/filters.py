"""What the lists can be narrowed by, and how a search finds its rows by index."""

from __future__ import annotations

import re
import uuid
from typing import Any

from django.conf import settings
from django.contrib.admin import SimpleListFilter
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from conversations.admin import words
from conversations.models import Conversation, ToolCall, Turn, UpstreamSession
from tools.contract import FAILURE_CODES
from tools.sentences import TITLES

Choices = list[tuple[str, str]]
# A turn that ended in an apology or an error; a tool call that failed, but not because the caller moved on.
BROKEN_TURN = Q(outcome=Turn.Outcome.FAILED)
BROKEN_CALL = Q(status=ToolCall.Status.FAILED) & ~Q(code__in=words.QUIET_CODES)
# Names are looked up first and by themselves: an OR over a join would read the whole table.
_FOUND_CALLERS = 200


def live() -> Q:
    """The condition of a conversation that some process holds right now."""
    return Q(state=Conversation.State.OPEN, lease_expires_at__gt=timezone.now()) & ~Q(owner="")


def plain_ref(term: str) -> str:
    """A reference as it is stored, however it was read out or typed."""
    return re.sub(r"[\s-]", "", term).upper()


def id_range(term: str) -> tuple[uuid.UUID, uuid.UUID] | None:
    """The first and last id that begin with these hexadecimal digits, at least four of them."""
    digits = term.strip().replace("-", "").lower()
    if not re.fullmatch(r"[0-9a-f]{4,32}", digits):
        return None
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))


def conversations_found(term: str) -> Q:
    """Conversations by the caller's name or id at the backend, by id or its beginning, or by a `ref`."""
    found = Q(caller_name__icontains=term) | Q(backend_user_id=term) | Q(id__in=holders_of(plain_ref(term)))
    if span := id_range(term):
        found |= Q(id__range=span)
    return found


def holders_of(ref: str) -> set[uuid.UUID]:
    """The conversations that have this `ref` in a turn or a tool call."""
    if not ref:
        return set()
    turns = Turn.objects.filter(ref=ref).order_by().values_list("conversation_id", flat=True)
    calls = ToolCall.objects.filter(ref=ref).order_by().values_list("conversation_id", flat=True)
    return {*turns, *calls}


def calls_found(term: str) -> Q:
    """Tool calls by the tool's name, the caller's, the call's or conversation's id, or by `ref`."""
    named = Q(caller_name__icontains=term) | Q(backend_user_id=term)
    callers = Conversation.objects.filter(named).order_by("-opened_at")
    found = Q(name__startswith=term) | Q(ref=plain_ref(term))
    found |= Q(conversation_id__in=list(callers.values_list("pk", flat=True)[:_FOUND_CALLERS]))
    if span := id_range(term):
        found |= Q(id__range=span) | Q(conversation__gte=span[0], conversation__lte=span[1])
    return found


class StateFilter(SimpleListFilter):
    """Live, open or closed."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [("live", "Live now"), ("open", "Open"), ("closed", "Closed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        if self.value() == "live":
            return queryset.filter(live())
        if self.value() in ("open", "closed"):
            return queryset.filter(state=self.value())
        return queryset


class TroubleFilter(SimpleListFilter):
    """Conversations in which something failed."""

    title = "trouble"
    parameter_name = "trouble"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [("any", "Something failed"), ("turn", "A turn failed"), ("tool", "A tool call failed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        turn = Exists(Turn.objects.filter(BROKEN_TURN, conversation=OuterRef("pk")))
        call = Exists(ToolCall.objects.filter(BROKEN_CALL, conversation=OuterRef("pk")))
        conditions = {"any": Q(turn) | Q(call), "turn": Q(turn), "tool": Q(call)}
        return queryset.filter(conditions[self.value() or ""]) if self.value() in conditions else queryset


class RatingFilter(SimpleListFilter):
    """What the caller thought of one of the answers."""

    title = "rating"
    parameter_name = "rating"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(rating, f"An answer rated {rating}") for rating in Turn.Rating.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        if self.value() not in Turn.Rating.values:
            return queryset
        rated = Turn.objects.filter(rating=self.value()).order_by()
        return queryset.filter(pk__in=rated.values("conversation"))


class OriginFilter(SimpleListFilter):
    """How the caller asked in one of the turns."""

    title = "asked"
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(origin, said.capitalize()) for origin, said in words.ORIGINS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        if self.value() not in words.ORIGINS:
            return queryset
        return queryset.filter(Exists(Turn.objects.filter(conversation=OuterRef("pk"), origin=self.value())))


class DialectFilter(SimpleListFilter):
    """What the speech service spoke in one of the conversation's sessions."""

    title = "dialect"
    parameter_name = "dialect"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return list(words.DIALECTS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        if not self.value():
            return queryset
        sessions = UpstreamSession.objects.filter(conversation=OuterRef("pk"), dialect=self.value())
        return queryset.filter(Exists(sessions))


class ToolFilter(SimpleListFilter):
    """The configured tools by name; a model's invented names are found by the search."""

    title = "tool"
    parameter_name = "name"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        names = [*settings.VOCERO.mcp_tools, *settings.VOCERO.browser_tools]
        asked = self.value()
        # A link may ask for a tool that is not configured: a brain's, or one that the model made up.
        return [(name, name) for name in ([*names, asked] if asked and asked not in names else names)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        return queryset.filter(name=self.value()) if self.value() else queryset


class SourceFilter(SimpleListFilter):
    """Where the tool lives."""

    title = "source"
    parameter_name = "source"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [*TITLES.items(), ("none", "not run")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        if not self.value():
            return queryset
        return queryset.filter(source="" if self.value() == "none" else self.value())


class CodeFilter(SimpleListFilter):
    """The failure code."""

    title = "code"
    parameter_name = "code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(code, code) for code in sorted(FAILURE_CODES)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        return queryset.filter(code=self.value()) if self.value() else queryset


class DurationFilter(SimpleListFilter):
    """How long the tool took."""

    title = "took"
    parameter_name = "took"
    # In milliseconds: from, to.
    buckets = {
        "quick": ("Under 0.3 s", 0, 300),
        "usual": ("0.3 to 1 s", 300, 1_000),
        "slow": ("1 to 5 s", 1_000, 5_000),
        "very-slow": ("5 s and more", 5_000, 2**31 - 1),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(key, said) for key, (said, _, _) in self.buckets.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        if self.value() not in self.buckets:
            return queryset
        _, least, below = self.buckets[self.value() or ""]
        return queryset.filter(duration_ms__gte=least, duration_ms__lt=below)


class CallerFilter(SimpleListFilter):
    """One caller, by their id at the backend; a page of a conversation links here."""

    title = "caller"
    parameter_name = "caller"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(self.value() or "", self.value() or "")] if self.value() else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        return queryset.filter(conversation__backend_user_id=self.value()) if self.value() else queryset
