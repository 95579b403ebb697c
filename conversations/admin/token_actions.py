"""Erasing session tokens: of one conversation, of the selected, of one caller; asked once and logged."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from conversations import tokens
from conversations.admin.asking import CONFIRMED, counted, selection
from conversations.admin.log import note
from conversations.models import Conversation
from tools.admin import ReadOnlyAdmin

CONSEQUENCES = (
    "Vocero forgets the session token with which it acts for the caller at the backend. A conversation that "
    "is open ends with it, wherever its call runs: without the token nothing more can be done for the "
    "caller. They can sign in again. The record stays.",
)
PERMISSION = "conversations.erase_token"
_AT_ONCE = 200


def of_one(pages: ReadOnlyAdmin, request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Asks once, then erases this conversation's token; raises PermissionDenied and Http404."""
    row = found(request, conversation_id)
    who = row.caller_name or "an anonymous caller"
    return ask(pages, request, Conversation.objects.filter(pk=row.pk), f"Erase the session token of {who}?")


def of_caller(pages: ReadOnlyAdmin, request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Asks once, then erases all tokens of its caller; raises PermissionDenied and Http404."""
    row = found(request, conversation_id)
    if not row.backend_user_id:
        raise Http404
    rows = tokens.of_caller(row.backend_user_id)
    return ask(
        pages, request, rows, f"Erase every session token of {row.caller_name or row.backend_user_id}?"
    )


def of_selected(pages: ReadOnlyAdmin, request: HttpRequest, rows: QuerySet[Conversation]) -> HttpResponse:
    """Asks once with the counts, then erases the tokens of the selected conversations."""
    chosen = list(rows.order_by("-opened_at").values_list("pk", flat=True)[:_AT_ONCE])
    scope = Conversation.objects.filter(pk__in=chosen)
    if request.POST.get(CONFIRMED):
        return erase(request, scope, reverse("admin:conversations_conversation_changelist"))
    return confirm(
        pages, request, scope, "Erase the session tokens of the selected conversations?", selected=len(chosen)
    )


def found(request: HttpRequest, conversation_id: UUID) -> Conversation:
    """The conversation, for whoever may erase its token."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    row = Conversation.objects.filter(pk=conversation_id).first()
    if row is None:
        raise Http404
    return row


def ask(
    pages: ReadOnlyAdmin, request: HttpRequest, rows: QuerySet[Conversation], question: str
) -> HttpResponse:
    if request.method == "POST":
        return erase(request, rows, reverse("admin:conversations_conversation_changelist"))
    return confirm(pages, request, rows, question)


def confirm(
    pages: ReadOnlyAdmin,
    request: HttpRequest,
    rows: QuerySet[Conversation],
    question: str,
    selected: int | None = None,
) -> HttpResponse:
    """The page that asks, with what would happen."""
    would = tokens.concerned(rows)
    context = {
        "question": question if would.tokens else "There is no session token to erase",
        "lines": CONSEQUENCES if would.tokens else ["Each was erased already, or there never was one."],
        "facts": [
            *([("Selected", f"{selected:,}")] if selected is not None else []),
            ("Session tokens that would be erased", f"{would.tokens:,}"),
            ("Open conversations that would end", f"{would.ended:,}"),
        ],
        "hidden": selection(request, "erase_tokens") if selected is not None else [],
        "button": "Yes, erase" if would.tokens else "",
        "cancel": reverse("admin:conversations_conversation_changelist"),
    }
    return pages.page(request, "admin/confirm.html", "Erase session tokens", context)


def erase(request: HttpRequest, rows: QuerySet[Conversation], back: str) -> HttpResponse:
    """Erases them, logs each conversation that lost its token, and tells the operator."""
    losing = list(rows.exclude(backend_token=None).exclude(backend_token__ciphertext=""))
    done = tokens.erase(Conversation.objects.filter(pk__in=[row.pk for row in losing]))
    note(request, losing, "Erased the session token.")
    if done.tokens:
        ended = f", ended {counted(done.ended, 'conversation')}" if done.ended else ""
        messages.success(request, f"Erased {counted(done.tokens, 'session token')}{ended}.")
    else:
        messages.info(request, "Nothing to erase: no token was kept.")
    return HttpResponseRedirect(back)
