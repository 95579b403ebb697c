"""Signed phone links: made here, shown once, listed with what became of them."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold.decorators import action, display

from conversations.admin import erasing, erasing_phones
from conversations.admin.log import note
from conversations.admin.phone_form import PhoneForm
from conversations.identity import links
from conversations.models import PhoneLink
from tools.admin import ReadOnlyAdmin, moment


@admin.register(PhoneLink)
class PhoneLinkAdmin(ReadOnlyAdmin):
    """Every link that was made; of the phone only the last digits are shown."""

    detail_template = "admin/conversations/phonelink/page.html"
    empty_words = "No phone link has been made yet. “Make a phone link” makes one for a caller's phone."
    list_display = ("phone", "state", "made", "maker", "expires", "used", "opened_conversation")
    list_filter = ("made_at",)
    search_fields = ("phone_ending", "made_by")
    search_help_text = "Last four digits or operator"
    sortable_by = ("made",)
    actions_list = ("make", "erase")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PhoneLink]:
        rows: QuerySet[PhoneLink] = super().get_queryset(request)
        return rows.defer("phone_ciphertext", "used_by_hash").select_related("conversation")

    def detail(self, request: HttpRequest, obj: PhoneLink) -> Mapping[str, object]:
        word, tone = state_of(obj)
        return {
            "word": word,
            "tone": tone,
            "facts": [
                ("Made", moment(obj.made_at)),
                ("Made by", obj.made_by or "the command line"),
                ("Expires", moment(obj.expires_at)),
                ("Used", moment(obj.used_at)),
            ],
        }

    def has_make_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("conversations.make_phonelink")

    @action(permissions=["make"], description="Make a phone link", icon="add_link", url_path="make")
    def make(self, request: HttpRequest) -> HttpResponse:
        form = PhoneForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            return self.shown_once(request, form.cleaned_data["phone"])
        context = {
            "question": "Whose phone is the link for?",
            "lines": [
                f"The link signs this caller in once, within {minutes()} minutes. Give it to nobody else: "
                "whoever opens it first talks as this caller."
            ],
            "form": form,
            "button": "Make the link",
            "cancel": reverse("admin:conversations_phonelink_changelist"),
        }
        return self.page(request, "admin/make.html", "Make a phone link", context)

    def has_erase_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(erasing.PERMISSION)

    @action(permissions=["erase"], description="Erase by phone", icon="person_remove", url_path="erase")
    def erase(self, request: HttpRequest) -> HttpResponse:
        return erasing_phones.by_phone(self, request)

    def shown_once(self, request: HttpRequest, phone: str) -> HttpResponse:
        """The fresh link on a page of its own; it is kept nowhere and cannot be shown again."""
        issued = links.issue(phone, made_by=request.user.get_username())
        row = PhoneLink.objects.get(pk=issued.link_id)
        note(request, [row], "Made a phone link.", made=True)
        context = {
            "heading": f"The link for the phone ending in {row.phone_ending}",
            "warning": "It is shown only now. It works once.",
            "label": "Phone link",
            "value": request.build_absolute_uri(issued.address),
            "facts": [("Expires (UTC)", moment(issued.expires_at))],
            "done": reverse("admin:conversations_phonelink_changelist"),
        }
        return self.page(request, "admin/shown_once.html", "A phone link", context)

    @display(description="Phone")
    def phone(self, row: PhoneLink) -> str:
        return f"…{row.phone_ending}"

    @display(description="State", label={"good": "success", "quiet": "", "warn": "warning"})
    def state(self, row: PhoneLink) -> tuple[str, str]:
        word, tone = state_of(row)
        return tone, word

    @display(description="Made (UTC)", ordering="made_at")
    def made(self, row: PhoneLink) -> str:
        return moment(row.made_at)

    @display(description="Made by")
    def maker(self, row: PhoneLink) -> str:
        return row.made_by or "command line"

    @display(description="Expires (UTC)")
    def expires(self, row: PhoneLink) -> str:
        return moment(row.expires_at)

    @display(description="Used (UTC)")
    def used(self, row: PhoneLink) -> str:
        return moment(row.used_at)

    @display(description="Conversation")
    def opened_conversation(self, row: PhoneLink) -> str:
        if row.conversation is None:
            return "—"
        url = reverse("admin:conversations_conversation_change", args=[row.conversation.pk])
        return format_html('<a class="vo-clip" href="{}">{}</a>', url, row.conversation)


def minutes() -> int:
    """How long a link lives."""
    return int(links.LIFETIME.total_seconds() // 60)


def state_of(link: PhoneLink) -> tuple[str, str]:
    """The word and the tone for what became of a link."""
    if link.used_at:
        return "used", "quiet"
    return ("waiting", "good") if link.expires_at > timezone.now() else ("expired", "warn")
