"""How tool calls and turns ended, as the lists and the dashboard tell it apart."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from conversations.admin import words
from conversations.admin.filters import BROKEN_CALL
from conversations.models import ToolCall, Turn

# Ends of attempts whose tool never ran.
REFUSED = (
    "unknown_tool",
    "invalid_arguments",
    "malformed_selection",
    "duplicate_call",
    "call_limit",
    "result_budget",
    "confirmation_declined",
    "confirmation_timeout",
)
CALL_OUTCOMES = {
    "failed": BROKEN_CALL,
    "refused": Q(status=ToolCall.Status.FAILED, code__in=REFUSED),
    "stopped": Q(status=ToolCall.Status.FAILED, code__in=words.QUIET_CODES),
}
# From the end of the caller's words, or of the question where none were heard, to the first of the answer.
WAIT = F("answered_at") - Coalesce("caller_done_at", "started_at")
SPOKEN = Q(origin=Turn.Origin.VOICE, answered_at__isnull=False, caller_done_at__isnull=False)
WRITTEN = ~Q(origin=Turn.Origin.VOICE) & Q(answered_at__isnull=False)
_LONGEST_MS = 3_600_000


class CallOutcomeFilter(SimpleListFilter):
    """Whether it failed, was refused, or was stopped because the caller went on."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("failed", "Failed"),
            ("refused", "Refused before it ran"),
            ("stopped", "Stopped by the caller"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        condition = CALL_OUTCOMES.get(self.value() or "")
        return queryset if condition is None else queryset.filter(condition)


class TurnCodeFilter(SimpleListFilter):
    """Why a turn failed."""

    title = "code"
    parameter_name = "code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*((code, code) for code in sorted(words.TURN_CODES)), ("none", "no code")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Turn]) -> QuerySet[Turn]:
        if not self.value():
            return queryset
        return queryset.filter(code="" if self.value() == "none" else self.value())


class OriginFilter(SimpleListFilter):
    """How the caller asked."""

    title = "asked"
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("voice", "Spoken"), ("written", "Typed or over HTTP")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Turn]) -> QuerySet[Turn]:
        spoken = Q(origin=Turn.Origin.VOICE)
        known = {"voice": spoken, "written": ~spoken}
        return queryset.filter(known[self.value() or ""]) if self.value() in known else queryset


class WaitFilter(SimpleListFilter):
    """How long the caller waited for the answer at least, in milliseconds."""

    title = "wait"
    parameter_name = "wait"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        choices = [("1000", "1 s and more"), ("2000", "2 s and more"), ("5000", "5 s and more")]
        asked = self.value() or ""
        # The dashboard asks for other numbers, too.
        return choices if asked in ("", *dict(choices)) else [(asked, f"{asked} ms and more"), *choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Turn]) -> QuerySet[Turn]:
        asked = self.value() or ""
        if not asked.isascii() or not asked.isdigit():
            return queryset
        least = timedelta(milliseconds=min(int(asked[:9]), _LONGEST_MS))
        known = queryset.filter(SPOKEN | WRITTEN)
        return known.annotate(wait=WAIT).filter(wait__gte=least) if least else known
