"""One conversation as a file: all of it as JSON, or its turns as CSV."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils import timezone
from import_export.resources import Resource

from conversations.admin import columns, files
from conversations.admin.exports import Exported
from conversations.admin.log import note
from conversations.models import Conversation, ToolCall, Turn, UpstreamSession

MOST_ROWS = 10_000


def export(pages: Exported, request: HttpRequest, conversation_id: UUID) -> HttpResponseBase:
    """The file that was asked for, noted in the conversation's history; raises PermissionDenied, Http404."""
    if not pages.has_export_permission(request):
        raise PermissionDenied
    kind = request.POST.get("kind", "")
    if request.method != "POST" or kind not in files.TYPES:
        return HttpResponseNotAllowed(["POST"])
    row = pages.get_queryset(request).filter(pk=conversation_id).first()
    if row is None:
        raise Http404
    tables = tables_of(row, request)
    what = {"json": "the conversation as JSON", "csv": "its turns as CSV"}[kind]
    with_texts = "caller_text" in tables["turns"].columns.fields
    note(request, [row], f"Exported {what}, {'with' if with_texts else 'without'} what was said.")
    name = f"conversation-{str(row.pk)[:8]}-{timezone.now():%Y-%m-%d-%H%M}"
    if kind == "csv":
        return files.download(files.csv_pieces(tables["turns"]), name, kind)
    head = {
        "exported_at": timezone.now().isoformat(timespec="seconds"),
        "conversation": described(pages, request, row),
    }
    return files.download(files.json_pieces(head, tables), name, kind)


def described(pages: Exported, request: HttpRequest, row: Conversation) -> dict[str, Any]:
    """What the list says of this conversation."""
    [counted] = pages.completed([row])
    shown = pages.columns(request)()
    return dict(zip(shown.get_export_headers(), shown.export_resource(counted), strict=True))


def tables_of(row: Conversation, request: HttpRequest) -> dict[str, files.Table]:
    """What belongs to a conversation, with the columns that this reader may see."""
    texts = request.user.has_perm("conversations.read_transcripts")
    payloads = request.user.has_perm("conversations.read_payloads")
    of_turns = columns.TurnColumnsWithTexts if texts else columns.TurnColumns
    of_calls = columns.CallColumnsWithPayloads if payloads else columns.CallColumns
    turns = Turn.objects.filter(conversation=row).order_by("index")
    calls = ToolCall.objects.filter(conversation=row).order_by("started_at", "sequence")
    sessions = UpstreamSession.objects.filter(conversation=row).order_by("opened_at")
    return {
        "turns": table(of_turns, turns),
        "tool_calls": table(of_calls, calls.select_related("conversation", "turn")),
        "sessions": table(columns.SessionColumns, sessions),
    }


def table(of: type[Resource], rows: QuerySet[Any]) -> files.Table:
    """These columns and no others are read."""
    return files.Table(of, rows.only(*columns.attributes(of)), MOST_ROWS)
