"""HTTP reasoning: a typed question answered by the brain, as a stream of events or as one body."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.responses import Status

from conversations import lifecycle
from conversations.api import problems
from conversations.api.conversations import OWNER, language, limit, owned
from conversations.api.problems import Problem
from conversations.api.schemas import MessageIn, ProblemOut, QuestionIn, TurnAnswerOut
from conversations.brains import over_http
from conversations.brains.over_http import HttpTurn, NotBegun, Question
from conversations.identity import admission
from conversations.models import Conversation

router = Router(tags=["reasoning"])

CONVERSATION = "X-Vocero-Conversation"
FAILURES = {
    "timeout": 504,
    "internal": 500,
    "unauthorized": 401,
    "conversation_closed": 409,
    "cancelled": 409,
}


@router.post(
    "/reasoning",
    auth=OWNER,
    response={
        200: TurnAnswerOut,
        frozenset({400, 401, 403, 404, 409, 413, 415, 429, 500, 502, 504}): ProblemOut,
    },
    summary="Ask the brain; the answer is a stream of events, or one body with Accept: application/json",
)
async def reason(request: HttpRequest, body: QuestionIn) -> HttpResponseBase:
    if not settings.VOCERO.reasoning.possible:
        raise Problem("reasoning_disabled")
    conversation_id = await sync_to_async(_open_conversation)(request)
    most = settings.VOCERO.rate_reasoning
    await limit("reasoning", conversation_id, most, "Too many questions. Try again in a moment.")
    whole = _wants_json(request)
    question = Question(conversation_id, body.text, language(request), has_sheets=not whole)
    try:
        turn = await over_http.begin(question)
    except NotBegun as refused:
        raise Problem(refused.code) from refused
    response = await _whole(request, turn) if whole else _stream(turn)
    response[CONVERSATION] = conversation_id
    response["X-Vocero-Turn"] = str(turn.answering.ask.index)
    response["X-Vocero-Mode"] = turn.mode
    response["Cache-Control"] = "no-store"
    return response


@router.post(
    "/conversations/{conversation_id}/messages",
    auth=OWNER,
    response={202: None, frozenset({400, 401, 403, 404, 409, 413, 415, 429}): ProblemOut},
    summary="Send an RTVI client-message to the turn that runs over HTTP",
)
async def send(request: HttpRequest, conversation_id: str, body: MessageIn) -> Status[None]:
    conversation = await sync_to_async(owned)(request, conversation_id)
    message = body.dict()
    if over_http.readable(message) is None:
        raise Problem("invalid", "An answer to a sheet holds its nonce, and yes or no.")
    refused = await over_http.send(str(conversation.pk), message)
    if refused == "no_turn":
        raise Problem("no_turn")
    if refused:
        raise Problem("rate_limited", "Too many messages are waiting.", retry_after=1)
    return Status(202, None)


def _stream(turn: HttpTurn) -> StreamingHttpResponse:
    response = StreamingHttpResponse(_lines(turn), content_type="text/event-stream")
    # A proxy that gathers the stream would make it one late answer.
    response["X-Accel-Buffering"] = "no"
    return response


async def _lines(turn: HttpTurn) -> AsyncIterator[bytes]:
    """The events as they come; a client that goes closes this, and its turn with it."""
    try:
        async with aclosing(turn.answering.outlet.events()) as events:
            async for event in events:
                yield f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        await turn.over()
    finally:
        turn.stop()


async def _whole(request: HttpRequest, turn: HttpTurn) -> HttpResponse:
    """The turn's last event with the actions before it, once it is over."""
    actions: list[Mapping[str, Any]] = []
    last: Mapping[str, Any] = {}
    try:
        async with aclosing(turn.answering.outlet.events()) as events:
            async for event in events:
                last = event
                if event["type"] == "ui-command":
                    actions.append(event["data"])
        await turn.over()
    finally:
        turn.stop()
    if last["type"] == "turn.completed":
        return JsonResponse({**last, "actions": actions})
    status = FAILURES.get(last["code"], 502)
    problem = Problem("internal", last["message"])
    content = problems.body(problem, status, problems.request_id(request))
    return JsonResponse(
        {**content, **last, "type": content["type"], "actions": actions},
        status=status,
        content_type=problems.MEDIA_TYPE,
    )


def _wants_json(request: HttpRequest) -> bool:
    return request.get_preferred_type(["text/event-stream", "application/json"]) == "application/json"


def _open_conversation(request: HttpRequest) -> str:
    conversation_id = request.headers.get(CONVERSATION)
    conversation: Conversation | None = admission.owned(request.auth, conversation_id)  # type: ignore[attr-defined]
    if conversation is None:
        raise Problem("not_found")
    if lifecycle.close_when_due(conversation):
        raise Problem("conversation_closed", "This conversation has ended. Start one first.")
    return str(conversation.pk)
