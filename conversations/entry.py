"""How a caller comes to a conversation: resume, phone link, phone, or nobody in particular."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from conversations import lifecycle
from conversations.identity import binding, links, rates
from conversations.identity.login import Identity, log_in
from conversations.identity.refusal import Refused
from conversations.lifecycle import Opening
from conversations.models import Conversation


@dataclass(frozen=True, slots=True)
class Arrival:
    """A browser at the door: at most one of `link` and `phone`, its cookie so far, and its address."""

    address: str
    link: str = field(default="", repr=False)
    phone: str = field(default="", repr=False)
    cookie: str = field(default="", repr=False)
    episode_id: str = ""


@dataclass(frozen=True, slots=True)
class Entered:
    """The browser's conversation; `cookie` is its new binding, empty where the one it has goes on."""

    conversation: Conversation
    cookie: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Order:
    """What an integrator asks for: a normalised phone, a link, or neither where nobody needs to log in."""

    key_id: int
    lifetime: timedelta = lifecycle.SECRET_LIFE
    link: str = field(default="", repr=False)
    phone: str = field(default="", repr=False)
    browser_tools: tuple[str, ...] | None = None
    session: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Granted:
    """A client secret, shown once, and the only conversation it opens."""

    conversation: Conversation
    expires_at: datetime
    secret: str = field(repr=False)


async def enter(arrival: Arrival) -> Entered:
    """Resumes this browser's conversation or opens one. Raises Refused, and what was there is still there."""
    browser_hash = binding.digest(arrival.cookie) if arrival.cookie else ""
    named = bool(arrival.phone or arrival.link)
    if not named and (open_now := await sync_to_async(lifecycle.current)(browser_hash)):
        return Entered(open_now)
    await _limit("bootstrap", arrival.address, settings.VOCERO.rate_bootstrap)
    if not named:
        _let_anonymous_in()
        return await _open(arrival, browser_hash, None, None)
    if arrival.phone and not settings.VOCERO.unsafe_phone_selector:
        raise Refused("unsafe_phone_disabled", "Choosing a caller by phone is switched off here.")
    found = await _caller_of(arrival.link, arrival.phone, browser_hash)
    if isinstance(found, Conversation):
        return Entered(found)
    identity, link_id = found
    again = await sync_to_async(lifecycle.rejoin)(browser_hash, identity, link_id)
    return Entered(again) if again else await _open(arrival, browser_hash, identity, link_id)


async def grant(order: Order) -> Granted:
    """Opens a conversation for an integrator's client. Raises Refused."""
    await _limit("secrets", str(order.key_id), settings.VOCERO.rate_secrets)
    identity, link_id = None, None
    if order.phone or order.link:
        found = await _caller_of(order.link, order.phone, "")
        if isinstance(found, Conversation):
            raise Refused("link_used", "This link has been used already. Ask for a new one.")
        identity, link_id = found
    else:
        _let_anonymous_in()
    secret = binding.new_value(binding.CLIENT_SECRET)
    expires_at = timezone.now() + order.lifetime
    named = order.browser_tools
    opening = Opening(
        mode=settings.VOCERO.mode,
        identity=identity,
        secret_hash=binding.digest(secret),
        secret_expires_at=expires_at,
        link_id=link_id,
        browser_tools=settings.VOCERO.browser_tools if named is None else named,
        session=order.session,
    )
    conversation = await sync_to_async(lifecycle.open_conversation)(opening)
    return Granted(conversation, expires_at, secret)


def _let_anonymous_in() -> None:
    if settings.VOCERO.mode == Conversation.Mode.MCP:
        raise Refused("login_required", "Open your personal link to begin.")


async def _caller_of(
    link: str, phone: str, browser_hash: str
) -> Conversation | tuple[Identity, uuid.UUID | None]:
    """Who logs in, and by which unused link; or the open conversation that this browser used the link for."""
    link_id = None
    if link:
        found = await sync_to_async(links.look_up)(link, browser_hash)
        if isinstance(found, links.Used):
            open_now = await sync_to_async(lifecycle.current)(browser_hash)
            if open_now is None or open_now.pk != found.conversation_id:
                raise Refused("link_used", "This link has been used already. Ask for a new one.")
            return open_now
        link_id, phone = found.link_id, found.phone
    await _limit("caller", phone, settings.VOCERO.rate_bootstrap)
    return await log_in(phone), link_id


async def _open(
    arrival: Arrival, browser_hash: str, identity: Identity | None, link_id: uuid.UUID | None
) -> Entered:
    """A new conversation has a new binding: a cookie that somebody planted, or kept, opens nothing of it."""
    cookie = binding.new_value()
    opening = Opening(
        mode=settings.VOCERO.mode,
        identity=identity,
        browser_hash=binding.digest(cookie),
        previous_hash=browser_hash,
        link_id=link_id,
        episode_id=arrival.episode_id,
        browser_tools=settings.VOCERO.browser_tools,
    )
    return Entered(await sync_to_async(lifecycle.open_conversation)(opening), cookie)


async def _limit(scope: str, who: str, limit: int) -> None:
    wait = await sync_to_async(rates.retry_after)(scope, who, limit, time.time())
    if wait is not None:
        raise Refused("rate_limited", "Too many attempts. Try again in a moment.", retry_after=wait)
