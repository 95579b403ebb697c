"""The list of conversations and what an operator can do with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import path
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from django.utils.http import quote_etag
from import_export.resources import Resource
from unfold.decorators import action, display

from conversations.admin import (
    cleanup_older,
    conversation_actions,
    conversation_export,
    erasing,
    token_actions,
)
from conversations.admin.columns import ConversationColumns
from conversations.admin.conversation_page import conversation_page, state_word
from conversations.admin.exports import Exported
from conversations.admin.filters import (
    BROKEN_CALL,
    BROKEN_TURN,
    DialectFilter,
    OriginFilter,
    RatingFilter,
    StateFilter,
    TroubleFilter,
    conversations_found,
)
from conversations.models import Conversation, ToolCall, Turn
from tools.admin import stamp


def counts_of(rows: QuerySet[Any], broken: Q, page: Sequence[Conversation]) -> dict[UUID, tuple[int, int]]:
    """For each conversation of a page, how many of these rows it has and how many of them are broken."""
    mine = rows.filter(conversation__in=[row.pk for row in page]).order_by().values("conversation")
    counted = mine.annotate(all=Count("pk"), broken=Count("pk", filter=broken))
    return {each["conversation"]: (each["all"], each["broken"]) for each in counted}


@admin.register(Conversation)
class ConversationAdmin(Exported):
    """Every caller's conversations; ending them is the one thing that can be done."""

    detail_template = "admin/conversations/conversation/page.html"
    unfound_words = (
        "Is it a reference of eight digits and letters from a to f? Then it is that of a request which was "
        "refused before there was a conversation; the log has it as the beginning of a request_id."
    )
    empty_words = "No conversation yet. The first one shows up here as soon as a caller opens the page."
    list_display = (
        "caller",
        "status",
        "tools_mode",
        "ended",
        "turn_count",
        "call_count",
        "failures",
        "last_activity",
        "opened",
    )
    list_filter = (
        StateFilter,
        TroubleFilter,
        RatingFilter,
        "mode",
        "close_reason",
        OriginFilter,
        DialectFilter,
        "opened_at",
    )
    search_fields = ("id",)
    search_help_text = "Caller's name, any id, or ref"
    sortable_by = ("opened",)
    actions = ("end_selected", "clean_up_selected", "erase_tokens", "erase_selected")
    actions_list = ("cleanup", "cleanup_older")

    def get_urls(self) -> list[Any]:
        end = self.admin_site.admin_view(self.end)
        erase = self.admin_site.admin_view(self.erase)
        live = self.admin_site.admin_view(self.live)
        export = self.admin_site.admin_view(self.export)
        token = self.admin_site.admin_view(self.erase_token)
        caller = self.admin_site.admin_view(self.erase_caller_tokens)
        return [
            path("<uuid:conversation_id>/erase-token/", token, name="conversations_conversation_erase_token"),
            path(
                "<uuid:conversation_id>/erase-caller-tokens/",
                caller,
                name="conversations_conversation_erase_caller_tokens",
            ),
            path("<uuid:conversation_id>/export/", export, name="conversations_conversation_export_one"),
            path("<uuid:conversation_id>/end/", end, name="conversations_conversation_end"),
            path("<uuid:conversation_id>/erase/", erase, name="conversations_conversation_erase"),
            path("<uuid:conversation_id>/live/", live, name="conversations_conversation_live"),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        rows: QuerySet[Conversation] = super().get_queryset(request)
        return rows.defer("browser_hash", "secret_hash")

    def completed(self, page: list[Any]) -> list[Any]:
        turns = counts_of(Turn.objects.all(), BROKEN_TURN, page)
        calls = counts_of(ToolCall.objects.all(), BROKEN_CALL, page)
        for row in page:
            row.turns_made, row.turns_failed = turns.get(row.pk, (0, 0))
            row.calls_made, row.calls_failed = calls.get(row.pk, (0, 0))
        return page

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Conversation], search_term: str
    ) -> tuple[QuerySet[Conversation], bool]:
        term = search_term.strip()
        return queryset.filter(conversations_found(term)) if term else queryset, False

    def detail(self, request: HttpRequest, obj: Conversation) -> Mapping[str, object]:
        return conversation_page(request, obj)

    def columns(self, request: HttpRequest) -> type[Resource]:
        return ConversationColumns

    def export(self, request: HttpRequest, conversation_id: UUID) -> HttpResponseBase:
        return conversation_export.export(self, request, conversation_id)

    def live(self, request: HttpRequest, conversation_id: UUID) -> HttpResponseBase:
        """The part of the page that changes while the call goes on; 304 where it did not."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_queryset(request).filter(pk=conversation_id).first()
        if row is None:
            raise Http404
        context = {"original": row, "back": self.get_preserved_filters(request), **self.detail(request, row)}
        # Without the request: its messages belong to the page that is opened next.
        body = render_to_string("admin/conversations/conversation/live.html", context)
        etag = quote_etag(sha256(body.encode()).hexdigest())
        fresh = HttpResponse(body, headers={"ETag": etag})
        return get_conditional_response(request, etag=etag, response=fresh) or fresh

    def has_erase_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(erasing.PERMISSION)

    def has_end_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("conversations.end_conversation")

    def has_cleanup_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("conversations.run_cleanup")

    def end(self, request: HttpRequest, conversation_id: UUID) -> HttpResponse:
        return conversation_actions.end_one(self, request, conversation_id)

    def erase(self, request: HttpRequest, conversation_id: UUID) -> HttpResponse:
        return erasing.erase_one(self, request, conversation_id)

    @admin.action(permissions=["erase"], description="Erase what is known of the selected")
    def erase_selected(self, request: HttpRequest, rows: QuerySet[Conversation]) -> HttpResponse | None:
        return erasing.erase_selected(self, request, rows)

    @admin.action(permissions=["end"], description="End the selected conversations")
    def end_selected(self, request: HttpRequest, rows: QuerySet[Conversation]) -> HttpResponse | None:
        return conversation_actions.end_selected(self, request, rows)

    @admin.action(permissions=["cleanup"], description="Clean up the selected conversations")
    def clean_up_selected(self, request: HttpRequest, rows: QuerySet[Conversation]) -> HttpResponse:
        return conversation_actions.clean_up_selected(self, request, rows)

    def has_erase_token_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(token_actions.PERMISSION)

    def erase_token(self, request: HttpRequest, conversation_id: UUID) -> HttpResponse:
        return token_actions.of_one(self, request, conversation_id)

    def erase_caller_tokens(self, request: HttpRequest, conversation_id: UUID) -> HttpResponse:
        return token_actions.of_caller(self, request, conversation_id)

    @admin.action(permissions=["erase_token"], description="Erase the session tokens of the selected")
    def erase_tokens(self, request: HttpRequest, rows: QuerySet[Conversation]) -> HttpResponse:
        return token_actions.of_selected(self, request, rows)

    @action(permissions=["cleanup"], description="Older than…", icon="history", url_path="cleanup-older")
    def cleanup_older(self, request: HttpRequest) -> HttpResponse:
        return cleanup_older.older(self, request)

    @action(permissions=["cleanup"], description="Clean up", icon="cleaning_services", url_path="cleanup")
    def cleanup(self, request: HttpRequest) -> HttpResponse:
        return conversation_actions.clean_up(self, request)

    @display(description="Caller")
    def caller(self, row: Conversation) -> str:
        return format_html(
            '<span class="vo-clip">{}</span><span class="vo-mono vo-soft vo-under">{}</span>',
            row.caller_name or "Anonymous",
            str(row.id)[:8],
        )

    @display(description="State", label={"live": "success", "open": "info", "closed": ""})
    def status(self, row: Conversation) -> str:
        return state_word(row)

    @display(description="Tools")
    def tools_mode(self, row: Conversation) -> str:
        return row.mode

    @display(description="Turns")
    def turn_count(self, row: Any) -> int:
        return int(row.turns_made)

    @display(description="Tool calls")
    def call_count(self, row: Any) -> int:
        return int(row.calls_made)

    @display(description="Failed")
    def failures(self, row: Any) -> str:
        parts = [(row.turns_failed, "turn"), (row.calls_failed, "call")]
        said = ", ".join(f"{count} {what}{'s' if count > 1 else ''}" for count, what in parts if count)
        return format_html('<span class="vo-tone-bad vo-nowrap">{}</span>', said) if said else "—"

    @display(description="Last activity (UTC)")
    def last_activity(self, row: Conversation) -> str:
        return stamp(row.last_seen_at)

    @display(description="Opened (UTC)", ordering="opened_at")
    def opened(self, row: Conversation) -> str:
        return stamp(row.opened_at)

    @display(description="Closed because")
    def ended(self, row: Conversation) -> str:
        return row.close_reason.replace("_", " ") or "—"
