"""Vocero as a language model: a speech service asks, the brain of the call that it serves answers."""

from __future__ import annotations

import hmac
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import structlog
from django.conf import settings
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.security.http import HttpAuthBase

from conversations.api.auth import bearer
from conversations.api.problems import Problem
from conversations.api.schemas import CompletionIn, CompletionOut, ProblemOut
from conversations.brains import elsewhere, tickets, voice
from conversations.brains.completions import DONE, Completion, event
from conversations.brains.voice import NobodyAsks
from conversations.identity import binding
from conversations.realtime import calls, prompt

log = structlog.get_logger(__name__)

router = Router(tags=["language model"])

NAME = "vocero"


class SpeechService(HttpAuthBase):
    """`Authorization: Bearer …`, one of S2S_SERVICE_KEYS; all of them are compared, in constant time."""

    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> str | None:
        shown = binding.digest(bearer(request) or "")
        keys = settings.VOCERO.reasoning.service_keys
        good = [hmac.compare_digest(shown, binding.digest(key)) for key in keys]
        return "speech service" if any(good) else None


@router.post(
    "/chat/completions",
    auth=SpeechService(),
    response={200: CompletionOut, frozenset({400, 401, 413, 415, 500}): ProblemOut},
    summary="The brain as the language model of a speech service, in OpenAI's shapes",
)
async def complete(request: HttpRequest, body: CompletionIn) -> HttpResponseBase:
    answer = await _answer(body)
    asked = sum(len(message.text) for message in body.messages)
    name = f"chatcmpl-{uuid.uuid4().hex}"
    completion = Completion(name, int(time.time()), body.model or NAME, asked)
    if not body.stream:
        async with aclosing(answer) as pieces:
            text = "".join([piece async for piece in pieces])
        return JsonResponse(completion.whole(text.strip()), headers={"Cache-Control": "no-store"})
    usage = body.stream_options is not None and body.stream_options.include_usage
    response = StreamingHttpResponse(_stream(completion, answer, usage), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    # A proxy that gathers the stream would make it one late answer.
    response["X-Accel-Buffering"] = "no"
    return response


async def _answer(body: CompletionIn) -> AsyncGenerator[str, None]:
    """The answer, begun; without a good ticket of a session that runs there is nobody to answer."""
    ticket = tickets.shown(body.instructions, time.time())
    if ticket is None:
        raise Problem("unauthorized", "No ticket of a conversation that is being held.")
    line = prompt.said_exactly(body.instructions) if ticket.says else ""
    call = calls.find(ticket.conversation_id)
    try:
        if call is None or not call.brain.holds(ticket.session_id):
            return await elsewhere.ask(ticket, body.words, line)
        return _line(line) if ticket.says else await voice.of(call.brain).ask(ticket.session_id, body.words)
    except NobodyAsks as error:
        raise Problem("unauthorized", "The session that asks is over.") from error


async def _line(text: str) -> AsyncGenerator[str, None]:
    yield text


async def _stream(
    completion: Completion, answer: AsyncGenerator[str, None], usage: bool
) -> AsyncIterator[bytes]:
    """The answer as it comes; a client that goes closes this, and what it caused with it."""
    said = 0
    async with aclosing(answer) as pieces:
        yield event(completion.piece(""))
        async for text in pieces:
            said += len(text)
            yield event(completion.piece(text))
    yield event(completion.end())
    if usage:
        yield event(completion.cost(said))
    yield DONE
