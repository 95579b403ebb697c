"""Models for tests: one script for every provider, which each fake server tells in its own protocol."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, StreamingResponse


@dataclass(frozen=True)
class Says:
    """Words of an answer, piece by piece."""

    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Thinks:
    """What the model thinks to itself."""

    text: str


@dataclass(frozen=True)
class Calls:
    """One tool call of an answer; `arguments` is an object."""

    name: str
    arguments: Any = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Fails:
    """An HTTP error in the answer's place."""

    status: int
    headers: dict = field(default_factory=dict)
    body: Any = None


@dataclass(frozen=True)
class Wire:
    """The answer as it is on the wire: objects are events, texts go out as they are."""

    events: tuple[Any, ...]


@dataclass(frozen=True)
class Tells:
    """A failure that the service tells in its stream, after what came before."""

    message: str


HOLDS = object()  # from here on the stream stays open and says nothing
BREAKS = object()  # here the connection is lost
CUT = object()  # here the answer reaches its token limit

SIGNATURE = "c2lnbmF0dXJl"
PROVIDER_WORDS = "sk-secret-key and the provider's own words"


def says(*pieces):
    return Says(pieces)


def calls(name, arguments=None, call=""):
    return Calls(name, {} if arguments is None else arguments, call)


@dataclass
class Asked:
    """One request, in no provider's words: what was said, `results` by call, tools with their parameters."""

    instructions: str
    said: list
    results: list
    tools: dict
    choice: str
    body: dict
    headers: dict


class FakeModel:
    """Answers one request after another from its script; the last answer is for all that follow."""

    def __init__(self):
        self.reset()

    def reset(self):
        """As new."""
        self.asked = []
        self.refused = []
        self.holding = asyncio.Event()
        self.gone = asyncio.Event()
        self._script = [(says("Hello."),)]

    def script(self, *answers):
        """Each answer is a tuple of what it consists of, or one such thing."""
        self._script = [answer if isinstance(answer, tuple) else (answer,) for answer in answers]

    @property
    def last(self):
        return self.asked[-1]

    async def answer(self, request):
        """The HTTP answer to a request of this provider's."""
        body = await request.json()
        try:
            asked = self.read(body)
        except (AssertionError, KeyError) as error:
            self.refused.append(repr(error))
            return JSONResponse({"error": {"message": repr(error), "code": 400}}, 400)
        asked.body, asked.headers = body, dict(request.headers)
        self.asked.append(asked)
        parts = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if callable(parts[0]):
            parts = parts[0](asked)
        if isinstance(parts[0], Fails):
            failure = parts[0]
            told = failure.body or {"error": {"message": PROVIDER_WORDS, "code": failure.status}}
            return JSONResponse(told, failure.status, failure.headers)
        return StreamingResponse(self._stream(parts), media_type="text/event-stream")

    async def _stream(self, parts):
        try:
            for event in self.events(parts):
                if event is HOLDS:
                    self.holding.set()
                    await asyncio.Event().wait()
                if event is BREAKS:
                    raise ConnectionError("the fake model breaks off")
                yield event if isinstance(event, str | bytes) else f"data: {json.dumps(event)}\n\n"
        except asyncio.CancelledError:
            self.gone.set()
            raise

    def events(self, parts):
        """The answer in this provider's protocol."""
        if isinstance(parts[0], Wire):
            yield from parts[0].events
        else:
            yield from self.told(parts)


def check(schema):
    """A schema of parameters that is one, and has no reference that leads nowhere."""
    if schema is None:
        return
    assert schema["type"] == "object", schema
    assert schema.get("properties"), "an empty object is no parameters"
    text = json.dumps(schema)
    assert "$ref" not in text or "$defs" in text, "a reference leads nowhere"
