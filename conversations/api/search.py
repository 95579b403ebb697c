"""Web search for the browser's own tool: the key stays here, and only an open conversation may search."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router

from conversations import lifecycle, toolbox
from conversations.api.conversations import OWNER, address, limit
from conversations.api.problems import Problem
from conversations.api.schemas import ProblemOut, SearchIn, SearchOut
from conversations.identity import admission
from conversations.identity.admission import COOKIE, Visitor
from tools.sources.web_search import Found, Provider, SearchFailed
from tools.sources.web_search import search as ask

log = structlog.get_logger(__name__)

router = Router(tags=["web search"])


@router.post(
    "/search",
    auth=OWNER,
    response={
        200: SearchOut,
        frozenset({400, 401, 403, 404, 409, 413, 415, 429, 502, 503}): ProblemOut,
    },
    summary="Search the web from an open conversation",
)
async def search(request: HttpRequest, body: SearchIn, response: HttpResponse) -> Mapping[str, Any]:
    if not settings.VOCERO.web_search:
        raise Problem("web_search_disabled")
    visitor: Visitor = request.auth  # type: ignore[attr-defined]
    conversation_id = await sync_to_async(_open_conversation)(visitor)
    for who in (conversation_id, address(request)):
        most = settings.VOCERO.rate_search
        await limit("search", who, most, "Too many searches. Try again in a moment.")
    found = await _found(conversation_id, body.query)
    response["Cache-Control"] = "no-store"
    return {"results": found}


def _open_conversation(visitor: Visitor) -> str:
    """The visitor's conversation, which must be open."""
    if visitor.kind == COOKIE:
        conversation = lifecycle.current(visitor.key_hash)
    else:
        conversation = admission.owned(visitor, None)
    if conversation is None or lifecycle.close_when_due(conversation):
        raise Problem("conversation_closed")
    return str(conversation.pk)


async def _found(conversation_id: str, query: str) -> list[Found]:
    """The results; the log has all but the question."""
    vocero, started, code = settings.VOCERO, time.monotonic(), ""
    found: list[Found] = []
    try:
        provider = Provider(vocero.serper_url, vocero.serper_api_key, toolbox.connect())
        found = await ask(provider, query)
    except SearchFailed as failure:
        code = f"search_{failure.code}"
        log.warning("search.failed", code=code, status=failure.status, conversation=conversation_id)
        raise Problem(code) from failure
    finally:
        spent = round((time.monotonic() - started) * 1000)
        log.info(
            "search.executed", conversation=conversation_id, code=code, results=len(found), duration_ms=spent
        )
    return found
