"""What operators did, in Django's own log of the admin."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest


def note(request: HttpRequest, rows: Iterable[Model], what: str, *, made: bool = False) -> None:
    """One entry per row; `made` for a row that did not exist before."""
    LogEntry.objects.bulk_create(
        LogEntry(
            user_id=operator_id(request),
            content_type=get_content_type_for_model(row),
            object_id=str(row.pk),
            object_repr=str(row)[:200],
            action_flag=ADDITION if made else CHANGE,
            change_message=what,
        )
        for row in rows
    )


def note_about_all(request: HttpRequest, model: type[Model], title: str, what: str) -> None:
    """An entry for something that was done to no single row."""
    LogEntry.objects.create(
        user_id=operator_id(request),
        content_type=get_content_type_for_model(model),
        object_repr=title,
        action_flag=CHANGE,
        change_message=what,
    )


def operator_id(request: HttpRequest) -> int:
    """Who is asking; raises PermissionDenied for nobody."""
    user_id = request.user.pk
    if user_id is None:
        raise PermissionDenied
    return user_id
