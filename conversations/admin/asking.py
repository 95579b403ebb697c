"""What every action that asks once has in common."""

from __future__ import annotations

from django.contrib.admin import helpers
from django.http import HttpRequest

CONFIRMED = "confirmed"


def selection(request: HttpRequest, action: str) -> list[tuple[str, object]]:
    """The hidden fields that bring a selection of a list back to its action once it is confirmed."""
    chosen = [(helpers.ACTION_CHECKBOX_NAME, pk) for pk in request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)]
    everything = ("select_across", request.POST.get("select_across", "0"))
    return [("action", action), (CONFIRMED, "yes"), *chosen, everything]


def counted(count: int, what: str) -> str:
    """`1 conversation`, `2 conversations`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
