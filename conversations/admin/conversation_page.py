"""What one conversation's page shows: facts, trouble, turns as waterfalls, sessions at the speech service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from django.core.paginator import Page, Paginator
from django.db.models import Max
from django.http import HttpRequest
from django.utils import timezone

from conversations.admin import words
from conversations.admin.filters import BROKEN_CALL, BROKEN_TURN, plain_ref
from conversations.admin.waterfall import Waterfall, draw, milliseconds
from conversations.models import BackendToken, Conversation, ToolCall, Turn, UpstreamSession
from tools.admin import moment, pretty

TURNS_A_PAGE = 25
_SHOWN_TROUBLES = 20
_SHOWN_SESSIONS = 50
_SHOWN_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that went wrong: when, in which turn, what, why, and where it is on the page."""

    at: datetime
    turn: int
    what: str
    code: str
    why: str
    ref: str
    page: int


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A tool call under its turn's picture; the payloads are None for whoever may not read them."""

    call: ToolCall
    outcome: str
    tone: str
    why: str
    arguments: str | None
    excerpt: str | None
    found: bool


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn as its card shows it; `unheard` stands where the row has no words that were heard."""

    turn: Turn
    origin: str
    outcome: str
    tone: str
    why: str
    unheard: str
    took: str
    waterfall: Waterfall
    calls: tuple[ShownCall, ...]
    found: bool


def state_word(conversation: Conversation) -> str:
    """`live` while some process holds it, else `open` or `closed`."""
    if conversation.state != Conversation.State.OPEN:
        return "closed"
    lease = conversation.lease_expires_at
    return "live" if conversation.owner and lease and lease > timezone.now() else "open"


def clock(at: datetime) -> str:
    """`10:42:07.312`, in UTC."""
    return f"{timezone.localtime(at):%H:%M:%S.%f}"[:-3]


def searched_ref(request: HttpRequest) -> str:
    """The `ref` that led here, when the list was searched for one."""
    kept = parse_qs(request.GET.get("_changelist_filters", ""))
    return plain_ref(kept.get("q", [""])[0])


def conversation_page(request: HttpRequest, conversation: Conversation) -> Mapping[str, object]:
    """The template's context; what the person may not read is never fetched."""
    may_read = request.user.has_perm("conversations.read_transcripts")
    may_see_payloads = request.user.has_perm("conversations.read_payloads")
    ref = searched_ref(request)
    state = state_word(conversation)
    # Never with its ciphertext: nobody needs it here.
    token = BackendToken.objects.filter(conversation=conversation).defer("ciphertext").first()
    found = troubles(conversation)
    first_page = next((each.page for each in found if ref and each.ref == ref), 1)
    page = asked_page(request, conversation, first_page)
    return {
        "state": state,
        "facts": facts(conversation, token, state),
        "token": token,
        "may_read": may_read,
        "may_see_payloads": may_see_payloads,
        "may_end": request.user.has_perm("conversations.end_conversation") and state != "closed",
        "may_see_catalog": request.user.has_perm("tools.view_catalogsnapshot"),
        "troubles": found,
        "more_troubles": len(found) == _SHOWN_TROUBLES,
        "page": page,
        "pages": page.paginator.get_elided_page_range(page.number),
        "turns": shown_turns(turns_of(conversation, page, may_read), may_see_payloads, ref),
        "sessions": sessions(conversation, state),
    }


def asked_page(request: HttpRequest, conversation: Conversation, otherwise: int) -> Page[int]:
    """The page of turn numbers that was asked for: by number, so that a link to a turn stays true."""
    last = conversation.turns.aggregate(last=Max("index"))["last"] or 0
    numbers = Paginator(range(1, last + 1), TURNS_A_PAGE)
    return numbers.get_page(request.GET.get("page") or otherwise)


def turns_of(conversation: Conversation, page: Page[int], may_read: bool) -> list[Turn]:
    """The turns of this page, without their texts for whoever may not read them."""
    numbers = (TURNS_A_PAGE * (page.number - 1) + 1, TURNS_A_PAGE * page.number)
    turns = conversation.turns.filter(index__range=numbers).order_by("index")
    return list(turns if may_read else turns.defer("caller_text", "heard_text"))


def facts(conversation: Conversation, token: BackendToken | None, state: str) -> list[tuple[str, str]]:
    """What is known of a conversation as a whole, each with its name; all times are UTC."""
    reason = conversation.close_reason
    closed = [
        ("Closed", moment(conversation.closed_at)),
        ("Closed because", words.CLOSE_REASONS.get(reason, reason or "—")),
    ]
    return [
        ("Opened", moment(conversation.opened_at)),
        ("Last activity", moment(conversation.last_seen_at)),
        *(closed if state == "closed" else [("Ends at the latest", moment(conversation.expires_at))]),
        ("Tools", words.MODES.get(conversation.mode, conversation.mode)),
        ("Caller at the backend", conversation.backend_user_id or "not known there"),
        ("Backend session token", token_words(token)),
    ]


def token_words(token: BackendToken | None) -> str:
    """Where the caller's session token at the backend is now."""
    if token is None:
        return "none, this caller has no session at the backend"
    if token.erased_at:
        return f"erased {moment(token.erased_at)}"
    return f"kept encrypted since {moment(token.obtained_at)}"


def troubles(conversation: Conversation) -> list[Trouble]:
    """The first failures of turns and tool calls, in order of time."""
    turns = Turn.objects.filter(BROKEN_TURN, conversation=conversation).order_by("index")
    calls = ToolCall.objects.filter(BROKEN_CALL, conversation=conversation).order_by("started_at")
    turn_fields = ("index", "code", "ref", "outcome", "started_at", "ended_at")
    call_fields = ("name", "code", "ref", "started_at", "ended_at", "turn__index")
    found = [trouble_of_turn(turn) for turn in turns.only(*turn_fields)[:_SHOWN_TROUBLES]]
    found += [
        trouble_of_call(call) for call in calls.select_related("turn").only(*call_fields)[:_SHOWN_TROUBLES]
    ]
    return sorted(found, key=lambda trouble: trouble.at)[:_SHOWN_TROUBLES]


def trouble_of_turn(turn: Turn) -> Trouble:
    """A failed turn as a line of the trouble list."""
    return Trouble(
        at=turn.ended_at or turn.started_at,
        turn=turn.index,
        what="The turn failed",
        code=turn.code,
        why=words.turn_sentence(turn.outcome, turn.code),
        ref=turn.ref,
        page=page_of(turn.index),
    )


def trouble_of_call(call: ToolCall) -> Trouble:
    """A failed tool call as a line of the trouble list."""
    return Trouble(
        at=call.ended_at or call.started_at,
        turn=call.turn.index,
        what=f"{call.name or 'An unknown tool'} failed",
        code=call.code,
        why=words.call_sentence(call.code),
        ref=call.ref,
        page=page_of(call.turn.index),
    )


def page_of(index: int) -> int:
    """The page on which the turn of this index is, counting from 1."""
    return max(index - 1, 0) // TURNS_A_PAGE + 1


def shown_turns(turns: Sequence[Turn], may_see_payloads: bool, ref: str) -> list[ShownTurn]:
    """The turns of one page with their tool calls, by one query for all calls."""
    calls = ToolCall.objects.filter(turn__in=[turn.pk for turn in turns]).order_by("started_at", "sequence")
    of_turn: dict[Any, list[ToolCall]] = {}
    for call in calls if may_see_payloads else calls.defer("arguments", "excerpt"):
        of_turn.setdefault(call.turn_id, []).append(call)
    now = timezone.now()
    return [shown_turn(turn, of_turn.get(turn.pk, []), may_see_payloads, ref, now) for turn in turns]


def shown_turn(
    turn: Turn, calls: Sequence[ToolCall], may_see_payloads: bool, ref: str, now: datetime
) -> ShownTurn:
    """One turn's card."""
    outcome, tone, _ = words.TURN_OUTCOMES.get(turn.outcome, (turn.outcome, "plain", ""))
    took = (turn.ended_at or now) - turn.started_at
    return ShownTurn(
        turn=turn,
        origin=words.ORIGINS.get(turn.origin, turn.origin),
        outcome=outcome,
        tone=tone,
        why=words.turn_sentence(turn.outcome, turn.code),
        unheard=unheard(turn),
        took=milliseconds(took.total_seconds() * 1000),
        waterfall=draw(turn, calls, now),
        calls=tuple(shown_call(call, may_see_payloads, ref) for call in calls),
        found=bool(ref) and ref == turn.ref,
    )


def unheard(turn: Turn) -> str:
    """What stands in the place of the words that were heard, where the row has none."""
    if turn.outcome == Turn.Outcome.RUNNING:
        return "(known when the turn ends)"
    # The sweep closed it for a process that died: a call that lives gives its failures a reference.
    left_behind = turn.code == "connection_lost" and not turn.ref
    return "(not known, the call went away)" if left_behind else "(nothing was heard)"


def shown_call(call: ToolCall, may_see_payloads: bool, ref: str) -> ShownCall:
    """One tool call in words, with its payloads for whoever may read them."""
    outcome, tone = words.call_outcome(call.status, call.code)
    has_arguments = may_see_payloads and call.arguments is not None
    return ShownCall(
        call=call,
        outcome=outcome,
        tone=tone,
        why=words.call_sentence(call.code),
        arguments=pretty(call.arguments, _SHOWN_CHARS) if has_arguments else None,
        excerpt=call.excerpt[:_SHOWN_CHARS] if may_see_payloads and call.excerpt else None,
        found=bool(ref) and ref == call.ref,
    )


def sessions(conversation: Conversation, state: str) -> list[Mapping[str, object]]:
    """The sessions at the speech service as they were declared, oldest first.

    One that nobody closed is open only where the call goes on and has no newer one.
    """
    shown = list(conversation.upstream_sessions.order_by("opened_at")[:_SHOWN_SESSIONS])
    return [
        {
            "dialect": words.DIALECTS.get(session.dialect, session.dialect),
            "selection": words.SELECTIONS.get(session.selection, "no tools declared"),
            "tool_names": session.tool_names,
            "digest": session.instruction_digest,
            "opened": moment(session.opened_at),
            "closed": closed_words(session, open_now=state == "live" and session is shown[-1]),
            "reason": session.close_reason,
        }
        for session in shown
    ]


def closed_words(session: UpstreamSession, open_now: bool) -> str:
    """When a session ended, as far as somebody was left to write it down."""
    if session.closed_at:
        return moment(session.closed_at)
    return "still open" if open_now else "not known, its process went away"
