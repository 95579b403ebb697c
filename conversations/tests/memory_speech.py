"""A speech service in this process: scripted, without a socket; what it was sent is its record."""

import asyncio
import json
from collections import deque

from conversations.realtime.connection import SpeechUnavailable
from conversations.tests import speech_events as ga
from conversations.tests.speech_events import Numbers, Says

GONE = object()


class MemoryService:
    """What `dial` reaches. Each flag is a habit of some service; each `response.create` takes one reply."""

    def __init__(self, *replies):
        self.replies = deque(replies)
        self.numbers = Numbers()
        self.lines = []
        self.refusals = 0
        self.greets = True
        self.keeps_tools = True
        self.confirms = True
        self.refuses = lambda session: False
        self.acknowledges = True
        self._dialled = asyncio.Event()

    async def dial(self):
        if self.refusals:
            self.refusals -= 1
            raise SpeechUnavailable("refused")
        line = MemoryLine(self)
        self.lines.append(line)
        self._dialled.set()
        if self.greets:
            line.say({"type": "session.created", "session": {"id": self.numbers.next("sess"), "tools": []}})
        return line

    async def line(self, number=1):
        """The so manieth connection, once it is there."""
        while len(self.lines) < number:
            self._dialled.clear()
            await self._dialled.wait()
        return self.lines[number - 1]


class MemoryLine:
    """One connection: the relay's side is `send`, `receive`, `close`; a test's side is the rest."""

    def __init__(self, service):
        self.service = service
        self.sent = []
        self.closed = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self.active = None
        self._modality = "audio"
        self._taken = 0
        self._heard = asyncio.Event()
        self._out = asyncio.Queue()

    # ---- the relay's side

    async def send(self, frame):
        await self.reads.wait()
        if self.closed.is_set():
            raise SpeechUnavailable("gone")
        event = json.loads(frame)
        self.sent.append(event)
        self._heard.set()
        self._react(event)

    async def receive(self):
        frame = await self._out.get()
        if frame is GONE:
            self._out.put_nowait(GONE)
            raise SpeechUnavailable("gone")
        return frame

    async def close(self):
        self.closed.set()

    # ---- the test's side

    def say(self, *events):
        for event in events:
            self._out.put_nowait(json.dumps(event))

    def drop(self):
        self.closed.set()
        self._out.put_nowait(GONE)

    def sent_of(self, kind):
        return [event for event in self.sent if event["type"] == kind]

    async def asked(self, kind):
        """The next event of this kind that was not asked for before; those in between are passed over."""
        while True:
            for number in range(self._taken, len(self.sent)):
                if self.sent[number]["type"] == kind:
                    self._taken = number + 1
                    return self.sent[number]
            self._heard.clear()
            await self._heard.wait()

    async def quiet(self):
        """Once everything that is ready to happen has happened."""
        for _ in range(50):
            await asyncio.sleep(0)

    # ---- the service's habits

    def _react(self, event):
        reaction = {
            "session.update": self._update,
            "conversation.item.create": self._create_item,
            "response.create": self._create_response,
            "response.cancel": self._cancel,
        }.get(event["type"])
        if reaction is not None:
            reaction(event)

    def _update(self, event):
        session = event["session"]
        self._modality = session["output_modalities"][0]
        if self.service.refuses(session):
            error = {"type": "invalid_request_error", "code": "invalid_value", "message": "No."}
            self.say({"type": "error", "error": {**error, "event_id": event["event_id"]}})
        elif self.service.confirms:
            tools = session["tools"] if self.service.keeps_tools else []
            self.say({"type": "session.updated", "session": {**session, "tools": tools}})

    def _create_item(self, event):
        if self.service.acknowledges:
            self.say(*ga.item_events(event["item"]))

    def _create_response(self, event):
        if not self.service.replies:
            return
        reply = self.service.replies.popleft()
        modality = (event["response"].get("output_modalities") or [self._modality])[0]
        events = ga.response(reply, self.service.numbers, modality)
        self.active = events[0]["response"]["id"] if isinstance(reply, Says) and not reply.ends else None
        self.say(*events)

    def _cancel(self, event):
        if event["response_id"] == self.active:
            self.active = None
            self.say(ga.done(event["response_id"], status="cancelled"))
