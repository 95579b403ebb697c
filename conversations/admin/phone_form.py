"""A phone number as an operator types it."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextInputWidget

from conversations.identity import phones


class PhoneForm(forms.Form):
    """Whose phone it is."""

    phone = forms.CharField(
        label="Phone",
        max_length=40,
        help_text="In international form, like +34600000001.",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "tel", "autocomplete": "off", "autofocus": True}),
    )

    def clean_phone(self) -> str:
        try:
            return phones.normalised(self.cleaned_data["phone"])
        except ValueError as error:
            raise ValidationError("This is not a phone number.") from error
