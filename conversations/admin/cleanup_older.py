"""Erasing what was said, arguments and results of longer ago than an operator says; counted first."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from conversations import contents
from conversations.admin.asking import CONFIRMED, counted
from conversations.admin.log import note_about_all
from conversations.contents import Contents
from conversations.models import Conversation
from tools.admin import ReadOnlyAdmin

LINES = (
    "It cannot be brought back. Only closed conversations lose anything, and their rows stay: who called "
    "when, which tool ran, how it ended. Retention removes those in its own time.",
)


class DaysForm(forms.Form):
    """How old it must be."""

    days = forms.IntegerField(
        label="Older than so many days",
        min_value=1,
        max_value=3_650,
        widget=UnfoldAdminIntegerFieldWidget(attrs={"autofocus": True}),
    )


def older(pages: ReadOnlyAdmin, request: HttpRequest) -> HttpResponse:
    """Asks for the days, then with the counts whether to do it."""
    form = DaysForm(request.POST if request.method == "POST" else None)
    back = reverse("admin:conversations_conversation_changelist")
    if not form.is_valid():
        context = {
            "question": "How old must it be?",
            "lines": ["Next you see how much it is; nothing is erased before you have said yes."],
            "form": form,
            "button": "Count it",
            "cancel": back,
        }
        return pages.page(request, "admin/make.html", "Clean up what is older", context)
    days = form.cleaned_data["days"]
    if request.POST.get(CONFIRMED):
        done = contents.erase(days, timezone.now())
        what = f"Erased what is older than {counted(days, 'day')}: {told(done)}."
        note_about_all(request, Conversation, "Cleanup", what)
        messages.success(request, what)
        return HttpResponseRedirect(back)
    return confirm(pages, request, days, back)


def confirm(pages: ReadOnlyAdmin, request: HttpRequest, days: int, back: str) -> HttpResponse:
    """The page that asks, with the counts."""
    would = contents.concerned(days, timezone.now())
    context = {
        "question": f"Erase what was said more than {counted(days, 'day')} ago?",
        "lines": LINES,
        "facts": [
            ("Turns that would lose their words", f"{would.turns:,}"),
            ("Tool calls that would lose arguments and results", f"{would.calls:,}"),
        ],
        "hidden": [("days", days), (CONFIRMED, "yes")],
        "button": "Yes, erase" if would.turns or would.calls else "",
        "cancel": back,
    }
    return pages.page(request, "admin/confirm.html", "Clean up what is older", context)


def told(done: Contents) -> str:
    """`3 turns, 1 tool call`."""
    return f"{counted(done.turns, 'turn')}, {counted(done.calls, 'tool call')}"
