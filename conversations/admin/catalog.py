"""The tools that each caller was offered: whole schemas, what changed, and asking for them anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.db.models import F, Func, IntegerField, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html
from unfold.decorators import action, display

from conversations import refreshing
from conversations.admin import catalog_refresh
from conversations.admin.json_diff import DiffLine, diff
from tools import sentences
from tools.admin import ReadOnlyAdmin, moment, pretty, visible
from tools.models import CatalogSnapshot

# A page with more than this is read by nobody, and takes a browser seconds.
PAGE_CHARS = 400_000
MOST_CHANGES = 40


class ArrayLength(Func):
    """How many members a JSON array has, counted in the database."""

    function = "jsonb_array_length"
    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, Any]:
        return super().as_sql(compiler, connection, function="json_array_length", **extra)


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool of the catalog as an operator reads it; the schemas are indented JSON.

    With `left_out` the page was full before it; its schemas are on a page of their own.
    """

    name: str
    description: str
    parameters: str = ""
    output_schema: str = ""
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One tool that is `added`, `removed` or `changed` since the catalog before, with its diff."""

    name: str
    kind: str
    tone: str
    lines: Sequence[DiffLine] = ()


def shown_tools(tools: Sequence[Mapping[str, Any]], room: int) -> list[ShownTool]:
    """What a snapshot's tools look like on its page, whole schemas as long as there is room."""
    shown = []
    for tool in tools:
        one = _shown(tool)
        room -= len(one.description) + len(one.parameters) + len(one.output_schema)
        shown.append(one if room >= 0 else ShownTool(one.name, one.description[:160], left_out=True))
    return shown


def _shown(tool: Mapping[str, Any]) -> ShownTool:
    return ShownTool(
        name=str(tool.get("name", "")),
        description=visible(str(tool.get("description") or "")),
        parameters=visible(pretty(tool.get("parameters"))),
        output_schema=visible(pretty(tool["output_schema"])) if tool.get("output_schema") else "",
    )


def changes(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[Change]:
    """What is added, removed or changed between two lists of tools, by name."""
    old, new = ({str(tool.get("name", "")): tool for tool in tools} for tools in (before, now))
    added = [Change(name, "added", "good") for name in sorted(new.keys() - old.keys())]
    removed = [Change(name, "removed", "bad") for name in sorted(old.keys() - new.keys())]
    both = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
    return [*added, *removed, *(Change(name, "changed", "warn", diff(old[name], new[name])) for name in both)]


class DiscoveryFilter(SimpleListFilter):
    """How the last discovery went, and whether it still counts."""

    title = "state"
    parameter_name = "discovery"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        states = [("fresh", "Fresh"), ("expired", "Expired"), ("failed", "Failed")]
        return [*states, ("changed", "Changed since it was first fetched")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        now = timezone.now()
        rows = {
            "fresh": queryset.filter(expires_at__gt=now),
            "expired": queryset.filter(expires_at__lte=now),
            "failed": queryset.exclude(last_error=""),
            "changed": queryset.filter(changed_at__isnull=False),
        }
        return rows.get(self.value() or "", queryset)


@admin.register(CatalogSnapshot)
class CatalogAdmin(ReadOnlyAdmin):
    """The tools that each caller's credential was offered, with their whole schemas."""

    detail_template = "admin/tools/catalogsnapshot/page.html"
    empty_words = "No catalog has been fetched yet. The first caller with a session at the backend fills it."
    list_display = ("caller", "source", "offered", "turned_away", "fetched", "changed", "fresh", "error")
    list_filter = (DiscoveryFilter, "source")
    search_fields = ("caller_fingerprint__startswith",)
    search_help_text = "Fingerprint's first letters"
    sortable_by = ("fetched", "changed")
    actions = ("refresh_selected",)
    actions_list = ("refresh_all",)

    def get_urls(self) -> list[Any]:
        one = self.admin_site.admin_view(self.refresh_one)
        address = "<int:catalog_id>/refresh/"
        return [path(address, one, name="tools_catalogsnapshot_refresh"), *super().get_urls()]

    def listed(self, rows: QuerySet[CatalogSnapshot]) -> QuerySet[CatalogSnapshot]:
        return rows.defer("tools", "refused", "previous_tools").annotate(
            offered_count=ArrayLength("tools"), refused_count=ArrayLength("refused")
        )

    def detail(self, request: HttpRequest, obj: CatalogSnapshot) -> Mapping[str, object]:
        wanted = request.GET.get("tool", "")
        chosen = [tool for tool in obj.tools if not wanted or tool.get("name") == wanted]
        changed = changes(obj.previous_tools, obj.tools) if obj.previous_tools is not None else []
        return {
            "tools": shown_tools(chosen, PAGE_CHARS),
            "wanted": wanted,
            "offered": len(obj.tools),
            "changes": changed[:MOST_CHANGES],
            "more_changes": len(changed) - MOST_CHANGES,
            "fetched": moment(obj.fetched_at),
            "expires": moment(obj.expires_at),
            "changed": moment(obj.changed_at),
            "live": refreshing.concerned([obj.caller_fingerprint]).calls,
            "is_fresh": obj.expires_at > timezone.now(),
            "error_words": sentences.for_discovery(obj.last_error, obj.source) if obj.last_error else "",
            "may_refresh": self.has_refresh_permission(request),
        }

    def has_refresh_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("tools.refresh_catalogsnapshot")

    def refresh_one(self, request: HttpRequest, catalog_id: int) -> HttpResponse:
        return catalog_refresh.one(self, request, catalog_id)

    @admin.action(permissions=["refresh"], description="Ask for the selected catalogs' tools anew")
    def refresh_selected(self, request: HttpRequest, rows: QuerySet[CatalogSnapshot]) -> HttpResponse:
        return catalog_refresh.selected(self, request, rows)

    @action(permissions=["refresh"], description="Refresh all", icon="sync", url_path="refresh")
    def refresh_all(self, request: HttpRequest) -> HttpResponse:
        return catalog_refresh.everything(self, request)

    @display(description="Caller's fingerprint")
    def caller(self, row: CatalogSnapshot) -> str:
        return format_html('<span class="vo-mono">{}</span>', row.caller_fingerprint[:12])

    @display(description="Tools")
    def offered(self, row: Any) -> int:
        return int(row.offered_count)

    @display(description="Refused")
    def turned_away(self, row: Any) -> str:
        return str(row.refused_count) if row.refused_count else "—"

    @display(description="Fetched (UTC)", ordering="fetched_at")
    def fetched(self, row: CatalogSnapshot) -> str:
        return moment(row.fetched_at)

    @display(description="Changed (UTC)", ordering=F("changed_at").desc(nulls_last=True))
    def changed(self, row: CatalogSnapshot) -> str:
        return moment(row.changed_at)

    @display(description="State", label={"fresh": "success", "expired": "warning"})
    def fresh(self, row: CatalogSnapshot) -> str:
        return "fresh" if row.expires_at > timezone.now() else "expired"

    @display(description="Last error")
    def error(self, row: CatalogSnapshot) -> str:
        return row.last_error or "—"
