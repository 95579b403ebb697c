"""The columns of exported files, by what their reader may see; credentials, hashes and phones are in none."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from import_export.fields import Field
from import_export.resources import Resource
from import_export.widgets import Widget


class Plain(Widget):
    """Values as JSON has them; times in UTC."""

    def render(self, value: Any, obj: Any = None, **options: Any) -> Any:
        if isinstance(value, datetime):
            return value.isoformat(timespec="milliseconds")
        return str(value) if isinstance(value, UUID) else value


def column(attribute: str) -> Field:
    """A column that holds this attribute of the row."""
    return Field(attribute=attribute, widget=Plain())


class ConversationColumns(Resource):
    """A conversation with what its list counts."""

    id = column("id")
    state = column("state")
    close_reason = column("close_reason")
    mode = column("mode")
    caller = column("caller_name")
    backend_user = column("backend_user_id")
    opened_at = column("opened_at")
    last_seen_at = column("last_seen_at")
    expires_at = column("expires_at")
    closed_at = column("closed_at")
    turns = column("turns_made")
    turns_failed = column("turns_failed")
    tool_calls = column("calls_made")
    tool_calls_failed = column("calls_failed")


class CallColumns(Resource):
    """A tool call without what went in and what came out."""

    id = column("id")
    conversation = column("conversation_id")
    caller = column("conversation__caller_name")
    turn = column("turn__index")
    attempt = column("sequence")
    tool = column("name")
    source = column("source")
    selection = column("selection")
    status = column("status")
    code = column("code")
    ref = column("ref")
    started_at = column("started_at")
    approved_at = column("approved_at")
    ended_at = column("ended_at")
    duration_ms = column("duration_ms")
    result_chars = column("result_chars")
    result_shortened = column("truncated")


class CallColumnsWithPayloads(CallColumns):
    """A tool call with its arguments and the beginning of its result."""

    arguments = column("arguments")
    result_beginning = column("excerpt")


class TurnColumns(Resource):
    """A turn without what was said."""

    conversation = column("conversation_id")
    turn = column("index")
    origin = column("origin")
    outcome = column("outcome")
    code = column("code")
    ref = column("ref")
    started_at = column("started_at")
    caller_done_at = column("caller_done_at")
    answered_at = column("answered_at")
    ended_at = column("ended_at")
    silent_ms = column("silent_ms")


class TurnColumnsWithTexts(TurnColumns):
    """A turn with what was said and heard."""

    caller_text = column("caller_text")
    heard_text = column("heard_text")


class SessionColumns(Resource):
    """A session at the speech service as it was declared."""

    dialect = column("dialect")
    selection = column("selection")
    tools = column("tool_names")
    instructions_digest = column("instruction_digest")
    opened_at = column("opened_at")
    closed_at = column("closed_at")
    close_reason = column("close_reason")


def attributes(columns: type[Resource]) -> list[str]:
    """The attributes of the rows that these columns read."""
    return [str(field.attribute) for field in columns.fields.values()]
