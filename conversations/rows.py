"""Records become rows: inserts that may be repeated, ends that happen once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog
from django.core.exceptions import ValidationError
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    transaction,
)
from django.db.models import Max, Model

from conversations import storage
from conversations.core.records import (
    CallApproved,
    CallClosed,
    CallOpened,
    Record,
    TurnClosed,
    TurnOpened,
    TurnTexts,
    TurnTroubled,
    UpstreamClosed,
    UpstreamOpened,
    UpstreamRecognised,
)
from conversations.models import ToolCall, Turn, UpstreamSession

log = structlog.get_logger(__name__)

Values = dict[str, Any]

# The database is away or busy; the rows themselves may be fine.
UNREACHABLE = (OperationalError, InterfaceError)
# This row cannot be stored, whoever asks.
UNSTORABLE = (DatabaseError, ValidationError, ValueError, TypeError)


def write(records: Sequence[Record]) -> list[bool]:
    """Writes records in order, in one transaction; where that is refused, each in its own.

    Says for each whether it is stored. Raises OperationalError or InterfaceError where the database is away;
    all of it may then be repeated.
    """
    # Outside a request nobody else drops a connection that died or grew old.
    close_old_connections()
    try:
        with transaction.atomic():
            _write_together(records)
        return [True] * len(records)
    except UNREACHABLE:
        raise
    except UNSTORABLE:
        return [_write_alone(record) for record in records]
    finally:
        close_old_connections()


def _write_together(records: Sequence[Record]) -> None:
    """New rows first, those of a kind in one statement: none waits for a change to another."""
    for kind, (model, values_of) in NEW.items():
        rows = [model(**values_of(record)) for record in records if type(record) is kind]
        if rows:
            # One that is there already, or whose number is taken, is for `_write_alone`.
            model._default_manager.bulk_create(rows)
    for record in records:
        if type(record) not in NEW:
            WRITERS[type(record)](record)


def _write_alone(record: Record) -> bool:
    try:
        with transaction.atomic():
            WRITERS[type(record)](record)
    except UNREACHABLE:
        raise
    except UNSTORABLE as error:
        # The error's text may repeat the row, which holds what was said.
        log.error("journal.row_failed", record=type(record).__name__, error=type(error).__name__)
        return False
    return True


def _turn(record: TurnOpened) -> Values:
    return {
        "id": record.turn_id,
        "conversation_id": record.conversation_id,
        "index": record.index,
        "origin": record.origin,
        "started_at": _moment(record.at),
    }


def _turn_opened(record: TurnOpened) -> None:
    values = _turn(record)
    try:
        Turn.objects.get_or_create(id=record.turn_id, defaults=values)
    except IntegrityError:
        # The call that was just superseded wrote a turn with this number after the new one had counted.
        turns = Turn.objects.filter(conversation_id=record.conversation_id)
        index = (turns.aggregate(last=Max("index"))["last"] or 0) + 1
        Turn.objects.get_or_create(id=record.turn_id, defaults={**values, "index": index})


def _turn_texts(record: TurnTexts) -> None:
    known = {"caller_text": record.caller_text, "heard_text": record.heard_text}
    values = {name: storage.text(text) for name, text in known.items() if text is not None}
    if values:
        Turn.objects.filter(pk=record.turn_id).update(**values)


def _turn_troubled(record: TurnTroubled) -> None:
    values = {"code": storage.text(record.code, 40), "ref": record.ref[:12]}
    Turn.objects.filter(pk=record.turn_id, ref="").update(**values)


def _turn_closed(record: TurnClosed) -> None:
    values = {
        "outcome": record.outcome,
        "heard_text": storage.text(record.heard_text),
        "caller_done_at": _moment(record.caller_done_at),
        "answered_at": _moment(record.answered_at),
        "ended_at": _moment(record.at),
        "silent_ms": record.silent_ms,
    }
    if record.caller_text:
        values["caller_text"] = storage.text(record.caller_text)
    if record.code or record.ref:
        values |= {"code": storage.text(record.code, 40), "ref": record.ref[:12]}
    Turn.objects.filter(pk=record.turn_id, outcome=Turn.Outcome.RUNNING).update(**values)


def _call(record: CallOpened) -> Values:
    return {
        "id": record.call_id,
        "conversation_id": record.conversation_id,
        "turn_id": record.turn_id,
        "sequence": record.sequence,
        "source": storage.text(record.source, 40),
        "selection": record.selection,
        "name": storage.text(record.name, 200),
        "arguments": None if record.arguments is None else storage.document(record.arguments),
        "argument_digest": record.argument_digest,
        "generation": record.generation,
        "started_at": _moment(record.at),
    }


def _call_opened(record: CallOpened) -> None:
    ToolCall.objects.get_or_create(id=record.call_id, defaults=_call(record))


def _call_approved(record: CallApproved) -> None:
    running = ToolCall.objects.filter(pk=record.call_id, status=ToolCall.Status.RUNNING)
    if not running.update(approved_at=_moment(record.at)):
        raise ValueError("no open attempt was approved")


def _call_closed(record: CallClosed) -> None:
    ToolCall.objects.filter(pk=record.call_id, status=ToolCall.Status.RUNNING).update(
        status=record.status,
        code=record.code[:24],
        result_chars=record.result_chars,
        truncated=record.truncated,
        excerpt=storage.text(record.excerpt),
        ref=record.ref[:12],
        sources=[storage.text(title) for title in record.titles] or None,
        ended_at=_moment(record.at),
        duration_ms=max(0, record.duration_ms),
    )


def _upstream(record: UpstreamOpened) -> Values:
    return {
        "id": record.upstream_id,
        "conversation_id": record.conversation_id,
        "dialect": storage.text(record.dialect, 20),
        "selection": record.selection,
        "tool_names": [storage.text(name) for name in record.tool_names],
        "instruction_digest": record.instruction_digest,
        "opened_at": _moment(record.at),
    }


def _upstream_opened(record: UpstreamOpened) -> None:
    UpstreamSession.objects.get_or_create(id=record.upstream_id, defaults=_upstream(record))


def _upstream_recognised(record: UpstreamRecognised) -> None:
    dialect = storage.text(record.dialect, 20)
    UpstreamSession.objects.filter(pk=record.upstream_id).update(dialect=dialect)


def _upstream_closed(record: UpstreamClosed) -> None:
    UpstreamSession.objects.filter(pk=record.upstream_id, closed_at=None).update(
        closed_at=_moment(record.at), close_reason=storage.text(record.reason, 40)
    )


def _moment(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC)


# Turns before their calls.
NEW: Mapping[type[Record], tuple[type[Model], Callable[[Any], Values]]] = {
    TurnOpened: (Turn, _turn),
    UpstreamOpened: (UpstreamSession, _upstream),
    CallOpened: (ToolCall, _call),
}
WRITERS: Mapping[type[Record], Callable[[Any], None]] = {
    TurnOpened: _turn_opened,
    TurnTexts: _turn_texts,
    TurnTroubled: _turn_troubled,
    TurnClosed: _turn_closed,
    CallOpened: _call_opened,
    CallApproved: _call_approved,
    CallClosed: _call_closed,
    UpstreamOpened: _upstream_opened,
    UpstreamRecognised: _upstream_recognised,
    UpstreamClosed: _upstream_closed,
}
