"""What the owner of a conversation may read of it: no token, backend id, phone, arguments or results."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from conversations import toolbox
from conversations.labels import label
from conversations.models import BackendToken, Conversation, ToolCall, Turn
from tools.models import CatalogSnapshot

REALTIME_PATH = "/v1/realtime"
_MOST_TURNS = 500


@dataclass(frozen=True, slots=True)
class Person:
    """The caller, as far as a page shows them."""

    name: str


@dataclass(frozen=True, slots=True)
class Catalog:
    """How many tools the caller has; None until discovered. `error` is a code."""

    count: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A conversation's body."""

    id: uuid.UUID
    state: str
    close_reason: str | None
    caller: Person | None
    expires_at: datetime
    realtime_url: str
    tools: Catalog


@dataclass(frozen=True, slots=True)
class Source:
    """What a result came from, by the title that the caller was told."""

    title: str


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One finished tool call, without what went in or came out."""

    name: str
    label: str
    status: str
    code: str | None
    duration_ms: int | None
    sources: Sequence[Source]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One finished turn, with the texts as they were heard."""

    index: int
    origin: str
    caller_text: str
    heard_text: str
    outcome: str
    started_at: datetime
    rating: str | None
    tools: Sequence[CallRecord]


def summary(conversation: Conversation, base_url: str) -> Summary:
    """The body of a conversation; `base_url` is `http(s)://host` of this deployment."""
    scheme, _, rest = base_url.partition("://")
    socket = f"{'wss' if scheme == 'https' else 'ws'}://{rest}{REALTIME_PATH}?conversation={conversation.pk}"
    return Summary(
        id=conversation.pk,
        state=conversation.state,
        close_reason=conversation.close_reason or None,
        caller=Person(conversation.caller_name) if conversation.caller_name else None,
        expires_at=conversation.expires_at,
        realtime_url=socket,
        tools=_catalog(conversation),
    )


def finished_turns(conversation: Conversation, language: str) -> list[TurnRecord]:
    """The newest finished turns in their order; `language` chooses the labels of tools."""
    finished = Turn.objects.filter(conversation=conversation).exclude(outcome=Turn.Outcome.RUNNING)
    turns = list(finished.order_by("-index")[:_MOST_TURNS])
    calls: dict[uuid.UUID, list[CallRecord]] = defaultdict(list)
    ended = ToolCall.objects.filter(conversation=conversation).exclude(status=ToolCall.Status.RUNNING)
    for call in ended.order_by("sequence").defer("arguments", "excerpt"):
        # A name that belongs to no source is the model's own text.
        name = call.name if call.source else ""
        calls[call.turn_id].append(
            CallRecord(
                name,
                label(name, language),
                call.status,
                call.code or None,
                call.duration_ms,
                [Source(title) for title in call.sources or ()],
            )
        )
    return [
        TurnRecord(
            index=turn.index,
            origin=turn.origin,
            caller_text=turn.caller_text,
            heard_text=turn.heard_text,
            outcome=turn.outcome,
            started_at=turn.started_at,
            rating=turn.rating or None,
            tools=calls[turn.pk],
        )
        for turn in reversed(turns)
    ]


def fingerprint_of(conversation: Conversation) -> str:
    """Whose tools are offered in the conversation; empty for nobody's."""
    tokens = BackendToken.objects.filter(conversation=conversation)
    fingerprint = tokens.values_list("fingerprint", flat=True).first()
    if not fingerprint and conversation.mode == Conversation.Mode.APIPILOT:
        return toolbox.service().fingerprint
    return fingerprint or ""


def _catalog(conversation: Conversation) -> Catalog:
    fingerprint = fingerprint_of(conversation)
    found = CatalogSnapshot.objects.filter(caller_fingerprint=fingerprint) if fingerprint else ()
    snapshots = list(found)
    if not snapshots:
        return Catalog(None, None)
    failed = any(snapshot.last_error for snapshot in snapshots)
    return Catalog(sum(len(snapshot.tools) for snapshot in snapshots), "unavailable" if failed else None)
