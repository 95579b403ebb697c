"""Open, claim, keep, close, sweep: the only writes to a conversation's state, each a guarded UPDATE."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import Error, transaction
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.utils import timezone

from conversations import storage
from conversations.identity import links, vault
from conversations.identity.login import Identity
from conversations.identity.refusal import Refused
from conversations.locks import briefly
from conversations.metrics import METER
from conversations.models import BackendToken, Conversation, PhoneLink, ToolCall, Turn, UpstreamSession
from conversations.nudging import nudge

log = structlog.get_logger(__name__)

OPEN = Conversation.State.OPEN
Reason = Conversation.CloseReason
LEASE = timedelta(seconds=15)
SECRET_LIFE = timedelta(minutes=10)
# The longest that a tool may run, and some time to write it down.
FINISHING = timedelta(seconds=200)
# An open conversation without a call counts against the capacity for this long.
FRESH = timedelta(seconds=60)
_BATCH = 200


@dataclass(frozen=True, slots=True)
class Opening:
    """What a new conversation starts with; `previous_hash` is the binding this browser had until now."""

    mode: str
    identity: Identity | None = None
    browser_hash: str = ""
    previous_hash: str = ""
    secret_hash: str = ""
    secret_expires_at: datetime | None = None
    link_id: uuid.UUID | None = None
    episode_id: str = ""
    browser_tools: tuple[str, ...] = ()
    session: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a conversation's call, until a newer claim has a higher generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of a claim: `held`, `superseded`, or `closed` with the conversation's close reason.

    With `stale_tools` an operator wants the call's tools asked for anew, which is told once.
    """

    state: str
    reason: str = ""
    stale_tools: bool = False


@dataclass(frozen=True, slots=True)
class Swept:
    """How many rows each step of a sweep changed, and the steps that failed."""

    changed: Mapping[str, int]
    failures: tuple[str, ...]


def open_conversation(opening: Opening) -> Conversation:
    """Opens one, uses its link up and supersedes this browser's open one, all or nothing.

    Raises Refused: rate_limited at capacity, link_used where another request was faster.
    """
    now = timezone.now()
    with transaction.atomic():
        for earlier in list(_open_of(opening.previous_hash).values_list("pk", flat=True)):
            _close(earlier, Reason.SUPERSEDED, now)
        if _occupied(now) >= settings.VOCERO.max_conversations:
            raise Refused("rate_limited", "All lines are busy. Try again in a moment.", retry_after=30)
        conversation = _insert(opening, now)
        if opening.link_id:
            links.consume(opening.link_id, opening.browser_hash, conversation, now)
    log.info("conversation.opened", conversation=str(conversation.pk), mode=conversation.mode)
    return conversation


def rejoin(browser_hash: str, identity: Identity, link_id: uuid.UUID | None) -> Conversation | None:
    """This browser's open conversation of the same caller, with the newer credential and its link used up."""
    now = timezone.now()
    with transaction.atomic():
        conversation = _open_of(browser_hash).filter(backend_user_id=identity.user_id).first()
        if conversation is None or due(conversation, now):
            return None
        # The row is locked by this UPDATE, so that no close slips between it and the token's.
        if not _open_of(browser_hash).filter(pk=conversation.pk).update(last_seen_at=now):
            return None
        if link_id:
            links.consume(link_id, browser_hash, conversation, now)
        _keep_token(conversation, identity, now)
    return conversation


def current(browser_hash: str) -> Conversation | None:
    """This browser's open conversation, unless its time is over."""
    conversation = _open_of(browser_hash).order_by("-opened_at").first()
    return None if conversation is None or close_when_due(conversation) else conversation


def due(conversation: Conversation, now: datetime) -> str:
    """`expired` or `idle` where an open conversation's time is over, else empty."""
    if conversation.expires_at <= now:
        return Reason.EXPIRED.value
    idle_since = now - timedelta(seconds=settings.VOCERO.conversation_idle)
    return Reason.IDLE.value if conversation.last_seen_at <= idle_since else ""


def close_when_due(conversation: Conversation) -> str:
    """Closes an open conversation whose time is over; the reason it is closed for, empty while it is open."""
    if conversation.state != OPEN:
        return conversation.close_reason
    reason = due(conversation, timezone.now())
    if reason:
        close(str(conversation.pk), reason)
    return reason


def close(conversation_id: str, reason: str) -> bool:
    """Closes an open conversation once and erases its credential; False where it was closed already."""
    with transaction.atomic():
        return _close(uuid.UUID(conversation_id), reason, timezone.now())


def claim(conversation_id: str, owner: str) -> Claim | None:
    """Gives the call to its newest socket; None where the conversation is not open any more."""
    now = timezone.now()
    with transaction.atomic():
        claimed = Conversation.objects.filter(pk=conversation_id, state=OPEN, expires_at__gt=now).update(
            owner=owner,
            generation=F("generation") + 1,
            claimed_at=now,
            lease_expires_at=now + LEASE,
            last_seen_at=now,
        )
        if not claimed:
            return None
        generation = Conversation.objects.values_list("generation", flat=True).get(pk=conversation_id)
        if generation > 1:
            transaction.on_commit(partial(nudge, conversation_id))
    log.info("conversation.claimed", conversation=conversation_id, generation=generation)
    return Claim(generation)


def heartbeat(conversation_id: str, owner: str, generation: int, active: bool) -> Standing:
    """Renews a claim's lease and its client secret; `active` also moves the idle clock."""
    now = timezone.now()
    renewed = now + SECRET_LIFE
    values: dict[str, Any] = {
        "lease_expires_at": now + LEASE,
        # Never shortened, and never given to a conversation that has no secret.
        "secret_expires_at": Case(
            When(secret_expires_at__lt=renewed, then=Value(renewed)), default=F("secret_expires_at")
        ),
    }
    if active:
        values["last_seen_at"] = now
    held = _held(conversation_id, owner, generation)
    # Two statements only for the rare call whose tools are stale.
    if held.filter(tools_stale=False).update(**values):
        return Standing("held")
    if held.update(**values, tools_stale=False):
        return Standing("held", stale_tools=True)
    row = Conversation.objects.filter(pk=conversation_id).values_list("state", "close_reason").first()
    if row is None:
        return Standing("closed", Reason.EXPIRED.value)
    state, reason = row
    return Standing("superseded") if state == OPEN else Standing("closed", reason)


def release(conversation_id: str, owner: str, generation: int) -> None:
    """Ends a claim's lease; the conversation stays open for the next socket."""
    _held(conversation_id, owner, generation).update(owner="", lease_expires_at=None)


def sweep(now: datetime, leases_count: Callable[[], bool] = lambda: True) -> Swept:
    """What time and dead processes left behind; safe to run in every process, each step on its own.

    `leases_count` says whether a lease that ran out proves a death at that moment.
    """
    changed: dict[str, int] = {}
    failures: list[str] = []
    for name, step in SWEEP_STEPS:
        try:
            if name not in BY_LEASE or leases_count():
                changed[name] = step(now)
        except Error:
            log.exception("sweep.failed", step=name)
            failures.append(name)
    return Swept(changed, tuple(failures))


def waiting(now: datetime) -> Mapping[str, int]:
    """How many rows each step of a sweep would change now."""
    return {
        "expired": _expired(now).count(),
        "idle": _idle(now).count(),
        "tokens": _left_tokens().count(),
        "turns": _lost_turns(now).count(),
        "tool_calls": _lost_calls(now).count(),
        "upstream_sessions": _lost_upstreams(now).count(),
        "phone_links": _stale_links(now).count(),
    }


def _occupied(now: datetime) -> int:
    fresh = Q(lease_expires_at__gt=now) | Q(last_seen_at__gt=now - FRESH)
    return Conversation.objects.filter(fresh, state=OPEN).count()


def _open_of(browser_hash: str) -> QuerySet[Conversation]:
    known = Conversation.objects.filter(state=OPEN, browser_hash=browser_hash)
    return known if browser_hash else known.none()


def _held(conversation_id: str, owner: str, generation: int) -> QuerySet[Conversation]:
    return Conversation.objects.filter(pk=conversation_id, owner=owner, generation=generation, state=OPEN)


def _insert(opening: Opening, now: datetime) -> Conversation:
    identity = opening.identity
    conversation = Conversation.objects.create(
        mode=opening.mode,
        caller_name=identity.name if identity else "",
        backend_user_id=identity.user_id if identity else "",
        browser_hash=opening.browser_hash,
        secret_hash=opening.secret_hash,
        secret_expires_at=opening.secret_expires_at,
        episode_id=opening.episode_id,
        browser_tools=list(opening.browser_tools),
        session=storage.storable(dict(opening.session)),
        opened_at=now,
        last_seen_at=now,
        expires_at=now + timedelta(seconds=settings.VOCERO.conversation_ttl),
    )
    if identity:
        _keep_token(conversation, identity, now)
    return conversation


def _keep_token(conversation: Conversation, identity: Identity, now: datetime) -> None:
    values = {
        "ciphertext": vault.seal(identity.token, bound_to=str(conversation.pk)),
        "fingerprint": identity.fingerprint,
        "obtained_at": now,
        "erased_at": None,
    }
    BackendToken.objects.update_or_create(conversation=conversation, defaults=values)


def _close(conversation_id: uuid.UUID, reason: str, now: datetime, still: Q | None = None) -> bool:
    """Inside a transaction: one guarded UPDATE, and what belongs to the end of a conversation with it."""
    row = Conversation.objects.filter(still or Q(), pk=conversation_id, state=OPEN)
    if not row.update(state=Conversation.State.CLOSED, close_reason=reason, closed_at=now):
        return False
    BackendToken.objects.filter(conversation=conversation_id).update(ciphertext="", erased_at=now)
    PhoneLink.objects.filter(conversation=conversation_id).update(phone_ciphertext="", used_by_hash="")
    at_work = Q(lease_expires_at__gt=now) | Q(turn_lease_expires_at__gt=now)
    if not Conversation.objects.filter(at_work, pk=conversation_id).exists():
        # No call and no turn is left that would close them itself.
        _end_turns(Turn.objects.filter(conversation=conversation_id), now)
        _end_calls(ToolCall.objects.filter(conversation=conversation_id), now)
        _end_upstreams(UpstreamSession.objects.filter(conversation=conversation_id), now)
    transaction.on_commit(partial(_announce, conversation_id, reason))
    return True


def _announce(conversation_id: uuid.UUID, reason: str) -> None:
    METER.closed(str(reason))
    log.info("conversation.closed", conversation=str(conversation_id), reason=str(reason))
    nudge(conversation_id)


def _end_turns(turns: QuerySet[Turn], now: datetime) -> int:
    running = turns.filter(outcome=Turn.Outcome.RUNNING)
    return running.update(outcome=Turn.Outcome.FAILED, code="connection_lost", ended_at=now)


def _end_calls(calls: QuerySet[ToolCall], now: datetime) -> int:
    running = calls.filter(status=ToolCall.Status.RUNNING)
    return METER.swept(running.update(status=ToolCall.Status.FAILED, code="connection_lost", ended_at=now))


def _end_upstreams(sessions: QuerySet[UpstreamSession], now: datetime) -> int:
    return sessions.filter(closed_at=None).update(closed_at=now, close_reason="lost: process gone")


def _expired(now: datetime) -> QuerySet[Conversation]:
    return Conversation.objects.filter(state=OPEN, expires_at__lte=now)


def _idle(now: datetime) -> QuerySet[Conversation]:
    idle_since = now - timedelta(seconds=settings.VOCERO.conversation_idle)
    return Conversation.objects.filter(state=OPEN, last_seen_at__lte=idle_since, expires_at__gt=now)


def _left_tokens() -> QuerySet[BackendToken]:
    return BackendToken.objects.exclude(ciphertext="").exclude(conversation__state=OPEN)


def _lost(now: datetime, began: str = "started_at") -> Q:
    """Rows whose call is gone: its lease ran out, or a newer claim outlived all it can have had running."""
    no_lease = Q(conversation__lease_expires_at=None) | Q(conversation__lease_expires_at__lte=now)
    settled = now - LEASE - timedelta(seconds=settings.VOCERO.tool_timeout)
    before = {f"{began}__lt": F("conversation__claimed_at")}
    earlier_claim = Q(conversation__claimed_at__lte=settled, **before)
    return no_lease | earlier_claim


def _lost_turns(now: datetime) -> QuerySet[Turn]:
    http, untold = Q(origin=Turn.Origin.HTTP), _no_turn(now)
    return Turn.objects.filter(http & untold | ~http & _lost(now), outcome=Turn.Outcome.RUNNING)


def _lost_calls(now: datetime) -> QuerySet[ToolCall]:
    http = Q(turn__origin=Turn.Origin.HTTP)
    # Some tools finish after their turn.
    gone = _no_turn(now) & Q(started_at__lt=now - FINISHING)
    return ToolCall.objects.filter(http & gone | ~http & _lost(now), status=ToolCall.Status.RUNNING)


def _no_turn(now: datetime) -> Q:
    """Rows of a conversation in which no turn runs over HTTP."""
    lease = "conversation__turn_lease_expires_at"
    return Q(**{lease: None}) | Q(**{f"{lease}__lte": now})


def _lost_upstreams(now: datetime) -> QuerySet[UpstreamSession]:
    return UpstreamSession.objects.filter(_lost(now, "opened_at"), closed_at=None)


def _stale_links(now: datetime) -> QuerySet[PhoneLink]:
    return PhoneLink.objects.filter(expires_at__lte=now).exclude(phone_ciphertext="")


def _close_all(rows: QuerySet[Conversation], reason: str, still: Q, now: datetime) -> int:
    """In batches, each row in a transaction of its own; a row that came back to life meanwhile stays open."""
    closed = 0
    while batch := briefly()(list)(rows.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        for conversation_id in batch:
            with briefly():
                closed += _close(conversation_id, reason, now, still)
    return closed


def _sweep_expired(now: datetime) -> int:
    return _close_all(_expired(now), Reason.EXPIRED, Q(expires_at__lte=now), now)


def _sweep_idle(now: datetime) -> int:
    idle_since = now - timedelta(seconds=settings.VOCERO.conversation_idle)
    return _close_all(_idle(now), Reason.IDLE, Q(last_seen_at__lte=idle_since), now)


SWEEP_STEPS: tuple[tuple[str, Callable[[datetime], int]], ...] = (
    ("expired", _sweep_expired),
    ("idle", _sweep_idle),
    ("tokens", briefly()(lambda now: _left_tokens().update(ciphertext="", erased_at=now))),
    ("turns", briefly()(lambda now: _end_turns(_lost_turns(now), now))),
    ("tool_calls", briefly()(lambda now: _end_calls(_lost_calls(now), now))),
    ("upstream_sessions", briefly()(lambda now: _end_upstreams(_lost_upstreams(now), now))),
    ("phone_links", briefly()(lambda now: _stale_links(now).update(phone_ciphertext=""))),
)
BY_LEASE = frozenset({"turns", "tool_calls", "upstream_sessions"})
