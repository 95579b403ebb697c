"""Integrators' API keys: made here, shown once, revoked for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminTextInputWidget

from conversations.admin.asking import counted
from conversations.admin.log import note
from conversations.identity import keys
from conversations.models import ApiKey
from tools.admin import ReadOnlyAdmin, moment


class NameForm(forms.Form):
    """What the key is for."""

    name = forms.CharField(
        label="Name",
        max_length=100,
        help_text="Whose key it is, so that it can be found and revoked later.",
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "autofocus": True}),
    )


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Every key by name; the key itself is not kept, only its hash."""

    detail_template = "admin/conversations/apikey/page.html"
    empty_words = "No API key yet. An integrator's server needs one to open conversations."
    list_display = ("name", "state", "made", "last_used", "revoked")
    search_fields = ("name",)
    search_help_text = "Name"
    sortable_by = ("made",)
    actions_list = ("make",)

    def get_urls(self) -> list[Any]:
        revoke = self.admin_site.admin_view(self.revoke)
        return [path("<int:key_id>/revoke/", revoke, name="conversations_apikey_revoke"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        rows: QuerySet[ApiKey] = super().get_queryset(request)
        return rows.defer("key_hash")

    def detail(self, request: HttpRequest, obj: ApiKey) -> Mapping[str, object]:
        return {
            "facts": [
                ("Made", moment(obj.made_at)),
                ("Last used", moment(obj.last_used_at)),
                ("Revoked", moment(obj.revoked_at)),
            ],
            "may_revoke": self.has_manage_permission(request) and obj.revoked_at is None,
        }

    def has_manage_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("conversations.manage_apikeys")

    @action(permissions=["manage"], description="Make an API key", icon="key", url_path="make")
    def make(self, request: HttpRequest) -> HttpResponse:
        form = NameForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            return self.shown_once(request, form.cleaned_data["name"])
        context = {
            "question": "Who is the key for?",
            "lines": ["Whoever holds the key can open conversations for any phone. Keep it on a server."],
            "form": form,
            "button": "Make the key",
            "cancel": reverse("admin:conversations_apikey_changelist"),
        }
        return self.page(request, "admin/make.html", "Make an API key", context)

    def shown_once(self, request: HttpRequest, name: str) -> HttpResponse:
        """The fresh key on a page of its own; only its hash is kept."""
        made = keys.make(name)
        note(request, [ApiKey.objects.get(pk=made.key_id)], "Made an API key.", made=True)
        context = {
            "heading": f"The API key of {made.name}",
            "warning": "It is shown only now. Whoever loses it needs a new one.",
            "label": "API key",
            "value": made.text,
            "done": reverse("admin:conversations_apikey_changelist"),
        }
        return self.page(request, "admin/shown_once.html", "An API key", context)

    def revoke(self, request: HttpRequest, key_id: int) -> HttpResponse:
        """Asks once, then ends every key of this name."""
        if not self.has_manage_permission(request):
            raise PermissionDenied
        key = ApiKey.objects.filter(pk=key_id).first()
        if key is None:
            raise Http404
        good = ApiKey.objects.filter(name=key.name, revoked_at=None)
        if request.method == "POST":
            ended = list(good)
            keys.revoke(key.name)
            note(request, ended, "Revoked.")
            messages.success(request, f"Revoked {counted(len(ended), 'key')} of {key.name}.")
            return HttpResponseRedirect(reverse("admin:conversations_apikey_changelist"))
        context = {
            "question": f"Revoke the API keys of {key.name}?",
            "lines": ["Its server can open no more conversations. A revoked key never becomes good again."],
            "facts": [("Keys of this name that are good now", good.count())],
            "button": "Yes, revoke",
            "cancel": reverse("admin:conversations_apikey_change", args=[key.pk]),
        }
        return self.page(request, "admin/confirm.html", "Revoke", context)

    @display(description="State", label={"good": "success", "revoked": ""})
    def state(self, row: ApiKey) -> str:
        return "revoked" if row.revoked_at else "good"

    @display(description="Made (UTC)", ordering="made_at")
    def made(self, row: ApiKey) -> str:
        return moment(row.made_at)

    @display(description="Last used (UTC)")
    def last_used(self, row: ApiKey) -> str:
        return moment(row.last_used_at)

    @display(description="Revoked (UTC)")
    def revoked(self, row: ApiKey) -> str:
        return moment(row.revoked_at)
