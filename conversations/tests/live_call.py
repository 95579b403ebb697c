"""One real session between a scripted service and a browser in memory; everything it shows is kept."""

import asyncio
import json
from itertools import count

from conversations.core.records import CallClosed, CallOpened, TurnClosed, TurnTexts
from conversations.core.transcript import Said
from conversations.realtime import endings
from conversations.realtime.call import Call, Ports
from conversations.realtime.session import Session
from conversations.realtime.toolrun import NotRecorded
from conversations.tests import speech_events as ga
from conversations.tests.screen import Screen
from conversations.tests.speech_events import Calls
from tools.catalog import Offer
from tools.testing import MemorySource, a_caller, a_tool, answers, offer_of

OXYGEN = {"cage": 4, "oxygen": "7.4 milligrams per liter", "note": "RESULT-ONLY-FOR-THE-MODEL"}
QUESTION = "What is the oxygen level in cage four?"
ANSWER = "It is seven point four milligrams per liter."
ASKS = {"request": {"metric": "ARGUMENT-ONLY-FOR-THE-TOOL"}}
PICKS = Calls.one("get_metric_history", ASKS)
MARKER = f"<<<VOCERO_MCP_CALL:NAME=get_metric_history,ARGUMENTS={json.dumps(ASKS)}>>>"
ONLY_FOR_THE_MODEL = (
    "RESULT-ONLY",
    "ARGUMENT-ONLY",
    "<<<",
    "VOCERO_MCP_CALL",
    "Reference data",
    "You are a voice",
)
METRIC = a_tool("get_metric_history", {"type": "object", "properties": {"request": {"type": "object"}}})


def oxygen_source():
    return MemorySource((METRIC, answers(OXYGEN, titles=("Cage four",))))


class SlowTool:
    """A source with one tool that works until it is told to finish, or cancelled and then let go."""

    def __init__(self):
        self.started = asyncio.Event()
        self.let_go = asyncio.Event()
        self.let_go.set()
        self.finish = asyncio.Event()
        self.source = MemorySource((METRIC, self._work))

    async def asked_by(self, call):
        """The connection to the service, once the caller's question has set the tool to work."""
        line = await call.ready()
        call.types(QUESTION)
        await self.started.wait()
        return line

    async def _work(self, arguments, context):
        self.started.set()
        try:
            await self.finish.wait()
        finally:
            await self.let_go.wait()
        return await answers(OXYGEN)(arguments, context)


class LiveCall(Screen):
    """`async with` it: the call runs inside, and nothing of it is left afterwards."""

    patience = 1000.0  # of virtual time

    def __init__(self, service, source=None, offer=None, **call):
        super().__init__()
        self.service = service
        self.records = []
        self.unauthorized = 0
        self.asked_again = 0
        self.send_gate = None
        self.commits = True
        self.alone = True
        self._source, self._offer = source, offer
        self._ids = count(1)
        values = {"caller": a_caller(), "caller_name": "Ada Admin", "plain": False, "selection": "auto"}
        values |= {"conversation_id": "c-1", "expires_at": "2026-08-05T12:00:00+00:00", "tool_timeout": 30.0}
        self.session = Session(Call(**{**values, **call}), self._ports())

    async def __aenter__(self):
        self._before = asyncio.all_tasks()
        self.running = asyncio.create_task(self.session.run())
        return self

    async def __aexit__(self, *_error):
        self.session.end(endings.LEFT)
        await self.running
        left = asyncio.all_tasks() - self._before
        assert not self.alone or not left, left
        timers = [timer for timer in asyncio.get_running_loop()._scheduled if not timer.cancelled()]
        assert not self.alone or not timers, timers

    def _ports(self):
        return Ports(
            send=self._send,
            dial=self.service.dial,
            discover=self._discover,
            write=self.records.append,
            commit=self._commit,
            now=lambda: asyncio.get_running_loop().time(),
            new_id=lambda kind: f"{kind}-{next(self._ids)}",
            unauthorized=self._count_unauthorized,
        )

    async def _send(self, frame):
        if self.send_gate is not None:
            await self.send_gate.wait()
        self.show(frame)

    async def _discover(self, again):
        self.asked_again += again
        if self._offer is not None:
            return self._offer
        return await offer_of(self._source) if self._source is not None else Offer()

    def changes_tools(self, offer):
        """The source tells that its tools are others now: these."""
        self._offer = offer
        self.session.tools_changed()

    async def _commit(self, record):
        if not self.commits:
            raise NotRecorded("the database is away")
        self.records.append(record)

    def _count_unauthorized(self):
        self.unauthorized += 1

    # ---- the browser

    def send(self, kind, **fields):
        self.session.receive(json.dumps({"type": kind, **fields}))

    def types(self, text, answer=True):
        content = [{"type": "input_text", "text": text}]
        self.send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
        if answer:
            self.send("response.create")

    async def ready(self):
        """The connection to the service, once the call can begin."""
        await self.shown("session.created")
        line = self.service.lines[-1]
        line.skip()
        return line

    # ---- what the caller does with their voice

    def speaks(self, line, text, item_id="spoken-1"):
        line.say(
            {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": item_id},
            {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 900, "item_id": item_id},
            {
                "type": "conversation.item.input_audio_transcription.completed",
                "item_id": item_id,
                "content_index": 0,
                "transcript": text,
            },
        )

    def interrupts(self, line):
        line.say({"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "spoken-2"})

    def answers(self, line, reply):
        """The service answers by itself, as it does after speech."""
        line.say(*ga.response(reply, self.service.numbers))

    # ---- the record

    def opened_calls(self):
        return [record for record in self.records if isinstance(record, CallOpened)]

    def closed_calls(self):
        return [record for record in self.records if isinstance(record, CallClosed)]

    def closed_turns(self):
        return [record for record in self.records if isinstance(record, TurnClosed)]

    def texts(self):
        return [record for record in self.records if isinstance(record, TurnTexts)]


def said(*pairs):
    """History of (role, text)."""
    return tuple(Said(role, text) for role, text in pairs)


def assert_nothing_leaked(call):
    """What the browser was shown holds nothing of the server's."""
    for secret in (*ONLY_FOR_THE_MODEL, a_caller().token, "function_call"):
        assert secret not in call.everything(), secret
