"""What went wrong in a conversation: when, what the caller was told, the calls behind it, what to do next."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from conversations.admin import advice, words
from conversations.admin.filters import BROKEN_CALL, BROKEN_TURN
from conversations.models import Conversation, ToolCall, Turn, UpstreamSession
from conversations.realtime.words import FOR_CALLER

TURNS_A_PAGE = 25
MOST_SHOWN = 20
# Every turn whose caller was told of trouble has a reference, also where it went on afterwards.
TROUBLED_TURN = BROKEN_TURN | ~Q(ref="")


@dataclass(frozen=True, slots=True)
class Behind:
    """A failed tool call of a turn, in words."""

    call_id: uuid.UUID
    name: str
    code: str
    tone: str
    why: str
    ref: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that went wrong; `turn` is None for what belongs to no turn, `page` is where the turn is.

    `told` is the sentence in which the caller was told, `heard` what they had heard of the answer.
    """

    at: datetime
    what: str
    why: str
    then: str
    code: str = ""
    ref: str = ""
    told: str = ""
    heard: str = ""
    turn: int | None = None
    page: int = 1
    calls: tuple[Behind, ...] = ()

    @property
    def refs(self) -> set[str]:
        """Every reference that leads here."""
        return {self.ref, *(call.ref for call in self.calls)}


def page_of(index: int) -> int:
    """The page on which the turn of this index is, counting from 1."""
    return max(index - 1, 0) // TURNS_A_PAGE + 1


def troubles(
    conversation: Conversation, sessions: Iterable[UpstreamSession], may_read: bool
) -> list[Trouble]:
    """The first failures of turns, tool calls and sessions at the speech service, in order of time."""
    turns = Turn.objects.filter(TROUBLED_TURN, conversation=conversation).order_by("index")
    fields = ["index", "code", "ref", "outcome", "started_at", "ended_at"]
    read = list(turns.only(*fields, *(["heard_text"] if may_read else []))[:MOST_SHOWN])
    calls = ToolCall.objects.filter(BROKEN_CALL, conversation=conversation).order_by("started_at")
    call_fields = ("name", "status", "code", "ref", "started_at", "ended_at", "turn__index")
    failed = list(calls.select_related("turn").only(*call_fields)[:MOST_SHOWN])
    found = [of_turn(turn, [call for call in failed if call.turn_id == turn.pk], may_read) for turn in read]
    told = {turn.pk for turn in read}
    found += [of_call(call) for call in failed if call.turn_id not in told]
    found += [of_session(each) for each in sessions if ended_badly(each)]
    return sorted(found, key=lambda trouble: trouble.at)[:MOST_SHOWN]


def of_turn(turn: Turn, calls: Sequence[ToolCall], may_read: bool) -> Trouble:
    """A turn whose caller was told of trouble."""
    failed = turn.outcome == Turn.Outcome.FAILED
    return Trouble(
        at=turn.ended_at or turn.started_at,
        what="The turn failed" if failed else "The caller was told of trouble, and the turn went on",
        why=words.turn_sentence(Turn.Outcome.FAILED, turn.code),
        then=advice.for_turn(turn.code),
        code=turn.code,
        ref=turn.ref,
        # A turn that was left behind by a process that died has no reference: nobody was there to tell it.
        told=FOR_CALLER.get(turn.code, "") if turn.ref else "",
        heard=turn.heard_text if may_read else "",
        turn=turn.index,
        page=page_of(turn.index),
        calls=tuple(behind(call) for call in calls),
    )


def of_call(call: ToolCall) -> Trouble:
    """A failed tool call of a turn that was answered all the same."""
    return Trouble(
        at=call.ended_at or call.started_at,
        what="A tool call failed, and the turn went on",
        why="",
        then=advice.for_call(call.code),
        ref=call.ref,
        told=FOR_CALLER.get(call.code, ""),
        turn=call.turn.index,
        page=page_of(call.turn.index),
        calls=(behind(call),),
    )


def behind(call: ToolCall) -> Behind:
    """A failed call as its line says it."""
    _, tone = words.call_outcome(call.status, call.code)
    name = call.name or "unknown tool"
    return Behind(call.pk, name, call.code, tone, words.call_sentence(call.code), call.ref)


def ended_badly(session: UpstreamSession) -> bool:
    """Whether the speech service's session was lost, or none could be had."""
    return session.close_reason.partition(":")[0] in advice.SESSIONS


def of_session(session: UpstreamSession) -> Trouble:
    """The end of a session at the speech service that nobody wanted."""
    kind, _, detail = session.close_reason.partition(":")
    said = {"lost": "The session at the speech service was lost", "unreachable": "No session could be had"}
    return Trouble(
        at=session.closed_at or session.opened_at,
        what=said[kind],
        why=f"The reason kept is “{detail.strip()}”." if detail.strip() else "",
        then=advice.SESSIONS[kind],
    )
