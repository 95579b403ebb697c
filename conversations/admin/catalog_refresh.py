"""Asking for tools anew: of one catalog, of the selected, of all; asked once and logged."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from conversations import refreshing
from conversations.admin.asking import CONFIRMED, counted, selection
from conversations.admin.log import note, note_about_all
from conversations.realtime.relay import HEARTBEAT
from conversations.refreshing import Refreshed
from tools.admin import ReadOnlyAdmin
from tools.models import CatalogSnapshot

WITHIN = f"{HEARTBEAT:g} seconds"
CONSEQUENCES = (
    f"A live call learns it within {WITHIN}, in whatever process it runs, asks its source, and declares what "
    "it gets for its next turn. A turn that runs keeps its tools, and a running tool finishes.",
    "Whoever has no live call now is asked about when their next call or turn begins. Nothing is deleted: "
    "until a source answers, its old tools stay.",
)
_AT_ONCE = 500


def one(pages: ReadOnlyAdmin, request: HttpRequest, catalog_id: int) -> HttpResponse:
    """Asks once, then refreshes this catalog's credential; raises PermissionDenied and Http404."""
    if not request.user.has_perm("tools.refresh_catalogsnapshot"):
        raise PermissionDenied
    row = CatalogSnapshot.objects.filter(pk=catalog_id).defer("tools", "refused", "previous_tools").first()
    if row is None:
        raise Http404
    back = reverse("admin:tools_catalogsnapshot_change", args=[row.pk])
    credential = [row.caller_fingerprint]
    if request.method == "POST":
        done = refreshing.refresh(credential)
        note(request, [row], f"Had the tools asked for anew: {told(done)}.")
        return answered(request, done, back)
    context = {
        "question": f"Ask {row.source} for this caller's tools anew?",
        "facts": facts(credential),
        "button": "Yes, ask anew",
        "cancel": back,
    }
    return confirm(pages, request, context)


def selected(pages: ReadOnlyAdmin, request: HttpRequest, rows: QuerySet[CatalogSnapshot]) -> HttpResponse:
    """Asks once with the counts, then refreshes the tools of the selected credentials."""
    back = reverse("admin:tools_catalogsnapshot_changelist")
    chosen = list(rows.defer("tools", "refused", "previous_tools").order_by("-fetched_at", "pk")[:_AT_ONCE])
    credentials = {row.caller_fingerprint for row in chosen}
    if request.POST.get(CONFIRMED):
        done = refreshing.refresh(credentials)
        note(request, chosen, "Had the tools asked for anew.")
        return answered(request, done, back)
    context = {
        "question": "Ask for the tools of the selected catalogs anew?",
        "facts": [("Selected", f"{len(chosen):,}"), *facts(credentials)],
        "hidden": selection(request, "refresh_selected"),
        "button": "Yes, ask anew",
        "cancel": back,
    }
    return confirm(pages, request, context)


def everything(pages: ReadOnlyAdmin, request: HttpRequest) -> HttpResponse:
    """Asks once with the counts, then refreshes the tools of all."""
    back = reverse("admin:tools_catalogsnapshot_changelist")
    if request.method == "POST":
        done = refreshing.refresh()
        note_about_all(request, CatalogSnapshot, "Refresh", f"Had all tools asked for anew: {told(done)}.")
        return answered(request, done, back)
    context = {
        "question": "Ask for all tools anew?",
        "facts": facts(None),
        "button": "Yes, ask anew",
        "cancel": back,
    }
    return confirm(pages, request, context)


def confirm(pages: ReadOnlyAdmin, request: HttpRequest, context: Mapping[str, object]) -> HttpResponse:
    """The page that asks; nothing is lost by a yes, so its button does not warn."""
    return pages.page(
        request, "admin/confirm.html", "Refresh", {"lines": CONSEQUENCES, "harmless": True, **context}
    )


def facts(credentials: Collection[str] | None) -> list[tuple[str, str]]:
    """What a refresh would reach now."""
    would = refreshing.concerned(credentials)
    return [
        ("Kept catalogs that would be good no more", f"{would.catalogs:,}"),
        ("Live calls that would ask anew", f"{would.calls:,}"),
    ]


def told(done: Refreshed) -> str:
    """`2 catalogs, 1 live call`."""
    return f"{counted(done.catalogs, 'catalog')}, {counted(done.calls, 'live call')}"


def answered(request: HttpRequest, done: Refreshed, back: str) -> HttpResponse:
    """Back to where the operator was, with what was done."""
    messages.success(
        request, f"Asked for anew: {told(done)}. Live calls learn it within {WITHIN}, for their next turn."
    )
    return HttpResponseRedirect(back)
