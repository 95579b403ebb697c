"""Where a conversation's tools live, and as whom they are asked: the one place that tells the modes apart."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from django.conf import settings
from django.utils import timezone

from conversations.bootstrap import Plan
from conversations.models import Conversation
from tools.addresses import Connect, Pinned
from tools.catalog import Offer, discover
from tools.contract import Caller, ToolSource
from tools.declarations import Declarations
from tools.snapshots import SnapshotCache
from tools.sources.apipilot import ApiPilotSource, Endpoints
from tools.sources.mcp import McpSource, Server


def source_of(plan: Plan, on_changed: Callable[[], None]) -> ToolSource | None:
    """A source of this conversation's own; None where it has no server tools. It must be closed."""
    vocero = settings.VOCERO
    if plan.mode == Conversation.Mode.MCP and plan.caller:
        return McpSource(Server(vocero.mcp_url, on_changed=on_changed, connect=connect()))
    if plan.mode == Conversation.Mode.APIPILOT and vocero.apipilot.tools_url:
        return ApiPilotSource(bridge())
    return None


def bridge() -> Endpoints:
    """Where the ApiPilot bridge is."""
    vocero = settings.VOCERO
    return Endpoints(vocero.apipilot.tools_url, vocero.apipilot.execute_url, connect())


def connect() -> Connect:
    """How the operator's services are reached: their names are watched over the life of this process."""
    return partial(Pinned, allow_private=settings.VOCERO.allow_private_addresses, were_public=_public_names())


@cache
def _public_names() -> set[str]:
    """The names that led to public addresses; none of them may lead into this network later."""
    return set()


def caller_of(plan: Plan) -> Caller | None:
    """As whom tools run: who logged in, else in `apipilot` mode the service with its own credential."""
    if plan.caller is None and plan.mode == Conversation.Mode.APIPILOT:
        return service()
    return plan.caller


def service() -> Caller:
    """Nobody in particular, with the service's own credential, which may be none."""
    token = settings.VOCERO.apipilot.token
    return Caller("", token, hashlib.sha256(token.encode()).hexdigest())


async def known(mode: str, fingerprint: str) -> list[str]:
    """The names of the tools that this credential was offered when they were last asked for."""
    vocero, bridged = settings.VOCERO, mode == Conversation.Mode.APIPILOT
    source = ApiPilotSource.name if bridged else McpSource.name
    listing = await SnapshotCache(0).get(source, fingerprint) if fingerprint else None
    if listing is None:
        return []
    allowed = [tool for tool in listing.tools if bridged or tool.name in vocero.mcp_tools]
    held = await Declarations(vocero.catalog_pinned).held(source, allowed)
    unfit = {*held, *(name for name, _ in listing.refused)}
    return [tool.name for tool in allowed if tool.name not in unfit]


async def offer(plan: Plan, source: ToolSource | None, again: bool) -> Offer:
    """What the conversation may use now; with `again` nothing kept is good enough.

    A credential of the service's that the bridge refuses is no caller's login that has ended.
    """
    caller, vocero = caller_of(plan), settings.VOCERO
    if source is None or caller is None:
        return Offer()
    bridged = plan.mode == Conversation.Mode.APIPILOT
    ttl = vocero.apipilot.ttl if bridged else vocero.catalog_ttl
    allowed = None if bridged else vocero.mcp_tools
    cache, pins = SnapshotCache(ttl, again), Declarations(vocero.catalog_pinned)
    found = await discover([source], caller, allowed, cache, timezone.now(), pins)
    return found if plan.caller is not None else replace(found, unauthorized=False)
