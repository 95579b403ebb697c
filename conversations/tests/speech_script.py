"""A scripted speech service: its habits, its lines, and a real one behind a WebSocket."""

import asyncio
import json
from collections import deque
from contextlib import asynccontextmanager, suppress

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from conversations.tests import speech_dialects
from conversations.tests import speech_events as ga
from conversations.tests.speech_events import Numbers, Says


class Script:
    """What the service does. Each flag is a habit of some service; each `response.create` takes one reply.

    Each `input_audio_buffer.commit` takes one text of `spoken`, as what the caller has said.
    """

    patience = 20.0
    dialect = "ga"

    def __init__(self, *replies):
        self.replies = deque(replies)
        self.spoken = deque()
        self.numbers = Numbers()
        self.lines = []
        self.refusals = 0
        self.greets = True
        self.keeps_tools = True
        self.confirms = True
        self.refuses = lambda session: False
        self.acknowledges = True
        self.url = ""
        self._dialled = asyncio.Event()

    def connected(self, line):
        """A new connection, which is greeted."""
        self.lines.append(line)
        self._dialled.set()
        if self.greets:
            line.say({"type": "session.created", "session": {"id": self.numbers.next("sess"), "tools": []}})

    def reply(self, line):
        """What a `response.create` on this line is answered with, if it is."""
        return self.replies.popleft() if self.replies else None

    async def line(self, number=1):
        """The so manieth connection, once it is there."""
        async with asyncio.timeout(self.patience):
            while len(self.lines) < number:
                self._dialled.clear()
                await self._dialled.wait()
        return self.lines[number - 1]


class Line:
    """One connection, as a test sees it; `say` and `drop` are up to the kind of line."""

    patience = 20.0

    def __init__(self, script):
        self.script = script
        self.voice = speech_dialects.of(script.dialect)
        self.sent = []
        self._deferred = []
        self.closed = asyncio.Event()
        self.active = None
        self._modality = "audio"
        self._taken = 0
        self._heard = asyncio.Event()

    def put(self, frame):
        raise NotImplementedError

    def say(self, *events):
        """The service says this, told in GA's events, in its own words."""
        for told in events:
            for event in self.voice.tells(told):
                self.put(json.dumps({"event_id": self.script.numbers.next("event"), **event}))
            if told["type"] == "response.done":
                self._acknowledge_deferred()

    def hear(self, frame):
        """A frame of Vocero's."""
        said = json.loads(frame)
        objection = self.voice.objects(said)
        event = self.voice.hears(said)
        self.sent.append(event)
        self._heard.set()
        reaction = REACTIONS.get(event["type"])
        if objection:
            error = {"type": "invalid_request_error", "code": objection, "message": "No."}
            self.say({"type": "error", "error": {**error, "event_id": event.get("event_id")}})
        elif reaction is not None:
            reaction(self, event)

    def sent_of(self, kind):
        return [event for event in self.sent if event["type"] == kind]

    def skip(self):
        """What was sent so far is not asked for any more."""
        self._taken = len(self.sent)

    async def asked(self, kind):
        """The next event of this kind that was not asked for before; those in between are passed over."""
        async with asyncio.timeout(self.patience):
            while True:
                for number in range(self._taken, len(self.sent)):
                    if self.sent[number]["type"] == kind:
                        self._taken = number + 1
                        return self.sent[number]
                self._heard.clear()
                await self._heard.wait()

    # ---- habits

    def update(self, event):
        session, script = event["session"], self.script
        self._modality = session["output_modalities"][0]
        if script.refuses(session):
            error = {"type": "invalid_request_error", "code": self.voice.refusal, "message": "No."}
            self.say({"type": "error", "error": {**error, "event_id": event["event_id"]}})
        elif script.confirms:
            tools = session["tools"] if script.keeps_tools else []
            self.say({"type": "session.updated", "session": {**session, "tools": tools}})

    def create_item(self, event):
        if not self.script.acknowledges:
            return
        if self.voice.defers:
            self._deferred.append(event["item"])
        else:
            self.say(*ga.item_events(event["item"]))

    def _acknowledge_deferred(self):
        items, self._deferred = self._deferred, []
        for item in items:
            self.say(*ga.item_events(item))

    def commit(self, _event):
        if not self.script.spoken:
            return
        text = self.script.spoken.popleft()
        if text:
            self.say(*ga.committed(self.script.numbers.next("spoken"), text))
        else:
            error = {"type": "invalid_request_error", "code": "input_audio_buffer_commit_empty"}
            self.say({"type": "error", "error": {**error, "message": "No."}})

    def create_response(self, event):
        reply = self.script.reply(self)
        if reply is None:
            return
        modality = (event["response"].get("output_modalities") or [self._modality])[0]
        events = ga.response(reply, self.script.numbers, modality)
        self.active = events[0]["response"]["id"] if isinstance(reply, Says) and not reply.ends else None
        self.say(*events)

    def forget_answer(self):
        """What was being said ends without a word."""
        self.active = self.voice.running = None

    def cancel(self, event):
        if event["response_id"] == self.active:
            self.active = None
            self.say(ga.done(event["response_id"], status="cancelled"))


REACTIONS = {
    "session.update": Line.update,
    "conversation.item.create": Line.create_item,
    "input_audio_buffer.commit": Line.commit,
    "response.create": Line.create_response,
    "response.cancel": Line.cancel,
}


def told(line):
    """What the model was told of tools, in order: outputs of native calls, and messages of marker calls."""
    items = [event["item"] for event in line.sent_of("conversation.item.create")]
    texts = [
        item.get("output") or "".join(part["text"] for part in item.get("content", ())) for item in items
    ]
    return [text for text in texts if text.startswith(("[Reference data", '{"error"'))]


class SocketLine(Line):
    """A connection over a real socket."""

    def __init__(self, script, connection):
        super().__init__(script)
        self._connection = connection
        self._out = asyncio.Queue()

    def put(self, frame):
        self._out.put_nowait(frame)

    def drop(self):
        """The line goes dead, without a goodbye."""
        self._connection.transport.abort()

    async def hang_up(self, code=1000):
        await self._connection.close(code)

    async def gone(self):
        """Once Vocero has ended the line."""
        async with asyncio.timeout(self.patience):
            await self.closed.wait()

    async def serve(self):
        writing = asyncio.create_task(self._write())
        try:
            async for frame in self._connection:
                self.hear(frame)
        except ConnectionClosed:
            pass
        finally:
            self.closed.set()
            writing.cancel()
            await asyncio.wait({writing})

    async def _write(self):
        with suppress(ConnectionClosed):
            while True:
                await self._connection.send(await self._out.get())


@asynccontextmanager
async def scripted_speech(port=0, path="/v1/realtime"):
    """A Script that serves on loopback for as long as the block lasts."""
    script = Script()

    async def talk(connection):
        line = SocketLine(script, connection)
        line.headers = connection.request.headers
        line.path = connection.request.path
        if script.refusals:
            script.refusals -= 1
            await connection.close(1013)
            return
        script.connected(line)
        await line.serve()

    async with serve(talk, "127.0.0.1", port, compression=None, max_size=None, close_timeout=1) as server:
        script.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
        yield script
