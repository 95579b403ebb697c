"""The session at the speech service: opened, declared, read, replaced before its time limit or when lost."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog

from conversations.core.events import ServiceError
from conversations.core.records import Record, UpstreamClosed, UpstreamOpened, UpstreamRecognised
from conversations.metrics import METER
from conversations.realtime import prompt, wire
from conversations.realtime.connection import Connection, SpeechUnavailable
from conversations.realtime.interpreter import Interpreter
from conversations.realtime.listener import Listener
from conversations.realtime.opening import UPDATED_WAIT, Declaration, Opened, decide, open_session
from conversations.realtime.outbox import Outbox
from tools.contract import Tool
from tools.naming import alias

log = structlog.get_logger(__name__)

TO_SERVICE = 4 * 1024 * 1024
# A service that takes so many seconds for one frame is not there any more.
SEND_LIMIT = 10.0
# Updates whose answers are waited for; where more are asked for, the oldest is answered from what is known.
UPDATES = 16
RETRIES = (0.5, 1.0, 2.0, 4.0)
# A session that lasted so many seconds was a good one: its loss is met with all retries again.
STEADY = 10.0
# A session that is old enough is replaced at a quiet moment, and after so many seconds at any.
ROTATION_PATIENCE = 180.0
# So long before the end that a service is known to have.
MARGIN = 300.0
LOOK_EVERY = 0.25
SESSION_EXPIRED = "session_expired"


@dataclass(frozen=True, slots=True)
class Line:
    """What the session needs of the world. `dial` raises SpeechUnavailable.

    A session older than `session_max` seconds is replaced; 0 means never. `ticket(session_id, says)` gives
    what the session's language model shows when it asks for an answer, or for a line to be said.
    """

    conversation_id: str
    dial: Callable[[], Awaitable[Connection]]
    write: Callable[[Record], None]
    now: Callable[[], float]
    new_id: Callable[[str], str]
    session_max: float = 0.0
    ticket: Callable[[str, bool], str] = lambda _session_id, _says: ""


@dataclass(frozen=True, slots=True)
class Running:
    """A session that is open and declared; `before` is the one that it replaces while that still runs."""

    connection: Connection
    opened: Opened
    declared: Declaration
    opened_at: float
    before: Connection | None = None
    session_id: str = ""


class Upstream:
    """One speech service session after the other, for one call. `selection` says how tools are picked now."""

    def __init__(self, line: Line, declaration: Declaration, listener: Listener) -> None:
        self._line, self._listener = line, listener
        self._outbox: Outbox | None = None
        self._sender: asyncio.Task[None] | None = None
        self._told: Mapping[str, Any] = {}
        self._updates: dict[str, tuple[Mapping[str, Any] | None, asyncio.TimerHandle]] = {}
        self._upstream_id = ""
        self._overflowed = False
        self._why = ""
        self._interpreter: Interpreter | None = None
        self._recognised = False
        self.declaration = declaration
        self.selection = self.session_id = ""

    @property
    def ready(self) -> bool:
        """Whether a session is open and knows what it must."""
        return self._outbox is not None

    def put(self, frame: str, is_audio: bool = False, ahead: bool = False) -> None:
        """Sends a frame, in order, or `ahead` of the others; nothing waits.

        Audio that a service is too slow to take is dropped; where nothing else fits either, the session is
        lost.
        """
        if self._outbox is None:
            return
        spoken = frame if is_audio else self._in_dialect(frame)
        if spoken is None or self._outbox.put(spoken, is_audio, ahead):
            return
        if not self._overflowed:
            log.warning("speech.too_slow", conversation=self._line.conversation_id)
        self._overflowed = True
        if not is_audio and self._sender is not None:
            self._sender.cancel()

    def _in_dialect(self, frame: str) -> str | None:
        """The frame as this service understands it; None for one that is answered here in its place."""
        if self._interpreter is None:
            return frame
        answers = self._interpreter.instead(frame)
        for answer in answers:
            asyncio.get_running_loop().call_soon(self._listener.feed, answer)
        return None if answers else self._interpreter.encode(frame)

    def update(self, page: Mapping[str, Any]) -> None:
        """Declares the session anew with the page's wishes; the answer comes by `session_updated`, always."""
        self._declare(page, self.declaration.page)

    def redeclare(self, tools: tuple[Tool, ...], page: Mapping[str, Any]) -> None:
        """Other tools may be called from here on: the session is declared anew, and so it is recorded."""
        self.declaration = replace(self.declaration, tools=tools, page=page)
        if self._outbox is None:
            return
        if not self.selection and tools:
            self.selection = decide(self.declaration.wanted, frozenset(), frozenset())
        self._line.write(UpstreamClosed(self._upstream_id, "redeclared", self._line.now()))
        self._upstream_id = self._record(self.selection)
        self._declare(self.declaration.page, None)

    def _declare(self, page: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
        """`before` is what the page wished so far; None where the update is none of the page's."""
        event_id = self._line.new_id("event")
        timer = asyncio.get_running_loop().call_later(UPDATED_WAIT, self._wait_no_longer, event_id)
        self._updates[event_id] = before, timer
        if len(self._updates) > UPDATES:
            self._wait_no_longer(next(iter(self._updates)))
        self.declaration = replace(self.declaration, page=page)
        self.put(wire.session_update(self.declaration.session(self.selection), event_id))

    def _wait_no_longer(self, event_id: str) -> None:
        """A service may leave an update unanswered; whoever asked for it is answered all the same."""
        if event_id in self._updates and self._settle(event_id) is not None:
            self._listener.session_updated(self._told)

    def _settle(self, event_id: str) -> Mapping[str, Any] | None:
        """This update waits no more; what the page wished before it, None where the update is not its own."""
        before, timer = self._updates.pop(event_id)
        timer.cancel()
        return before

    async def serve(self) -> None:
        """Keeps a session open; returns when the service stays out of reach after its retries."""
        try:
            await self._serve()
        finally:
            for event_id in list(self._updates):
                self._settle(event_id)

    async def _serve(self) -> None:
        failures = 0
        while True:
            if await self._attempt():
                failures = 0
            if failures == len(RETRIES):
                self._record_unreachable()
                return
            self._listener.lost(RETRIES[failures])
            await asyncio.sleep(RETRIES[failures])
            failures += 1

    async def _attempt(self) -> bool:
        """Sessions that replace each other without a gap, until one is lost; whether that was a good one."""
        running: Running | None = None
        try:
            successor = running = await self._open()
            while True:
                running = successor
                successor = await self._relay(running)
        except SpeechUnavailable as error:
            self._why = str(error)
            log.info("speech.lost", conversation=self._line.conversation_id, reason=self._why)
        return running is not None and self._line.now() - running.opened_at >= STEADY

    async def _open(self, before: Connection | None = None, until: float = 0.0) -> Running:
        """A session that is ready, and whose moment has come. Raises SpeechUnavailable."""
        session_id = self._line.new_id("upstream")
        declared = replace(self.declaration, ticket=self._line.ticket(session_id, False))
        async with AsyncExitStack() as unused:
            connection = await self._line.dial()
            unused.push_async_callback(connection.close)
            opened = await open_session(connection, declared, self._line.new_id)
            opened_at = self._line.now()
            await self._quiet(until)
            unused.pop_all()
        return Running(connection, opened, declared, opened_at, before, session_id)

    async def _relay(self, running: Running) -> Running:
        """One session, from the moment it is ready to its end: its successor, or SpeechUnavailable."""
        connection = running.connection
        outbox = Outbox(TO_SERVICE, connection.offer, METER.dropping("speech"))
        interpreter = self._interpreter = running.opened.interpreter
        self._recognised = False
        self.session_id = running.session_id
        self.declaration = replace(self.declaration, ticket=running.declared.ticket)
        self._upstream_id = self._record(running.opened.selection, running.session_id)
        sender = self._sender = asyncio.create_task(outbox.drain(partial(_send_in_time, connection)))
        reader = asyncio.create_task(connection.read(partial(self._take, interpreter)))
        rotation = asyncio.create_task(self._successor(running))
        reason = "closed"
        try:
            await self._begin(running, outbox)
            done, _ = await asyncio.wait({reader, sender, rotation}, return_when=asyncio.FIRST_COMPLETED)
            for task in done - {rotation}:
                if task.cancelled():
                    raise SpeechUnavailable("not read")
                task.result()
            reason = "rotated"
            return rotation.result()
        except SpeechUnavailable as error:
            reason = f"lost: {error}"
            raise
        finally:
            self._outbox, self.session_id = None, ""
            self._recognise(interpreter)
            # Before anything is waited for: the call may end in that moment, too.
            self._line.write(UpstreamClosed(self._upstream_id, reason, self._line.now()))
            try:
                await _ended(reader, sender, rotation)
            finally:
                if reason != "rotated":
                    await _close(connection, rotation)

    async def _begin(self, running: Running, outbox: Outbox) -> None:
        """The call goes on with this session; nobody waits for the end of the one before."""
        opened, unnoticed = running.opened, running.before is not None
        self._told, self.selection, self._overflowed = opened.session, opened.selection, False
        unanswered = list(self._updates)
        if unnoticed:
            self._listener.replaced()
        self._outbox = outbox
        if running.declared != self.declaration:
            self.put(
                wire.session_update(self.declaration.session(self.selection), self._line.new_id("event"))
            )
        self._listener.opened(opened, unnoticed)
        for event_id in unanswered:
            self._wait_no_longer(event_id)
        if running.before is not None:
            await running.before.close()

    async def _successor(self, running: Running) -> Running:
        """The session that replaces this one in time, once the call is quiet or cannot wait any longer."""
        line = self._line
        if not line.session_max:
            await asyncio.get_running_loop().create_future()
        lives = running.opened.interpreter.dialect.session_seconds or math.inf
        due = running.opened_at + min(line.session_max, lives - MARGIN)
        await asyncio.sleep(max(due - line.now(), 0.0))
        while True:
            await self._quiet(due + ROTATION_PATIENCE)
            try:
                return await self._open(running.connection, due + ROTATION_PATIENCE)
            except SpeechUnavailable as error:
                log.info("speech.not_replaced", conversation=line.conversation_id, reason=str(error))
                await asyncio.sleep(RETRIES[-1])

    async def _quiet(self, until: float) -> None:
        """Waits for a moment at which nobody would notice, until that time at most."""
        # Nobody tells of quiet: it is the absence of everything for a while.
        while self._line.now() < until and not self._listener.is_quiet():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_EVERY)

    def _take(self, interpreter: Interpreter, frame: str) -> None:
        """A frame of the service's; nothing waits. Raises SpeechUnavailable where it is the last one."""
        piece = interpreter.piece(frame)
        if piece is not None:
            self._listener.hear(piece)
            return
        found = interpreter.rest(frame)
        if interpreter.certain:
            self._recognise(interpreter)
        for event in found:
            if isinstance(event, wire.SessionUpdated):
                self._updated(event)
            elif isinstance(event, ServiceError) and event.code == SESSION_EXPIRED:
                # It hangs up next; nothing that is sent from here on is answered.
                raise SpeechUnavailable(SESSION_EXPIRED)
            elif not (isinstance(event, ServiceError) and self._refused(event.event_id)):
                self._listener.feed(event)

    def _recognise(self, interpreter: Interpreter) -> None:
        """Says once what the service speaks: as soon as that is certain, else at the session's end."""
        if self._recognised:
            return
        self._recognised = True
        dialect = interpreter.dialect.name
        log.info("speech.dialect", conversation=self._line.conversation_id, dialect=dialect)
        self._line.write(UpstreamRecognised(self._upstream_id, dialect))

    def _updated(self, updated: wire.SessionUpdated) -> None:
        self._told = {**self._told, **updated.session}
        if not self._updates:
            return
        event_id = next(iter(self._updates))
        if self._updates[event_id][0] is None and not self._confirms(updated.tools):
            self._settle(event_id)
            self._declare_in_words()
        else:
            self._wait_no_longer(event_id)

    def _declare_in_words(self) -> None:
        """As when a session opens: tools that the service does not take natively are told to it in words."""
        self.selection = "marker"
        self.redeclare(self.declaration.tools, self.declaration.page)

    def _confirms(self, names: frozenset[str]) -> bool:
        """Whether a service that holds these tools lets the declared ones be picked as was chosen."""
        declared = frozenset(alias(tool.name) for tool in self.declaration.tools)
        return self.selection != "native" or decide(self.declaration.wanted, declared, names) == "native"

    def _refused(self, event_id: str) -> bool:
        """Whether a complaint is settled here: an update is tried once more without its audio settings.

        A service may lack a voice or a turn detection that a client's library asks for by itself.
        """
        if event_id not in self._updates:
            return False
        before, page = self._settle(event_id), self.declaration.page
        if before is None:
            log.warning("speech.tools_refused", conversation=self._line.conversation_id)
            if not self._confirms(frozenset()):
                self._declare_in_words()
            return True
        audio = before.get("audio") or {}
        if (page.get("audio") or {}) != audio:
            self._declare({**page, "audio": audio}, before)
            return True
        self.declaration = replace(self.declaration, page=before)
        self._listener.session_updated(self._told)
        return False

    def _record_unreachable(self) -> None:
        """A row of its own, so that an operator sees why the call ended."""
        line, upstream_id = self._line, self._line.new_id("upstream")
        now = line.now()
        line.write(UpstreamOpened(upstream_id, line.conversation_id, "", "", (), "", now))
        line.write(UpstreamClosed(upstream_id, f"unreachable: {self._why}", now))
        log.warning("speech.unreachable", conversation=line.conversation_id, reason=self._why)

    def _record(self, selection: str, upstream_id: str = "") -> str:
        line, upstream_id = self._line, upstream_id or self._line.new_id("upstream")
        names = tuple(tool.name for tool in self.declaration.tools) if selection else ()
        digest = prompt.digest(self.declaration.instructions(selection))
        dialect = self._interpreter.dialect.name if self._interpreter is not None else ""
        line.write(
            UpstreamOpened(upstream_id, line.conversation_id, dialect, selection, names, digest, line.now())
        )
        log.info("speech.opened", conversation=line.conversation_id, selection=selection)
        return upstream_id


async def _send_in_time(connection: Connection, frame: str) -> None:
    try:
        async with asyncio.timeout(SEND_LIMIT):
            await connection.send(frame)
    except TimeoutError as error:
        raise SpeechUnavailable("not read") from error


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _close(connection: Connection, rotation: asyncio.Task[Running]) -> None:
    """A session that was lost, and a successor that was ready in the same moment."""
    await connection.close()
    if rotation.done() and not rotation.cancelled() and rotation.exception() is None:
        await rotation.result().connection.close()
