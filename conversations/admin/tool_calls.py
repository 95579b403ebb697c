"""The list of tool calls and the page of one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from import_export.resources import Resource
from unfold.decorators import action, display

from conversations.admin import advice, words
from conversations.admin.columns import CallColumns, CallColumnsWithPayloads
from conversations.admin.conversation_page import left_out
from conversations.admin.exports import Exported
from conversations.admin.failures import failures_page
from conversations.admin.filters import (
    CallerFilter,
    CodeFilter,
    DurationFilter,
    SourceFilter,
    ToolFilter,
    calls_found,
)
from conversations.admin.outcomes import CallOutcomeFilter
from conversations.admin.troubles import page_of
from conversations.admin.waterfall import milliseconds
from conversations.contents import PAYLOAD
from conversations.models import Conversation, ToolCall
from tools.admin import moment, pretty, pretty_text, stamp, visible

_NEVER_SHOWN = (
    "conversation__browser_hash",
    "conversation__secret_hash",
    "turn__caller_text",
    "turn__heard_text",
)
TONES = {"good": "success", "bad": "danger", "warn": "warning", "live": "info", "quiet": ""}


@admin.register(ToolCall)
class ToolCallAdmin(Exported):
    """Every attempt to use a tool, refusals included."""

    detail_template = "admin/conversations/toolcall/page.html"
    empty_words = "No tool has been called yet."
    list_display = ("started", "tool", "outcome", "took", "origin", "caller", "reference")
    list_filter = (
        CallerFilter,
        ToolFilter,
        SourceFilter,
        "selection",
        "status",
        CallOutcomeFilter,
        CodeFilter,
        DurationFilter,
        "started_at",
    )
    search_fields = ("id",)
    search_help_text = "Tool, caller, id or ref"
    sortable_by = ("started",)
    actions_list = ("failures",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolCall]:
        rows: QuerySet[ToolCall] = super().get_queryset(request).select_related("conversation", "turn")
        may_see = request.user.has_perm("conversations.read_payloads")
        hidden = _NEVER_SHOWN if may_see else (*_NEVER_SHOWN, *PAYLOAD)
        return rows.defer(*hidden)

    def listed(self, rows: QuerySet[ToolCall]) -> QuerySet[ToolCall]:
        shown = ("name", "source", "selection", "status", "code", "ref", "started_at", "duration_ms")
        of_caller = rows.select_related(None).select_related("conversation")
        return of_caller.only(*shown, "conversation__caller_name")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ToolCall], search_term: str
    ) -> tuple[QuerySet[ToolCall], bool]:
        term = search_term.strip()
        return queryset.filter(calls_found(term)) if term else queryset, False

    def detail(self, request: HttpRequest, obj: ToolCall) -> Mapping[str, object]:
        may_see = request.user.has_perm("conversations.read_payloads")
        outcome, tone = words.call_outcome(obj.status, obj.code)
        return {
            "outcome": outcome,
            "tone": tone,
            "why": words.call_sentence(obj.code),
            "facts": facts(obj),
            "turn_url": turn_url(obj),
            "may_see_payloads": may_see,
            "arguments": visible(pretty(obj.arguments)) if may_see and obj.arguments is not None else None,
            "excerpt": visible(pretty_text(obj.excerpt)) if may_see else "",
            "left_out": left_out(obj) if may_see and obj.excerpt else "",
            "then": advice.for_call(obj.code) if obj.code else "",
        }

    def columns(self, request: HttpRequest) -> type[Resource]:
        may_see = request.user.has_perm("conversations.read_payloads")
        return CallColumnsWithPayloads if may_see else CallColumns

    def get_export_queryset(self, request: HttpRequest) -> QuerySet[ToolCall]:
        rows: QuerySet[ToolCall] = super().get_export_queryset(request)
        return rows.select_related("conversation", "turn")

    @action(permissions=["view"], description="Failures", icon="bar_chart", url_path="failures")
    def failures(self, request: HttpRequest) -> HttpResponse:
        return self.page(
            request, "admin/conversations/toolcall/failures.html", "Failures", failures_page(request)
        )

    @display(description="Started (UTC)", ordering="started_at")
    def started(self, row: ToolCall) -> str:
        return stamp(row.started_at)

    @display(description="Tool")
    def tool(self, row: ToolCall) -> str:
        return format_html('<code class="vo-clip">{}</code>', row.name or "unknown tool")

    @display(description="Outcome", label=TONES)
    def outcome(self, row: ToolCall) -> tuple[str, str]:
        word, tone = words.call_outcome(row.status, row.code)
        return tone, word.replace("_", " ")

    @display(description="Took")
    def took(self, row: ToolCall) -> str:
        took = "—" if row.duration_ms is None else milliseconds(row.duration_ms)
        return format_html('<span class="vo-nowrap">{}</span>', took)

    @display(description="Source and selection")
    def origin(self, row: ToolCall) -> str:
        return f"{row.source or 'not run'} · {row.selection}"

    @display(description="Caller")
    def caller(self, row: ToolCall) -> str:
        url = reverse("admin:conversations_conversation_change", args=[row.conversation_id])
        return format_html('<a class="vo-clip vo-short" href="{}">{}</a>', url, name_of(row.conversation))

    @display(description="Ref")
    def reference(self, row: ToolCall) -> str:
        return row.ref or "—"


def name_of(conversation: Conversation) -> str:
    """The caller's name as the lists show it."""
    return conversation.caller_name or "Anonymous"


def turn_url(call: ToolCall) -> str:
    """Where the call's turn is on the page of its conversation."""
    page = reverse("admin:conversations_conversation_change", args=[call.conversation_id])
    return f"{page}?page={page_of(call.turn.index)}#turn-{call.turn.index}"


def approval(asked: datetime, approved: datetime) -> str:
    """When the caller tapped yes, and how long the tool waited for it."""
    waited = milliseconds((approved - asked).total_seconds() * 1000)
    return f"{moment(approved)}, after {waited}"


def facts(call: ToolCall) -> list[tuple[str, str]]:
    """What the audit row holds besides its payloads; all times are UTC."""
    size = f"{call.result_chars:,} characters" + (", shortened" if call.truncated else "")
    return [
        ("Caller", name_of(call.conversation)),
        ("Source", call.source or "not run, so none"),
        ("Picked by", words.SELECTIONS.get(call.selection, call.selection)),
        ("Attempt in its turn", str(call.sequence)),
        ("Started", stamp(call.started_at)),
        *(
            [("Approved by the caller", approval(call.started_at, call.approved_at))]
            if call.approved_at
            else []
        ),
        ("Ended", stamp(call.ended_at)),
        ("Took", "—" if call.duration_ms is None else milliseconds(call.duration_ms)),
        ("Sent to the model", size),
        ("Generation", str(call.generation)),
        ("Ref", call.ref or "—"),
    ]
