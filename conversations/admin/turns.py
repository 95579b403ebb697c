"""The list of turns of all conversations; the page of one is its place on its conversation's page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from unfold.decorators import display

from conversations.admin import words
from conversations.admin.charts import took
from conversations.admin.outcomes import OriginFilter, TurnCodeFilter, WaitFilter
from conversations.admin.tool_calls import TONES, name_of
from conversations.admin.troubles import page_of
from conversations.models import Turn
from tools.admin import ReadOnlyAdmin, moment

_SHOWN = (
    "index",
    "origin",
    "outcome",
    "code",
    "ref",
    "rating",
    "started_at",
    "caller_done_at",
    "answered_at",
    "ended_at",
)


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    """Every turn without its words; whoever may see conversations may see them."""

    empty_words = "No turn yet. The first one shows up here as soon as a caller says something."
    list_display = ("started", "asked", "outcome_word", "why", "waited", "caller", "rated", "reference")
    list_filter = (OriginFilter, "outcome", TurnCodeFilter, WaitFilter, "rating", "started_at")
    search_fields = ("ref",)
    search_help_text = "Ref"
    sortable_by = ("started",)
    ordering = ("-started_at",)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("conversations.view_conversation")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Turn]:
        rows: QuerySet[Turn] = super().get_queryset(request)
        return rows.defer("caller_text", "heard_text")

    def listed(self, rows: QuerySet[Turn]) -> QuerySet[Turn]:
        return rows.select_related("conversation").only(*_SHOWN, "conversation__caller_name")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Turn], search_term: str
    ) -> tuple[QuerySet[Turn], bool]:
        term = search_term.strip()
        return queryset.filter(ref=term.upper()) if term else queryset, False

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        """Leads to the turn on the page of its conversation; raises PermissionDenied."""
        if object_id is None or request.method != "GET" or not self.has_view_permission(request):
            raise PermissionDenied
        turn = self.get_object(request, unquote(object_id))
        if turn is None:
            leave: HttpResponse = self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
            return leave
        return HttpResponseRedirect(place_of(turn))

    @display(description="Started (UTC)", ordering="started_at")
    def started(self, row: Turn) -> str:
        return moment(row.started_at)

    @display(description="Asked")
    def asked(self, row: Turn) -> str:
        return words.ORIGINS.get(row.origin, row.origin)

    @display(description="Outcome", label=TONES)
    def outcome_word(self, row: Turn) -> tuple[str, str]:
        word, tone, _ = words.TURN_OUTCOMES.get(row.outcome, (row.outcome, "quiet", ""))
        return tone, word

    @display(description="Code")
    def why(self, row: Turn) -> str:
        return row.code.replace("_", " ") or "—"

    @display(description="Waited")
    def waited(self, row: Turn) -> str:
        if row.answered_at is None:
            return "—"
        since = row.caller_done_at or row.started_at
        return took(max((row.answered_at - since).total_seconds() * 1000, 0))

    @display(description="Caller")
    def caller(self, row: Turn) -> str:
        return format_html(
            '<a class="vo-clip vo-short" href="{}">{}</a>', place_of(row), name_of(row.conversation)
        )

    @display(description="Rated")
    def rated(self, row: Turn) -> str:
        return row.rating or "—"

    @display(description="Ref")
    def reference(self, row: Turn) -> str:
        return row.ref or "—"


def place_of(turn: Turn) -> str:
    """Where the turn is on the page of its conversation."""
    page = reverse("admin:conversations_conversation_change", args=[turn.conversation_id])
    return f"{page}?page={page_of(turn.index)}#turn-{turn.index}"
