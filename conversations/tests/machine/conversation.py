"""A caller's conversation in the machine: its rows, and one socket after the other, each call watched."""

import asyncio
import json
from dataclasses import dataclass, replace
from itertools import count

from conversations.core.policy import Limits
from conversations.core.records import TurnClosed, TurnOpened, TurnTexts, UpstreamClosed, UpstreamOpened
from conversations.core.transcript import Said as Line
from conversations.realtime import endings
from conversations.realtime.call import Call, Ports
from conversations.realtime.session import Session
from conversations.realtime.toolrun import NotRecorded
from conversations.tests.machine import owned
from conversations.tests.machine.portal import HeldPortal
from conversations.tests.machine.replies import DELETE, SEARCH
from conversations.tests.machine.service import LivelyService
from conversations.tests.machine.story import (
    Fed,
    Glance,
    Handled,
    Missed,
    Over,
    Put,
    Shown,
    Story,
    Unwritten,
    Wrote,
)
from tools.testing import a_caller, offer_of

LIMITS = Limits(attempts=3, result_chars=4_000, turn_result_chars=6_000, confirm=15.0)
TOOL_TIMEOUT = 30.0
FINISHES = "list_reports"


@dataclass(frozen=True)
class Plan:
    """How a deployment is set: how tools are picked, and whether a call waits for a lost browser."""

    selection: str = "auto"
    session_max: float = 0.0
    grace: bool = True


class Conversation:
    """What outlives its sockets: who calls, and the rows."""

    def __init__(self, name, manners, plan):
        self.name, self.manners, self.plan = name, manners, plan
        self.caller = a_caller(f"user-of-{name}", f"TOKEN-OF-{name}")
        self.rows = {}
        self.sockets = []
        self.ids = count(1)

    @property
    def grace(self):
        return self.plan.grace

    @property
    def socket(self):
        """The one that has the conversation."""
        return self.sockets[-1]

    def connect(self):
        """A new socket; one that has the conversation loses it."""
        if self.sockets:
            self.socket.end(endings.TAKEN_OVER)
        self.sockets.append(Socket(self))

    def forget(self, socket):
        """An older socket is over."""
        self.sockets = [one for one in self.sockets if one is not socket or one is self.socket]

    def call(self):
        """The plan of a new socket, from the rows."""
        rows = sorted(self.rows.values(), key=lambda row: row[0].index)
        said = [
            text
            for _, end in rows
            if end
            for text in (("caller", end.caller_text), ("assistant", end.heard_text))
        ]
        return Call(
            conversation_id=self.name,
            caller=self.caller,
            caller_name=f"Name of {self.name}",
            plain=False,
            expires_at="2026-08-05T12:00:00+00:00",
            selection=self.plan.selection,
            speech_session_max=self.plan.session_max,
            tool_timeout=TOOL_TIMEOUT,
            browser_tools=frozenset({SEARCH}),
            finish_tools=frozenset({FINISHES}),
            confirm_tools=frozenset({DELETE}),
            limits=LIMITS,
            next_turn=rows[-1][0].index + 1 if rows else 1,
            history=tuple(Line(role, text) for role, text in said if text)[-24:],
        )

    def keep(self, record):
        match record:
            case TurnOpened(turn_id):
                self.rows[turn_id] = record, None
            case TurnClosed(turn_id):
                self.rows[turn_id] = self.rows[turn_id][0], record
            case TurnTexts(turn_id) if self.rows[turn_id][1] is not None:
                texts = {"caller_text": record.caller_text, "heard_text": record.heard_text}
                known = {name: text for name, text in texts.items() if text is not None}
                opened, end = self.rows[turn_id]
                self.rows[turn_id] = opened, replace(end, **known)


class Socket:
    """One socket and its call: `line` is its session at the service, `ending` how it was told to end."""

    def __init__(self, conversation):
        self.conversation = conversation
        self.story = Story(conversation.name, conversation.caller)
        self.portal = HeldPortal(self.story, self._call_of)
        self.service = LivelyService(self.story, conversation.manners)
        self.line = None
        self.ending = None
        self.reads_on, self.database_on = asyncio.Event(), asyncio.Event()
        self.reads_on.set()
        self.database_on.set()
        self.refuses_rows = self.away = False
        self.sheets = []
        self.reach = None
        self.session = WatchedSession(conversation.call(), self._ports(), self)
        self.running = asyncio.create_task(self._run())

    @property
    def over(self):
        return self.running.done()

    def _ports(self):
        conversation = self.conversation
        return Ports(
            send=self._arrive,
            dial=self.service.dial,
            discover=lambda _again: offer_of(self.portal),
            write=self._write,
            commit=self._commit,
            now=lambda: asyncio.get_running_loop().time(),
            new_id=lambda kind: f"{kind}-{next(conversation.ids)}.",
            unauthorized=lambda: self.end(endings.closed("auth_expired")),
            hold=self._hold,
        )

    async def _run(self):
        self.story.tell(Over(await self.session.run()))

    async def _arrive(self, frame):
        reads_on = self.reads_on
        await reads_on.wait()
        if '"open_confirm"' in frame:
            self.sheets.append(json.loads(frame)["data"]["payload"]["nonce"])

    def _write(self, record):
        match record:
            case UpstreamOpened():
                self.line = self.service.lines[-1]
                self.line.heeded = True
                self.line.is_on_its_way = self._is_on_its_way
            case UpstreamClosed():
                self.line.heeded = False
                self.line = None
        self.story.tell(Wrote(record))
        self.conversation.keep(record)

    async def _commit(self, record):
        if self.refuses_rows:
            self.story.tell(Unwritten(record))
            raise NotRecorded("the database is away")
        self.story.tell(Wrote(record))
        await self.database_on.wait()

    def _is_on_its_way(self):
        outbox = self.session._upstream._outbox
        return outbox is not None and not outbox._empty.is_set()

    def _call_of(self, task):
        known = self.session._tools.items()
        return next((call_id for call_id, working in known if working is task), "")

    def _hold(self, _ending):
        """Whether the call goes on for a while, now that its browser is too slow."""
        if self.conversation.grace:
            self.leave()
        return self.conversation.grace

    # ---- what may be done to it

    def leave(self):
        """The browser is lost."""
        self.away = True
        self.session.browser_left()

    def come(self):
        """A browser is there, a new one or the same."""
        self.away = False
        self.reads_on = asyncio.Event()
        self.reads_on.set()
        self.session.browser_came(True)

    def end(self, ending):
        self.ending = self.ending or ending
        self.session.end(ending)

    def send(self, kind, **fields):
        self.send_text(json.dumps({"type": kind, **fields}))

    def send_text(self, text):
        self.session.receive(text)

    def glance(self, settled, others=(), last=False):
        """What there is at the end of a step, beside the sockets of others."""
        if self.story.things or self.reach is None:
            self.reach = owned.reach(self.session)
        return Glance(
            settled=settled,
            live=not self.over and self.ending is None,
            unread=self.line.unread if self.line is not None else 0,
            characters=self.reach.characters,
            entries=self.reach.entries,
            shared=tuple(thing for one in others if one.reach for thing in self.reach.shared_with(one.reach)),
            working=len(self.session._tools),
            last=last,
        )


class WatchedSession(Session):
    """The real one, at whose doors somebody takes notes."""

    def __init__(self, call, ports, socket):
        self._story = socket.story
        super().__init__(call, ports)
        self._upstream.put = noting_to_service(self._upstream.put, socket)
        self._browser.show = noting_to_browser(self._browser.show, self._browser, socket.story)
        self._browser.sound = noting_to_browser(self._browser.sound, self._browser, socket.story)

    def feed(self, event):
        self._story.tell(Fed(event))
        super().feed(event)
        self._story.tell(Handled())


def noting_to_service(put, socket):
    """The same door to the service, with a note of everything that passes it but audio."""

    def noted(frame, is_audio=False, **how):
        if not is_audio and socket.line is not None:
            socket.story.tell(Put(frame, json.loads(frame)))
        put(frame, is_audio, **how)

    return noted


def noting_to_browser(show, browser, story):
    """The same door to the browser, with a note of everything that passes it."""

    def noted(frame, *how):
        story.tell((Shown if browser.here else Missed)(frame, json.loads(frame)))
        show(frame, *how)

    return noted
