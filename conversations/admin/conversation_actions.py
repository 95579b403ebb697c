"""What an operator can do to conversations: end one or some, and clean up. Each asks once and is logged."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from conversations import cleanups, lifecycle, retention
from conversations.admin import words
from conversations.admin.asking import CONFIRMED, counted, selection
from conversations.admin.log import note, note_about_all
from conversations.models import Conversation
from tools.admin import ReadOnlyAdmin, moment

OPERATOR = Conversation.CloseReason.OPERATOR.value
CONSEQUENCES = (
    "A running call ends at once wherever it runs, its tools are told to stop, and the caller's session "
    "token is erased. The record stays."
)
KEPT = "What is past its days is erased or deleted and cannot be brought back; the rest stays."
NOTHING_DUE = "None of the selected is open, and nothing of them is past its days."
_AT_ONCE = 200


def end_one(pages: ReadOnlyAdmin, request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Asks once, then closes this conversation; raises PermissionDenied and Http404."""
    if not request.user.has_perm("conversations.end_conversation"):
        raise PermissionDenied
    conversation = Conversation.objects.filter(pk=conversation_id).first()
    if conversation is None:
        raise Http404
    back = reverse("admin:conversations_conversation_change", args=[conversation.pk])
    if request.method == "POST":
        end(request, [conversation])
        return HttpResponseRedirect(back)
    context = {
        "original": conversation,
        "question": f"End the conversation of {conversation.caller_name or 'an anonymous caller'}?",
        "lines": [CONSEQUENCES],
        "button": "Yes, end it",
        "cancel": back,
    }
    return pages.page(request, "admin/confirm.html", "End a conversation", context)


def end_selected(
    pages: ReadOnlyAdmin, request: HttpRequest, rows: QuerySet[Conversation]
) -> HttpResponse | None:
    """Asks once with the counts, then closes the selected conversations that are open."""
    still_open = rows.filter(state=Conversation.State.OPEN)
    back = reverse("admin:conversations_conversation_changelist")
    if request.POST.get(CONFIRMED):
        end(request, still_open.order_by("opened_at")[:_AT_ONCE])
        return HttpResponseRedirect(back)
    selected, ending = rows.count(), still_open.count()
    context = {
        "question": "End the selected conversations?",
        "lines": [CONSEQUENCES],
        "facts": [
            ("Selected", selected),
            ("Open, these will be ended", min(ending, _AT_ONCE)),
            ("Closed already, nothing happens to these", selected - ending),
        ],
        "hidden": selection(request, "end_selected"),
        "button": "Yes, end them" if ending else "",
        "cancel": back,
    }
    return pages.page(request, "admin/confirm.html", "End conversations", context)


def end(request: HttpRequest, conversations: QuerySet[Conversation] | list[Conversation]) -> None:
    """Closes them, logs each that was still open, and tells the operator."""
    ended = [row for row in conversations if lifecycle.close(str(row.pk), OPERATOR)]
    note(request, ended, "Ended the conversation.")
    if ended:
        messages.success(request, f"Ended {counted(len(ended), 'conversation')}.")
    else:
        messages.info(request, "Nothing to end: it was closed already.")


def clean_up(pages: ReadOnlyAdmin, request: HttpRequest) -> HttpResponse:
    """Shows what a cleanup would change, then does it once it is confirmed."""
    back = reverse("admin:conversations_conversation_changelist")
    if request.method == "POST":
        tell_cleaned(request, retention.clean_up(timezone.now()))
        return HttpResponseRedirect(back)
    would = retention.clean_up(timezone.now(), dry_run=True)
    due = {name: count for name, count in would.rows.items() if count}
    said = (
        "Nothing has happened yet; this would change. What is deleted or erased cannot be brought back."
        if due
        else "Nothing is past its time. The service also looks by itself every half minute."
    )
    context = {
        "question": "Clean up now?" if due else "There is nothing to clean up now",
        "lines": [said, *last_cleaned(), *uncounted(would)],
        "facts": [(words.CLEANUP.get(name, name), f"{count:,}") for name, count in due.items()],
        "button": "Yes, clean up" if due else "",
        "leave": "No, go back" if due else "Back to the list",
        "cancel": back,
    }
    return pages.page(request, "admin/confirm.html", "Clean up", context)


def clean_up_selected(
    pages: ReadOnlyAdmin, request: HttpRequest, rows: QuerySet[Conversation]
) -> HttpResponse:
    """Asks once with the counts, then ends the selected and applies retention to them."""
    back = reverse("admin:conversations_conversation_changelist")
    chosen = list(rows.order_by("opened_at").values_list("pk", flat=True)[:_AT_ONCE])
    if request.POST.get(CONFIRMED):
        # Before rows go: what is in the log about them stays.
        note(request, Conversation.objects.filter(pk__in=chosen), "Cleaned up.")
        tell_cleaned(request, retention.clean_chosen(chosen, timezone.now()))
        return HttpResponseRedirect(back)
    would = retention.clean_chosen(chosen, timezone.now(), dry_run=True)
    due = {name: count for name, count in would.rows.items() if count}
    context = {
        "question": f"Clean up {counted(len(chosen), 'selected conversation')}?",
        "lines": [CONSEQUENCES, KEPT if due else NOTHING_DUE, *uncounted(would)],
        "facts": [(words.CLEANUP[name], f"{count:,}") for name, count in due.items()],
        "hidden": selection(request, "clean_up_selected"),
        "button": "Yes, clean up" if due else "",
        "leave": "No, go back" if due else "Back to the list",
        "cancel": back,
    }
    return pages.page(request, "admin/confirm.html", "Clean up conversations", context)


def last_cleaned() -> list[str]:
    """How the cleanup before this one went."""
    run, trouble = cleanups.last_run(), cleanups.trouble(timezone.now())
    if trouble:
        return [trouble]
    return [f"The last cleanup ended {moment(run.ended_at)} UTC, and all of it was done."] if run else []


def uncounted(would: retention.Cleaned) -> list[str]:
    """What a dry run could not count."""
    failed = ", ".join(name.replace("_", " ") for name in would.failures)
    return [f"These steps could not be counted, their tables are busy: {failed}."] if failed else []


def tell_cleaned(request: HttpRequest, cleaned: retention.Cleaned) -> None:
    """Logs what a cleanup did and tells the operator, failed steps too."""
    done = [f"{name.replace('_', ' ')} {count:,}" for name, count in cleaned.rows.items() if count]
    what = f"Cleaned up: {', '.join(done) or 'nothing'}."
    if cleaned.failures:
        what += f" Failed: {', '.join(cleaned.failures)}."
    note_about_all(request, Conversation, "Cleanup", what)
    messages.add_message(request, messages.WARNING if cleaned.failures else messages.SUCCESS, what)
