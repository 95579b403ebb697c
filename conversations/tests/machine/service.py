"""A speech service that keeps the rules of real ones: one response at a time, every call answered first.

It does nothing by itself: what it is sent waits in `inbox`, what a response says waits in `script`. It is
told what to say in GA's events, which it says in its dialect; `manners` are what else it does differently.
"""

import asyncio
import json
from collections import deque
from dataclasses import dataclass, replace

from conversations.realtime.connection import SpeechUnavailable
from conversations.tests import speech_dialects
from conversations.tests import speech_events as ga
from conversations.tests.machine.replies import Reply, Words, frames_of
from conversations.tests.machine.story import Arrived, Begun, Delivered, Said
from conversations.tests.speech_dialects import BARE, PIPELINES

ACTIVE = "conversation_already_has_active_response"
PENDING = "function_call_output_pending"
GONE = object()
FINE = Reply((Words("It is eight.", 3),))
# What comes after what else is told with it.
LAST = ("response.done", "input_audio_buffer.speech_started")
AUDIO = '{"type": "input_audio_buffer.append"'


@dataclass(frozen=True)
class Manners:
    """What a service does."""

    dialect: str = "ga"
    announces: bool = True
    acknowledges: bool = True
    acknowledges_late: bool = False
    confirms: bool = True
    interrupts: bool = True
    keeps_tools: bool = True
    names_events: bool = True
    renames_items: bool = False
    answers_updates: bool = True
    takes_at_once: bool = True
    punctual: bool = True

    @property
    def bare(self):
        """Whether it tells the words of an answer, and neither items nor parts."""
        return self.dialect in BARE


class LivelyService:
    """What a conversation's `dial` reaches; `refusals` counts the calls that it will not take."""

    def __init__(self, story, manners):
        self.story, self.manners = story, manners
        self.refusals = 0
        self.lines = []

    async def dial(self):
        if self.refusals:
            self.refusals -= 1
            raise SpeechUnavailable("refused")
        line = LivelyLine(self.story, self.manners, len(self.lines))
        self.lines.append(line)
        line.say({"type": "session.created", "session": {"id": f"sess_{len(self.lines)}", "tools": []}})
        return line


class LivelyLine:
    """One session at the service; the relay's side is `offer`, `send`, `receive`, `read` and `close`.

    It is `heeded` while the call acts on what it says. `is_on_its_way` says whether something is that the
    relay has sent: no service is so slow that it reads in one response what it was sent in the one before.
    """

    def __init__(self, story, manners, number):
        self._story, self.manners = story, manners
        self._numbers = LineNumbers(number)
        self._voice = speech_dialects.of(manners.dialect)
        self._out = asyncio.Queue()
        self._late = []
        self._end = None
        self._last_item = None
        self._modality = "audio"
        self.reads_on = asyncio.Event()
        self.reads_on.set()
        self.closed = False
        self.heeded = False
        self.is_on_its_way = lambda: False
        self.inbox, self.script = deque(), deque()
        self.items = {}
        self.speaking = ""
        self.answers = {}
        self.owes = ""
        self.utterance = ""
        self.untranscribed = []

    # ---- the relay's side

    def offer(self, frame):
        takes = self.manners.takes_at_once and self.reads_on.is_set() and not self.closed
        if takes:
            self._arrive(frame)
        return takes

    async def send(self, frame):
        await self.reads_on.wait()
        if self.closed:
            raise SpeechUnavailable("gone")
        self._arrive(frame)

    def _arrive(self, frame):
        self._story.tell(Arrived(frame))
        if frame.startswith(AUDIO):
            return
        event = json.loads(frame)
        if event["type"] == "session.update":
            self._update(self._voice.hears(event))
        else:
            self.inbox.append(event)

    async def receive(self):
        text, frame = await self._out.get()
        if text is GONE:
            self.drop()
            raise SpeechUnavailable("gone")
        if self.heeded:
            self._story.tell(Delivered(frame))
        return text

    async def read(self, take):
        while True:
            take(await self.receive())

    async def close(self):
        self.closed = True

    # ---- the service's side

    @property
    def unread(self):
        """How many frames the relay has not read."""
        return self._out.qsize()

    @property
    def unanswered(self):
        """The calls that were told and have no output yet."""
        return [call_id for call_id, outputs in self.answers.items() if not outputs]

    def say(self, *frames):
        """Each of these in the words of the dialect: in any number of frames, of which one means it."""
        for frame in frames:
            meant = {"event_id": self._numbers.next("event"), **frame}
            self._story.tell(Said(meant))
            told = self._voice.tells(frame)
            for number, rendered in enumerate(told):
                event = {"event_id": meant["event_id"], **rendered}
                meaning = meant if number == (len(told) - 1 if frame["type"] in LAST else 0) else None
                self.say_text(json.dumps(event), self._as_told(meaning, event))

    def _as_told(self, meaning, event):
        """What a frame means: an answer's end may leave out what the answer held."""
        if meaning is None or meaning["type"] != "response.done":
            return meaning
        return {**meaning, "response": {**meaning["response"], "output": event["response"]["output"] or []}}

    def say_text(self, text, frame=None):
        """Says anything at all."""
        self._out.put_nowait((text, frame or {"type": ""}))

    def drop(self):
        self.closed = True
        self._out.put_nowait((GONE, None))

    def complain(self, code, event_id=None):
        about = event_id if self.manners.names_events else None
        self.say({"type": "error", "error": {"type": code, "message": "No.", "event_id": about}})

    # ---- responses

    def begin(self, reply, wish="", utterance=""):
        """A response begins: by itself, after an utterance, or because of a wish."""
        response_id = self._numbers.next("resp")
        reply = replace(reply, parts=tuple(map(as_bare, reply.parts))) if self.manners.bare else reply
        frames, output = frames_of(reply, response_id, self._numbers, self._modality)
        self._story.tell(Begun(response_id, wish, utterance))
        self.speaking, self.owes = response_id, ""
        self._end = ga.done(response_id, output, reply.status, reply.code)
        self.script = deque([*frames, self._end] if reply.ends else frames)
        if self.manners.announces:
            self.say(ga.created(response_id))

    def speak(self, count):
        """The next frames of what it says."""
        for _ in range(min(count, len(self.script))):
            if self.script and self.script[0] is self._end:
                if self.is_on_its_way():
                    return
                self.catch_up()
            if self.script:
                self._speak(self.script.popleft())

    def end(self, status, stragglers=0):
        """The response ends before all is said; so many deltas come after its end."""
        self.catch_up()
        if not self.speaking or self.is_on_its_way():
            return
        response_id, rest = self.speaking, [f for f in self.script if f["type"].endswith(".delta")]
        self.script = deque()
        output = self._end["response"]["output"]
        self._speak(ga.done(response_id, output, status))
        self.say(*rest[:stragglers])

    def catch_up(self):
        """Reads what it was sent so far."""
        while self.inbox and self.speaking:
            self.act(None)

    def do_all(self):
        """Acts on everything that it was sent, and says nothing yet."""
        while self.inbox:
            self.act(FINE)

    def _speak(self, frame):
        item = frame.get("item") or {}
        if item.get("status") == "completed":
            self._remember(item)
        self._note_calls(frame)
        self.say(frame)
        if frame["type"] == "response.done":
            self.speaking = ""
            late, self._late = self._late, []
            self.say(*late)

    def _note_calls(self, frame):
        kind, response = frame["type"], frame.get("response") or {}
        told = [frame.get("item") or {}] if kind == "response.output_item.done" else []
        told += response.get("output") or [] if response.get("status") == "completed" else []
        told += [{**frame, "type": "function_call"}] if kind.endswith("arguments.done") else []
        for item in told:
            if item.get("type") == "function_call":
                self.answers.setdefault(item["call_id"], [])

    # ---- what it hears

    def hear_speech(self, ended_first=True, stragglers=0):
        """The caller begins to speak, which ends what is being said."""
        if self.speaking and self.is_on_its_way():
            return
        self.owes, self.utterance = "", self._numbers.next("item")
        started = {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0}
        pipeline = self.manners.dialect in PIPELINES
        interrupted = self.speaking and (self.manners.interrupts or pipeline)
        ended_first = ended_first or pipeline
        if interrupted and ended_first:
            self.end("cancelled", stragglers)
        self.say({**started, "item_id": self.utterance})
        if interrupted and not ended_first:
            self.end("cancelled", stragglers)

    def hear_end(self):
        """The caller has said it."""
        item_id, self.utterance = self.utterance, ""
        item = {"id": item_id, "type": "message", "role": "user", "content": [{"type": "input_audio"}]}
        stopped = {"type": "input_audio_buffer.speech_stopped", "item_id": item_id, "audio_end_ms": 900}
        committed = {"type": "input_audio_buffer.committed", "item_id": item_id, "previous_item_id": None}
        self.say(stopped, {**committed, "previous_item_id": self._last_item})
        self._remember(item)
        self.say(*ga.item_events(item, self._last_item))
        self.owes = item_id
        self.untranscribed.append(item_id)

    def understand(self, item_id, text):
        """The words of an utterance; None where there are none."""
        self.untranscribed.remove(item_id)
        kind = "conversation.item.input_audio_transcription." + (
            "completed" if text is not None else "failed"
        )
        place = {"item_id": item_id, "content_index": 0}
        self.say({"type": kind, **place, **({} if text is None else {"transcript": text})})

    # ---- what it is sent

    def act(self, reply):
        """Acts on the oldest thing that it was sent; `reply` is what it will say if asked."""
        said = self.inbox.popleft()
        objection = self._voice.objects(said)
        event = self._voice.hears(said)
        if objection:
            self.complain(objection, event.get("event_id"))
            return
        match event["type"]:
            case "conversation.item.create":
                self._take(event)
            case "response.create":
                self._be_asked(event, reply)
            case "response.cancel":
                self._cancel(event)
            case "conversation.item.truncate":
                place = {key: event[key] for key in ("item_id", "content_index", "audio_end_ms")}
                self.say({"type": "conversation.item.truncated", **place})
            case "conversation.item.retrieve":
                self._retrieve(event)
            case "input_audio_buffer.clear":
                self.say({"type": "input_audio_buffer.cleared"})
            case "input_audio_buffer.commit":
                self.complain("input_audio_buffer_commit_empty", event.get("event_id"))

    def _update(self, event):
        session = event["session"]
        self._modality = session["output_modalities"][0]
        if self.manners.answers_updates:
            tools = session["tools"] if self.manners.keeps_tools else []
            self.say({"type": "session.updated", "session": {**session, "tools": tools}})

    def _take(self, event):
        item = dict(event["item"])
        if item["type"] == "function_call_output":
            if item["call_id"] not in self.answers:
                self.complain("invalid_call_id", event["event_id"])
                return
            self.answers[item["call_id"]].append(item["output"])
        if self.manners.renames_items:
            item["id"] = self._numbers.next("item")
        acknowledged = ga.item_events(item, self._last_item) if self.manners.acknowledges else []
        self._remember(item)
        if self.speaking and self.manners.acknowledges_late and item["type"] == "function_call_output":
            self._late += acknowledged
        else:
            self.say(*acknowledged)

    def _be_asked(self, event, reply):
        if self.speaking:
            self.complain(ACTIVE, event["event_id"])
        elif self.unanswered:
            self.complain(PENDING, event["event_id"])
        else:
            self._modality = (event["response"].get("output_modalities") or [self._modality])[0]
            self.begin(reply, event["event_id"])

    def _cancel(self, event):
        if not self.speaking or event["response_id"] != self.speaking:
            self.complain("response_cancel_not_active", event["event_id"])
        elif self.manners.confirms:
            self.end("cancelled")
        else:
            self.catch_up()
            self.speaking, self.script = "", deque()
            self._voice.running = None

    def _retrieve(self, event):
        if event["item_id"] not in self.items:
            self.complain("item_retrieve_invalid_item_id", event["event_id"])
        else:
            self.say({"type": "conversation.item.retrieved", "item": self.items[event["item_id"]]})

    def _remember(self, item):
        self.items[item["id"]] = item
        self._last_item = None if self.manners.bare else item["id"]


def as_bare(part):
    """As a service tells it that knows no items: words with deltas, sound whenever it comes, calls whole."""
    if isinstance(part, Words):
        return replace(part, whole=False, secret=False)
    return replace(part, told="all")


class LineNumbers(ga.Numbers):
    """Ids that no other session of the service uses, and of which none is another's beginning."""

    def __init__(self, line):
        super().__init__()
        self._line = line

    def next(self, kind):
        return f"{super().next(kind)}_{self._line}x"
