"""The HTTP application of the model: `POST /v1/chat/completions`, and a control endpoint of tests."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from demo.aquaportal.control import answer_control
from demo.aquaportal.observed import Observed, bearer
from demo.aquaportal.portal import Portal
from demo.model.chat import ChatRequest
from demo.model.completion import Completion, event
from demo.model.replies import Reply, planned

NAME = "demo-planner"
MOST_SEEN = 200
NEVER = 3600.0
ABOUT = """<!doctype html><html lang="en"><title>Language model demo stand-in</title>
<p>This is a demo stand-in for a language model. There is no model in it: a small planner picks tools by the
words of their declarations and reads out what they return. Ask with <code>POST /v1/chat/completions</code>.
<code>/control</code> makes it fail on purpose.</p></html>
"""


@dataclass(slots=True)
class Model:
    """What answers: the replies of a script first, the planner afterwards; `seen` are the bodies it got.

    `key` is the only one that is accepted; any will do where it is empty. `left`: a client went too early.
    """

    portal: Portal
    key: str = ""
    script: deque[Reply] = field(default_factory=deque)
    seen: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_SEEN))
    left: threading.Event = field(default_factory=threading.Event)

    def reply(self, request: ChatRequest) -> Reply:
        """The answer to a request."""
        return self.script.popleft() if self.script else planned(request, self.portal.today())

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, as OpenAI's service does."""
        response = await self._response(Request(scope, receive))
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        if request.method != "POST":
            return refusal(405, "Not allowed method.", "invalid_request_error", None)
        if not bearer(request) or (self.key and bearer(request) != self.key):
            return refusal(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
        body = await request.body()
        try:
            asked = ChatRequest.model_validate_json(body)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            return refusal(400, f"Invalid value for '{where}'.", "invalid_request_error", None)
        self.seen.append(await request.json())
        completion = Completion(asked, self.reply(asked))
        if asked.stream:
            return StreamingResponse(self._stream(completion), media_type="text/event-stream")
        if completion.reply.hangs:
            await self.portal.faults.pause(NEVER)
        return JSONResponse(completion.whole())

    async def _stream(self, completion: Completion) -> AsyncIterator[str]:
        try:
            for chunk in completion.chunks():
                yield event(chunk)
                await asyncio.sleep(0)
            if completion.reply.hangs:
                await self.portal.faults.pause(NEVER)
            for chunk in completion.end():
                yield event(chunk)
            yield "data: [DONE]\n\n"
        except asyncio.CancelledError:
            self.left.set()
            raise


def build_app(model: Model) -> Starlette:
    """The application: a page about it, the model, and the control endpoint of tests."""

    async def control(request: Request) -> Response:
        return await answer_control(model.portal, request)

    async def about(_request: Request) -> Response:
        return HTMLResponse(ABOUT)

    async def models(_request: Request) -> Response:
        entry = {"id": NAME, "object": "model", "created": 0, "owned_by": "vocero-demo"}
        return JSONResponse({"object": "list", "data": [entry]})

    routes = [
        Route("/", about),
        Route("/v1/models", models),
        Route("/v1/chat/completions", Observed(model.portal, "completions", model.answer)),
        Route("/control", control, methods=["GET", "POST"]),
    ]
    return Starlette(routes=routes)


def refusal(status: int, message: str, kind: str, code: str | None) -> Response:
    """An error as OpenAI's service tells it."""
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)
