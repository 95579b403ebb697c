"""A brain whose model says what a test wrote, and somebody who asks it over HTTP."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2

from conversations.brains.loop import Picked, TextDelta
from conversations.brains.tooled import ToolBrain
from conversations.tests.people import CSRF
from vocero.services import Reasoning

PATIENCE = 60.0


def picks(name, call_id="call-1", **arguments):
    """A whole call of the model's."""
    return Picked(call_id, name, json.dumps(arguments))


class ScriptedBrain(ToolBrain):
    """Each request is answered by the next of `answers`: texts, picks, and async functions to wait for."""

    answers = []
    made = []

    def __init__(self):
        super().__init__(client=None, system_instruction="You are a test.", model="scripted")
        self.requests = []
        ScriptedBrain.made.append(self)

    async def stream(self, request):
        self.requests.append(request)
        for piece in self.answers.pop(0):
            if isinstance(piece, str):
                yield TextDelta(piece)
            elif isinstance(piece, Picked):
                yield piece
            else:
                await piece()


def scripted(brain_class, *answers):
    """The settings of a deployment whose brain is of this class and answers like this."""
    brain_class.answers = [list(answer) for answer in answers]
    ScriptedBrain.made = []
    return Reasoning(brain=f"{brain_class.__module__}.{brain_class.__qualname__}")


class Asking:
    """One question over HTTP, and the events that came so far."""

    def __init__(self, response):
        self.response, self.events = response, []
        self._moved = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @property
    def types(self):
        return [event["type"] for event in self.events]

    @property
    def spoken(self):
        return "".join(event["delta"] for event in self.events if event["type"] == "text.delta")

    @property
    def last(self):
        return self.events[-1]

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    async def shown(self, kind, count=1):
        """The newest event of this kind, once there are so many."""
        async with asyncio.timeout(PATIENCE):
            while len(self.of(kind)) < count:
                assert not self._reading.done(), self.events
                self._moved.clear()
                await self._moved.wait()
        return self.of(kind)[-1]

    async def over(self):
        """All events, once no more come."""
        async with asyncio.timeout(PATIENCE):
            await self._reading
        return self.events

    async def leave(self):
        self._reading.cancel()
        await asyncio.wait({self._reading})

    async def _read(self):
        try:
            async for line in self.response.aiter_lines():
                if line:
                    assert line.startswith("data: "), line
                    self.events.append(json.loads(line.removeprefix("data: ")))
                    self._moved.set()
        finally:
            self._moved.set()


def headers(person, **more):
    cookies = {"csrftoken": CSRF, **({"vocero_browser": person.cookie} if person.cookie else {})}
    jar = "; ".join(f"{name}={value}" for name, value in cookies.items())
    own = {"X-Vocero-Conversation": person.conversation or "", "X-CSRFToken": CSRF, "Cookie": jar}
    return {**own, "Origin": person.address.origin, **more}


@asynccontextmanager
async def asks(person, text):
    """The question with its answer as a stream; leaving the block hangs up."""
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        url = person.address.origin + "/api/reasoning"
        async with client.stream("POST", url, json={"text": text}, headers=headers(person)) as response:
            assert response.status_code == 200, await response.aread()
            asking = Asking(response)
            try:
                yield asking
            finally:
                await asking.leave()


async def question(person, text, **more):
    """The question, with the answer as one body."""
    own = headers(person, Accept="application/json", **more)
    return await person.send("POST", "/api/reasoning", {"text": text}, **own)


async def tap(person, **answer):
    """What the page sends when somebody taps."""
    data = {"t": "confirm_answer", "d": answer} if "t" not in answer else answer
    body = {"label": "rtvi-ai", "type": "client-message", "id": "m-1", "data": data}
    return await person.send("POST", f"/api/conversations/{person.conversation}/messages", body)
