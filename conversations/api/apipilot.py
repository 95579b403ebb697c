"""The two routes of the legacy ApiPilot bridge, and as whom it is asked there."""

from __future__ import annotations

import time
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from conversations import bridge, lifecycle, toolbox
from conversations.api.auth import bearer, own_page_only
from conversations.api.conversations import address
from conversations.api.problems import Problem
from conversations.api.schemas import EnvelopeOut, ExecuteIn, ProblemOut
from conversations.bootstrap import logged_in
from conversations.identity import admission, binding, rates, vault
from conversations.models import Conversation
from tools.sources.apipilot import Credential

router = Router(tags=["apipilot"])

DEMO_SESSION = "x-demo-session"


@router.get(
    "/tools",
    response={200: EnvelopeOut, frozenset({400, 401, 404, 429}): ProblemOut},
    summary="The bridge's tools that may be used here, or all of them",
)
async def tools(
    request: HttpRequest, response: HttpResponse, include_unauthorized: bool = False, refresh: bool = False
) -> dict[str, Any]:
    credential = await sync_to_async(_admitted)(request)
    response["Cache-Control"] = "no-store"
    return await bridge.list_tools(credential, include_unauthorized, refresh)


@router.post(
    "/execute",
    response={200: EnvelopeOut, frozenset({400, 401, 403, 404, 413, 415, 429}): ProblemOut},
    summary="Run one of the bridge's tools",
)
async def execute(request: HttpRequest, body: ExecuteIn, response: HttpResponse) -> dict[str, Any]:
    credential = await sync_to_async(_admitted)(request)
    response["Cache-Control"] = "no-store"
    return await bridge.execute(credential, body.name, body.arguments)


def _admitted(request: HttpRequest) -> Credential:
    """As whom the bridge is asked; a Problem where it is not asked at all."""
    if settings.VOCERO.mode != Conversation.Mode.APIPILOT:
        raise Problem("apipilot_disabled")
    _limit("apipilot", address(request))
    credential = _credential(request)
    if not credential.sendable:
        raise Problem("invalid", "A credential is not fit to be forwarded.")
    if credential:
        _limit("apipilot-caller", credential.fingerprint)
    return credential


def _credential(request: HttpRequest) -> Credential:
    """The request's own credential, forwarded; else that of the conversation it belongs to; else none.

    What is Vocero's own, a client secret or an API key, never leaves.
    """
    shown, demo = bearer(request) or "", request.headers.get(DEMO_SESSION, "")
    if shown.startswith(binding.CLIENT_SECRET):
        visitor = admission.visitor_by_secret(shown)
        conversation = admission.owned(visitor, None) if visitor else None
        if conversation is None or lifecycle.close_when_due(conversation):
            raise Problem("unauthorized")
        return Credential(_bearer_of(conversation), demo)
    if shown.startswith(binding.API_KEY):
        raise Problem("unauthorized")
    own = Credential(request.headers.get("Authorization", ""), demo)
    # No page of another site can send these headers, so only a cookie needs the proof.
    return own or _by_cookie(request)


def _by_cookie(request: HttpRequest) -> Credential:
    own_page_only(request)
    cookie = request.COOKIES.get(binding.COOKIE)
    conversation = lifecycle.current(binding.digest(cookie)) if cookie else None
    return Credential(_bearer_of(conversation) if conversation else "")


def _bearer_of(conversation: Conversation) -> str:
    """Of who logged in to it, else of the service."""
    try:
        caller = logged_in(conversation) or toolbox.service()
    except vault.Unreadable as error:
        raise Problem("unauthorized") from error
    return f"Bearer {caller.token}" if caller.token else ""


def _limit(scope: str, who: str) -> None:
    wait = rates.retry_after(scope, who, settings.VOCERO.rate_apipilot, time.time())
    if wait is not None:
        raise Problem("rate_limited", "Too many requests. Try again in a moment.", retry_after=wait)
