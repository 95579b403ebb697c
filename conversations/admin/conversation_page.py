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
from conversations.admin.erasing import PERMISSION as MAY_ERASE
from conversations.admin.erasing import standing
from conversations.admin.filters import plain_ref
from conversations.admin.troubles import MOST_SHOWN, TURNS_A_PAGE, troubles
from conversations.admin.waterfall import Waterfall, draw, milliseconds
from conversations.contents import PAYLOAD
from conversations.models import BackendToken, Conversation, ToolCall, Turn, UpstreamSession
from tools.admin import moment, pretty, pretty_text, stamp, visible
from tools.results import EXCERPT

_SHOWN_SESSIONS = 50
_SHOWN_CHARS = 8_000
# In milliseconds: a conversation without a call may be taken up again, and a closed one changes no more.
FOLLOWED_EVERY = {"live": 1_000, "open": 5_000}


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A tool call under its turn's picture; the payloads are None for whoever may not read them."""

    call: ToolCall
    outcome: str
    tone: str
    why: str
    arguments: str | None
    excerpt: str | None
    left_out: str
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
    declared = list(conversation.upstream_sessions.order_by("opened_at")[:_SHOWN_SESSIONS])
    found = troubles(conversation, declared, may_read)
    pages = pages_of_turns(conversation)
    # A call that goes on is followed at its end.
    otherwise = pages.num_pages if state == "live" else 1
    first = next((each.page for each in found if ref and ref in each.refs), otherwise)
    page = pages.get_page(request.GET.get("page") or first)
    turns = shown_turns(turns_of(conversation, page, may_read), may_see_payloads, ref)
    return {
        "state": state,
        "news": news(conversation, state, turns),
        "every": FOLLOWED_EVERY.get(state),
        "facts": facts(conversation, token, state),
        "token": token,
        "may_read": may_read,
        "may_see_payloads": may_see_payloads,
        "may_erase": request.user.has_perm(MAY_ERASE) and not conversation.erased_at,
        "may_end": request.user.has_perm("conversations.end_conversation") and state != "closed",
        "may_erase_token": request.user.has_perm("conversations.erase_token"),
        "may_see_catalog": request.user.has_perm("tools.view_catalogsnapshot"),
        "may_see_calls": request.user.has_perm("conversations.view_toolcall"),
        "troubles": found,
        "more_troubles": len(found) == MOST_SHOWN,
        "page": page,
        "pages": pages.get_elided_page_range(page.number),
        "turns": turns,
        "sessions": sessions(declared, state),
    }


def pages_of_turns(conversation: Conversation) -> Paginator[int]:
    """The numbers of all turns in pages: by number, so that a link to a turn stays true."""
    last = conversation.turns.aggregate(last=Max("index"))["last"] or 0
    return Paginator(range(1, last + 1), TURNS_A_PAGE)


def news(conversation: Conversation, state: str, turns: Sequence[ShownTurn]) -> str:
    """The newest thing in a sentence, which is read out to whoever follows the call."""
    if state == "closed":
        reason = conversation.close_reason
        return f"The conversation is closed. {words.CLOSE_REASONS.get(reason, reason)}"
    if not turns:
        return "Nothing was said yet."
    last = turns[-1]
    running = [each.call.name or "an unknown tool" for each in last.calls if each.outcome == "running"]
    return f"Turn {last.turn.index}: {last.outcome}{', ' + running[-1] + ' at work' if running else ''}."


def turns_of(conversation: Conversation, page: Page[int], may_read: bool) -> list[Turn]:
    """The turns of this page, without their texts for whoever may not read them."""
    numbers = (TURNS_A_PAGE * (page.number - 1) + 1, TURNS_A_PAGE * page.number)
    turns = conversation.turns.filter(index__range=numbers).order_by("index")
    return list(turns if may_read else turns.defer("caller_text", "heard_text"))


def facts(conversation: Conversation, token: BackendToken | None, state: str) -> list[tuple[str, str]]:
    """What is known of a conversation as a whole, each with its name; all times are UTC."""
    reason = conversation.close_reason
    closed = [
        ("Closed", stamp(conversation.closed_at)),
        ("Closed because", words.CLOSE_REASONS.get(reason, reason or "—")),
    ]
    return [
        ("Opened", stamp(conversation.opened_at)),
        ("Last activity", stamp(conversation.last_seen_at)),
        *(closed if state == "closed" else [("Ends at the latest", stamp(conversation.expires_at))]),
        ("Tools", words.MODES.get(conversation.mode, conversation.mode)),
        ("Caller at the backend", conversation.backend_user_id or "not known there"),
        ("Backend session token", token_words(token)),
        *([("What is known of the caller", gone)] if (gone := standing(conversation)) else []),
    ]


def token_words(token: BackendToken | None) -> str:
    """Where the caller's session token at the backend is now."""
    if token is None:
        return "none, this caller has no session at the backend"
    if token.erased_at:
        return f"erased {moment(token.erased_at)}"
    return f"kept encrypted since {moment(token.obtained_at)}"


def shown_turns(turns: Sequence[Turn], may_see_payloads: bool, ref: str) -> list[ShownTurn]:
    """The turns of one page with their tool calls, by one query for all calls."""
    calls = ToolCall.objects.filter(turn__in=[turn.pk for turn in turns]).order_by("started_at", "sequence")
    of_turn: dict[Any, list[ToolCall]] = {}
    for call in calls if may_see_payloads else calls.defer(*PAYLOAD):
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
        arguments=visible(pretty(call.arguments, _SHOWN_CHARS)) if has_arguments else None,
        excerpt=visible(pretty_text(call.excerpt, _SHOWN_CHARS))
        if may_see_payloads and call.excerpt
        else None,
        left_out=left_out(call) if may_see_payloads and call.excerpt else "",
        found=bool(ref) and ref == call.ref,
    )


def left_out(call: ToolCall) -> str:
    """How much of a result is not in the audit; what was sent to the model is more than the tool's words."""
    if len(call.excerpt) < EXCERPT or call.result_chars <= len(call.excerpt):
        return ""
    return f"Only its first {EXCERPT} characters are kept; the model was sent {call.result_chars:,}."


def sessions(declared: Sequence[UpstreamSession], state: str) -> list[Mapping[str, object]]:
    """The sessions at the speech service as they were declared, oldest first.

    One that nobody closed is open only where the call goes on and has no newer one.
    """
    return [
        {
            "dialect": words.DIALECTS.get(session.dialect, session.dialect),
            "selection": words.SELECTIONS.get(session.selection, "no tools declared"),
            "tool_names": session.tool_names,
            "digest": session.instruction_digest,
            "opened": stamp(session.opened_at),
            "closed": closed_words(session, open_now=state == "live" and session is declared[-1]),
            "reason": session.close_reason,
        }
        for session in declared
    ]


def closed_words(session: UpstreamSession, open_now: bool) -> str:
    """When a session ended, as far as somebody was left to write it down."""
    if session.closed_at:
        return stamp(session.closed_at)
    return "still open" if open_now else "not known, its process went away"
