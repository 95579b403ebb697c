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
    """Conversations by the caller's name, by id or its beginning, or by a `ref`."""
    found = Q(caller_name__icontains=term) | Q(id__in=holders_of(plain_ref(term)))
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
    callers = Conversation.objects.filter(caller_name__icontains=term).order_by("-opened_at")
    found = Q(name__startswith=term) | Q(ref=plain_ref(term))
    found |= Q(conversation_id__in=list(callers.values_list("pk", flat=True)[:_FOUND_CALLERS]))
    if span := id_range(term):
        found |= Q(id__range=span) | Q(conversation_id__range=span)
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
        return [(name, name) for name in names]

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
