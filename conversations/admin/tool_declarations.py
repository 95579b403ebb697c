"""How tools were declared over time: what changed, as a diff, and the approval of a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import SimpleListFilter
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from unfold.decorators import display

from conversations.admin.json_diff import diff
from conversations.admin.log import note
from tools.admin import ReadOnlyAdmin, moment, pretty, visible
from tools.models import ToolDeclaration


class WaitingFilter(SimpleListFilter):
    """Changes that wait for an operator, or what is approved."""

    title = "approval"
    parameter_name = "approved"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "waits for approval"), ("yes", "approved")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in ("no", "yes"):
            return queryset.filter(approved_at__isnull=self.value() == "no")
        return queryset


@admin.register(ToolDeclaration)
class ToolDeclarationAdmin(ReadOnlyAdmin):
    """Each description and schema that a tool ever had here, newest first."""

    detail_template = "admin/tools/tooldeclaration/page.html"
    empty_words = "No tool was declared yet. The first caller with a session at the backend brings them."
    list_display = ("tool", "source", "state", "first_seen", "last_seen", "approval")
    list_filter = (WaitingFilter, "source")
    search_fields = ("name__startswith",)
    search_help_text = "Tool's name"
    sortable_by = ("first_seen",)

    def get_urls(self) -> list[Any]:
        approve = self.admin_site.admin_view(self.approve)
        address = "<int:declaration_id>/approve/"
        return [path(address, approve, name="tools_tooldeclaration_approve"), *super().get_urls()]

    def listed(self, rows: QuerySet[ToolDeclaration]) -> QuerySet[ToolDeclaration]:
        return rows.defer("declaration")

    def detail(self, request: HttpRequest, obj: ToolDeclaration) -> Mapping[str, object]:
        earlier = before(obj)
        return {
            "facts": [
                ("First seen", f"{moment(obj.first_seen_at)} UTC"),
                ("Last seen", f"{moment(obj.last_seen_at)} UTC"),
                ("Approved", approval(obj)),
                ("Digest", obj.digest),
            ],
            "lines": diff(earlier.declaration, obj.declaration) if earlier else None,
            "earlier": earlier,
            "whole": visible(pretty(obj.declaration)),
            "may_approve": obj.approved_at is None and self.has_approve_permission(request),
        }

    def has_approve_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("tools.approve_tooldeclaration")

    def approve(self, request: HttpRequest, declaration_id: int) -> HttpResponse:
        """Asks once, then approves the change; raises PermissionDenied and Http404."""
        if not self.has_approve_permission(request):
            raise PermissionDenied
        change = ToolDeclaration.objects.filter(pk=declaration_id).first()
        if change is None:
            raise Http404
        back = reverse("admin:tools_tooldeclaration_change", args=[change.pk])
        if request.method == "POST":
            waiting = ToolDeclaration.objects.filter(pk=change.pk, approved_at=None)
            if waiting.update(approved_at=timezone.now(), approved_by=request.user.get_username()):
                note(request, [change], "Approved the change.")
                messages.success(request, f"Approved the change of {change.name}.")
            return HttpResponseRedirect(back)
        context = {
            "question": f"Approve the change of {change.name}?",
            "lines": [
                "Where changed tools are held back (S2S_CATALOG_PINNED), calls that begin from now on are "
                "offered it again, as it is declared now."
            ],
            "button": "Yes, approve",
            "cancel": back,
        }
        return self.page(request, "admin/confirm.html", "Approve a change", context)

    @display(description="Tool")
    def tool(self, row: ToolDeclaration) -> str:
        return row.name

    @display(description="State", label={"approved": "success", "waits": "warning"})
    def state(self, row: ToolDeclaration) -> str:
        return "waits" if row.approved_at is None else "approved"

    @display(description="First seen (UTC)", ordering="first_seen_at")
    def first_seen(self, row: ToolDeclaration) -> str:
        return moment(row.first_seen_at)

    @display(description="Last seen (UTC)")
    def last_seen(self, row: ToolDeclaration) -> str:
        return moment(row.last_seen_at)

    @display(description="Approved")
    def approval(self, row: ToolDeclaration) -> str:
        return approval(row)


def approval(row: ToolDeclaration) -> str:
    """Who approved it and when."""
    if row.approved_at is None:
        return "waits for an operator"
    return (
        f"{moment(row.approved_at)} by {row.approved_by}" if row.approved_by else "taken as it was at first"
    )


def before(row: ToolDeclaration) -> ToolDeclaration | None:
    """What was approved last of the same tool before this was seen; None for the first."""
    earlier = ToolDeclaration.objects.filter(source=row.source, name=row.name, approved_at__isnull=False)
    return earlier.exclude(pk=row.pk).filter(first_seen_at__lte=row.first_seen_at).first()
