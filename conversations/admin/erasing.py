"""Erasing what is known of callers: shown as counts first, done after a yes, logged without their names."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from conversations import erasure
from conversations.admin.asking import CONFIRMED, counted, selection
from conversations.admin.log import note, note_about_all
from conversations.models import Conversation
from tools.admin import ReadOnlyAdmin

PERMISSION = "conversations.erase_caller"
AT_ONCE = 1_000
CONSEQUENCES = (
    "What was said and heard, arguments and results of tools, the caller's name and id, session tokens, "
    "cached catalogs and phone links are erased and cannot be brought back. Live calls end at once.",
    "What stays is an anonymous record: when which tool ran, for how long and how it ended, until its own "
    "days are over. “Erase everything” takes that record, too.",
    "Backups of the database and what other services keep are not reached from here.",
)
COUNTED = {
    "conversations": "Conversations",
    "open": "Of these still open, they will be ended",
    "turns": "Turns that lose their words",
    "tool_calls": "Tool calls that lose arguments and results",
    "tokens": "Session tokens",
    "catalogs": "Cached catalogs",
    "phone_links": "Used phone links",
}


def erase_one(pages: ReadOnlyAdmin, request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Asks once, then erases this conversation, or with `?caller` all of the same caller."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    conversation = Conversation.objects.filter(pk=conversation_id).first()
    if conversation is None:
        raise Http404
    whole = "caller" in request.GET and bool(conversation.backend_user_id)
    chosen = erasure.of_caller(conversation.backend_user_id) if whole else [conversation.pk]
    page = reverse("admin:conversations_conversation_change", args=[conversation.pk])
    if request.method == "POST":
        erase(request, chosen)
        gone = not Conversation.objects.filter(pk=conversation.pk).exists()
        return HttpResponseRedirect(listed() if gone else page)
    others = len(erasure.of_caller(conversation.backend_user_id)) - 1
    context = {
        "original": conversation,
        "question": f"Erase {counted(len(chosen), 'conversation')} of {name_of(conversation)}?",
        "lines": CONSEQUENCES,
        "facts": facts(chosen),
        "cancel": page,
        "others": 0 if whole or others < 1 else others,
    }
    return pages.page(request, "admin/erase.html", "Erase what is known of a caller", context)


def erase_selected(
    pages: ReadOnlyAdmin, request: HttpRequest, rows: QuerySet[Conversation]
) -> HttpResponse | None:
    """Asks once with the counts, then erases the selected conversations, so many at once."""
    chosen = list(rows.order_by("opened_at").values_list("pk", flat=True)[: AT_ONCE + 1])
    more, chosen = len(chosen) > AT_ONCE, chosen[:AT_ONCE]
    if request.POST.get(CONFIRMED):
        erase(request, chosen)
        return HttpResponseRedirect(listed())
    note_of_more = [f"Only the first {AT_ONCE:,} of the selection are erased at once."] if more else []
    context = {
        "question": f"Erase {counted(len(chosen), 'selected conversation')}?",
        "lines": [*CONSEQUENCES, *note_of_more],
        "facts": facts(chosen),
        "hidden": selection(request, "erase_selected"),
        "cancel": listed(),
    }
    return pages.page(request, "admin/erase.html", "Erase conversations", context)


def erase(request: HttpRequest, chosen: Sequence[UUID]) -> None:
    """Asks for it and does the first part; the sweep goes on with the rest."""
    rows = request.POST.get("keep") == "nothing"
    erasure.ask(chosen, timezone.now(), rows=rows)
    what = "Erased everything." if rows else "Erased what is known of the caller."
    # Before the rows go: their entries in the log outlive them, under no name.
    note(request, Conversation.objects.filter(pk__in=chosen), what)
    erasure.proceed(timezone.now())
    left = erasure.unfinished().filter(pk__in=chosen).count()
    said = f"Erased {counted(len(chosen), 'conversation')}."
    if left:
        said = f"Erasing {counted(len(chosen), 'conversation')}: {left:,} will be finished within minutes."
    note_about_all(request, Conversation, "Erasure", said)
    messages.success(request, said)


def facts(chosen: Sequence[UUID]) -> list[tuple[str, str]]:
    """The counts in words."""
    return [(COUNTED[name], f"{count:,}") for name, count in erasure.counted(chosen).items()]


def standing(conversation: Conversation) -> str:
    """What became of an erasure; empty where none was asked for."""
    if not conversation.erasure:
        return ""
    return "erased" if conversation.erased_at else "being erased"


def name_of(conversation: Conversation) -> str:
    """The caller as the question names them."""
    return conversation.caller_name or "an anonymous caller"


def listed() -> str:
    """The address of the list."""
    return reverse("admin:conversations_conversation_changelist")
