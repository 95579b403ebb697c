"""A browser's or a client's own conversation: bootstrap, read, clean up."""

from __future__ import annotations

import time
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language_from_request
from ninja import Router
from ninja.responses import Status

from conversations import entry, lifecycle, record
from conversations.api.auth import Browser, ClientSecret, own_page_only
from conversations.api.problems import Problem
from conversations.api.schemas import BootstrapIn, ConversationOut, ConversationWithTurns, ProblemOut
from conversations.entry import Arrival
from conversations.identity import admission, binding, rates
from conversations.models import Conversation

router = Router(tags=["conversations"])

OWNER = [ClientSecret(), Browser()]


@router.post(
    "/conversations",
    auth=own_page_only,
    response={
        200: ConversationOut,
        201: ConversationOut,
        frozenset({400, 401, 403, 410, 413, 415, 429, 502, 503}): ProblemOut,
    },
    summary="Resume this browser's conversation or open one",
)
async def bootstrap(
    request: HttpRequest, body: BootstrapIn, response: HttpResponse
) -> Status[record.Summary]:
    arrival = Arrival(
        address=address(request),
        link=body.link or "",
        phone=body.phone or "",
        cookie=request.COOKIES.get(binding.COOKIE, ""),
        episode_id=body.episode_id,
    )
    entered = await entry.enter(arrival)
    summary = await sync_to_async(record.summary)(entered.conversation, base_url(request))
    response["Location"] = f"/api/conversations/{summary.id}"
    response["Cache-Control"] = "no-store"
    if not entered.cookie:
        return Status(200, summary)
    response.set_cookie(
        binding.COOKIE, entered.cookie, httponly=True, samesite="Lax", secure=cookie_is_secure(request)
    )
    return Status(201, summary)


@router.get(
    "/conversations/current",
    response={200: ConversationOut, 404: ProblemOut},
    summary="This browser's open conversation",
)
def current(request: HttpRequest, response: HttpResponse) -> record.Summary:
    cookie = request.COOKIES.get(binding.COOKIE)
    conversation = lifecycle.current(binding.digest(cookie)) if cookie else None
    if conversation is None:
        raise Problem("not_found")
    response["Cache-Control"] = "no-store"
    return record.summary(conversation, base_url(request))


@router.get(
    "/conversations/{conversation_id}",
    auth=OWNER,
    response={200: ConversationWithTurns, frozenset({401, 404}): ProblemOut},
    summary="A conversation with its finished turns",
)
def read(request: HttpRequest, conversation_id: str, response: HttpResponse) -> dict[str, Any]:
    conversation = owned(request, conversation_id)
    lifecycle.close_when_due(conversation)
    conversation.refresh_from_db()
    response["Cache-Control"] = "no-store"
    summary = record.summary(conversation, base_url(request))
    body = ConversationOut.from_orm(summary).dict()
    return {**body, "turns": record.finished_turns(conversation, language(request))}


@router.delete(
    "/conversations/{conversation_id}",
    auth=OWNER,
    response={204: None, frozenset({401, 403, 404}): ProblemOut},
    summary="Close a conversation and erase its credential",
)
def clean_up(request: HttpRequest, conversation_id: str) -> Status[None]:
    lifecycle.close(str(owned(request, conversation_id).pk), Conversation.CloseReason.CALLER_CLEANUP)
    return Status(204, None)


def owned(request: HttpRequest, conversation_id: str) -> Conversation:
    """The visitor's conversation; anybody else's, or none, is the same problem."""
    conversation = admission.owned(request.auth, conversation_id)  # type: ignore[attr-defined]
    if conversation is None:
        raise Problem("not_found")
    return conversation


def base_url(request: HttpRequest) -> str:
    """`scheme://host` under which this deployment is reached."""
    return str(settings.VOCERO.public_url) or f"{request.scheme}://{request.get_host()}"


def cookie_is_secure(request: HttpRequest) -> bool:
    return request.is_secure() or str(settings.VOCERO.public_url).startswith("https://")


def address(request: HttpRequest) -> str:
    """The client's address, as far as it can be trusted."""
    forwarded = request.headers.get("X-Forwarded-For")
    return rates.address_of(forwarded, request.META.get("REMOTE_ADDR") or "", settings.VOCERO.trusted_proxies)


async def limit(scope: str, who: str, most: int, detail: str) -> None:
    """Counts one attempt; a Problem with `detail` where there were `most` in this minute already."""
    wait = await sync_to_async(rates.retry_after)(scope, who, most, time.time())
    if wait is not None:
        raise Problem("rate_limited", detail, retry_after=wait)


def language(request: HttpRequest) -> str:
    return get_language_from_request(request).partition("-")[0]
