"""Erasing by phone: what is known of a number exactly, and who may be meant by its last four digits."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from conversations import callers, erasure
from conversations.admin import erasing
from conversations.admin.asking import CONFIRMED, counted
from conversations.admin.log import note_about_all
from conversations.admin.phone_form import PhoneForm
from conversations.models import Conversation, PhoneLink
from tools.admin import ReadOnlyAdmin

LINES = (
    "A link keeps the whole number only until it is used or expires; then its last four digits. So only the "
    "unused links are surely of this phone. Tick those of the callers below who are meant: all of their "
    "conversations are erased, and live calls end at once.",
    *erasing.CONSEQUENCES[1:],
)


def by_phone(pages: ReadOnlyAdmin, request: HttpRequest) -> HttpResponse:
    """Asks for the number, then with what is known of it whether to erase, and whom."""
    back = reverse("admin:conversations_phonelink_changelist")
    form = PhoneForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {
            "question": "Whose phone is it?",
            "lines": ["Next you see what is known of it; nothing is erased before you have said yes."],
            "form": form,
            "button": "Look",
            "cancel": back,
        }
        return pages.page(request, "admin/make.html", "Erase by phone", context)
    found = callers.of_phone(form.cleaned_data["phone"])
    if request.POST.get(CONFIRMED):
        erase(request, found)
        return HttpResponseRedirect(back)
    context = {
        "question": f"Erase what is known of the phone ending in {form.cleaned_data['phone'][-4:]}?",
        "lines": LINES,
        "facts": [
            ("Unused links of exactly this phone, these are erased", f"{len(found.unused):,}"),
            ("Other links with the same last four digits", f"{found.others:,}"),
        ],
        "callers": found.callers,
        "nameless": found.nameless,
        "hidden": [("phone", form.cleaned_data["phone"]), (CONFIRMED, "yes")],
        "cancel": back,
    }
    return pages.page(request, "admin/erase_phone.html", "Erase by phone", context)


def erase(request: HttpRequest, found: callers.OfPhone) -> None:
    """The unused links, and of the callers who were shown those who were ticked."""
    erasure.forget_links(found.unused)
    said = f"Erased {counted(len(found.unused), 'unused phone link')}."
    note_about_all(request, PhoneLink, "Erasure", said)
    messages.success(request, said)
    if chosen := ticked(request, found):
        erasing.erase(request, chosen)


def ticked(request: HttpRequest, found: callers.OfPhone) -> list[UUID]:
    """The conversations of those who were ticked, as far as they are among those found."""
    callers_ticked, ticked_alone = request.POST.getlist("caller"), request.POST.getlist("conversation")
    shown = {each.backend_user_id for each in found.callers} & set(callers_ticked)
    theirs = Conversation.objects.filter(backend_user_id__in=shown).values_list("pk", flat=True)
    return [*theirs, *(pk for pk in found.nameless if str(pk) in ticked_alone)]
