"""Rows become one frozen plan per call: the only reads a live call makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.db.models import Max
from django.utils import timezone

from conversations import lifecycle
from conversations.identity import vault
from conversations.models import BackendToken, Conversation, Turn
from tools.contract import Caller

log = structlog.get_logger(__name__)

DATABASE_AWAY = (DatabaseError, InterfaceError)


@dataclass(frozen=True, slots=True)
class Heard:
    """One side of an earlier turn; `role` is `caller` or `assistant`."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one claim of a conversation needs to know; `expires_at` in epoch seconds, `idle` in seconds.

    `caller` is None where nobody logged in. `session` is what an integrator asked of the speech session,
    unchecked.
    """

    conversation_id: str
    generation: int
    mode: str
    caller: Caller | None
    caller_name: str
    expires_at: float
    idle: int
    next_turn: int
    history: tuple[Heard, ...]
    browser_tools: tuple[str, ...]
    episode_id: str
    session: Mapping[str, Any] = field(default_factory=dict)


def load_plan(conversation_id: str, generation: int | None) -> Plan | None:
    """The plan of a claim; None where the claim is not the newest, or the conversation is not open.

    With no generation it is that of a turn over HTTP, which needs no claim.

    A credential that no key opens any more closes the conversation as `auth_expired`.
    """
    open_rows = Conversation.objects.filter(state=Conversation.State.OPEN)
    if generation is not None:
        open_rows = open_rows.filter(generation=generation)
    row = open_rows.filter(pk=conversation_id, expires_at__gt=timezone.now()).first()
    if row is None:
        return None
    try:
        caller = logged_in(row)
    except vault.Unreadable as error:
        log.error("vault.unreadable", conversation=conversation_id, reason=str(error))
        lifecycle.close(conversation_id, Conversation.CloseReason.AUTH_EXPIRED)
        return None
    return Plan(
        conversation_id=str(row.pk),
        generation=row.generation,
        mode=row.mode,
        caller=caller,
        caller_name=row.caller_name,
        expires_at=row.expires_at.timestamp(),
        idle=settings.VOCERO.conversation_idle,
        next_turn=(Turn.objects.filter(conversation=row).aggregate(last=Max("index"))["last"] or 0) + 1,
        history=_history(row),
        browser_tools=_browser_tools(row),
        episode_id=row.episode_id,
        session=row.session,
    )


def logged_in(row: Conversation) -> Caller | None:
    """Who logged in to this conversation, with their token; raises vault.Unreadable."""
    kept = BackendToken.objects.filter(conversation=row).exclude(ciphertext="").first()
    if kept is None:
        return None
    token = vault.unseal(kept.ciphertext, bound_to=str(row.pk))
    return Caller(user_id=row.backend_user_id, token=token, fingerprint=kept.fingerprint)


def _history(row: Conversation) -> tuple[Heard, ...]:
    finished = Turn.objects.filter(conversation=row).exclude(outcome=Turn.Outcome.RUNNING)
    newest = finished.order_by("-index").values_list("caller_text", "heard_text")
    heard: list[Heard] = []
    for caller_text, heard_text in reversed(list(newest[: settings.VOCERO.history_turns])):
        heard += [Heard("caller", caller_text)] if caller_text else []
        heard += [Heard("assistant", heard_text)] if heard_text else []
    return tuple(heard)


def _browser_tools(row: Conversation) -> tuple[str, ...]:
    """A name that the server owns is dropped: the browser never answers for AquaPortal."""
    owned = settings.VOCERO.mcp_tools if row.mode == Conversation.Mode.MCP else ()
    return tuple(name for name in row.browser_tools if name not in owned)
