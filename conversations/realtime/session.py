"""One live call: what browser and speech service send goes through the core, whose effects are performed.

Everything enters by `feed`, one event at a time and without waiting; whatever waits is a task of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.records import CallOpened, Record, TurnClosed, TurnOpened
from conversations.core.transcript import Said
from conversations.core.turn import Machine
from conversations.core.turns import Turn
from conversations.realtime import allowed, endings, shown, wire
from conversations.realtime.browser import Browser
from conversations.realtime.call import Call, Ports, owned, ready, setup, with_own_tools
from conversations.realtime.deltas import Piece
from conversations.realtime.endings import Ending
from conversations.realtime.opening import Declaration, Opened
from conversations.realtime.pace import Pace
from conversations.realtime.reoffer import Reoffer
from conversations.realtime.standing import Standing
from conversations.realtime.timers import Timers
from conversations.realtime.toolrun import Runner
from conversations.realtime.upstream import Line, Upstream
from conversations.realtime.waiting import Waiting
from tools.catalog import Offer
from tools.contract import Caller

log = structlog.get_logger(__name__)

INVALID_LIMIT = 20
PATIENCE = 2.0
# Events of a client that are no audio: each may cost rows, and work at the service.
BURST = 200
A_SECOND = 20.0


class Session:
    """`run` until `end`; `receive` takes the browser's frames and never waits."""

    def __init__(self, call: Call, ports: Ports) -> None:
        self._call, self._ports = call, ports
        self._ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._browser = Browser(ports.send, self._too_slow, self._sound_lost, ports.offer)
        self._showing: asyncio.Task[None] | None = None
        self._extras = call.extras
        self._created: Mapping[str, Any] = {}
        self._waiting = Waiting()
        self._offer = self._next_offer = Offer()
        self._reoffer = Reoffer(partial(ports.discover, True), self._offered, self._guarded)
        line = Line(
            call.conversation_id,
            ports.dial,
            ports.write,
            ports.now,
            ports.new_id,
            call.speech_session_max,
            ports.ticket,
        )
        declaration = Declaration(call.caller_name, (), call.selection, background=call.background)
        self._upstream = Upstream(line, declaration, self)
        self._machine: Machine | None = None
        self._tools: dict[str, asyncio.Task[None]] = {}
        self._timers = Timers(lambda name: self.feed(e.TimerFired(name)))
        self._invalid, self._active = 0, False
        self._pace, self._standing = Pace(BURST, A_SECOND), Standing()
        caller, timeout = call.caller or Caller("", "", ""), call.tool_timeout
        self._runner = Runner(caller, timeout, self.feed, ports.commit, ports.now, ports.unauthorized)

    async def run(self) -> Ending:
        """The whole call; returns how it ends. Nothing of it is left running."""
        self._showing = asyncio.create_task(self._guarded(self._browser.serve))
        serving = asyncio.create_task(self._guarded(self._serve))
        try:
            return await self._ended
        finally:
            await self._leave(serving)

    def end(self, ending: Ending) -> None:
        """The call ends like this; the first ending counts."""
        if not self._ended.done():
            self._ended.set_result(ending)

    @property
    def over(self) -> bool:
        """Whether it is known how the call ends."""
        return self._ended.done()

    def take_activity(self) -> bool:
        """Whether the caller has done anything since this was last asked."""
        active, self._active = self._active, False
        return active

    def tools_changed(self) -> None:
        """A source says that its tools may be others now: they are asked for, for the next turn."""
        if not self._ended.done():
            self._reoffer.wish()

    # ---- the browser

    def receive(self, frame: str) -> None:
        """A frame of the browser: acted on now, or kept, bounded, until the session is ready."""
        if self._ended.done():
            return
        if len(frame) > (allowed.EARLY_FRAME_LIMIT if self._machine is None else allowed.FRAME_LIMIT):
            self.end(endings.TOO_LARGE)
        elif self._upstream.ready and allowed.is_audio(frame):
            self._upstream.put(frame, is_audio=True)
        elif self._upstream.ready:
            self._heed(allowed.read(frame))
        elif not self._heed_without_service(frame) and not self._waiting.put(frame):
            self.end(endings.TOO_LARGE)

    def tell(self, name: str, fields: Mapping[str, Any]) -> None:
        """One of Vocero's own events, for clients that know them; `error` is for all."""
        self._perform(fx.Tell(name, fields))

    def _heed(self, asked: allowed.Asked) -> None:
        is_audio = isinstance(asked, allowed.Forward) and asked.is_audio
        if is_audio or self._pace.allows(self._ports.now()):
            self._act(asked)
        else:
            self.end(endings.busy(1))

    def _heed_without_service(self, frame: str) -> bool:
        """Whether it is something that needs no service: a stop counts while the service is lost, too."""
        asked = allowed.read(frame) if self._machine is not None else None
        if not isinstance(asked, e.CancelAsked | e.Played):
            return False
        self._heed(asked)
        return True

    def _act(self, asked: allowed.Asked) -> None:
        match asked:
            case allowed.Forward(frame, is_audio):
                self._upstream.put(frame, is_audio)
            case allowed.Refused(code, message):
                self._invalid += 1
                self.tell("error", {"code": code, "message": message})
                if self._invalid >= INVALID_LIMIT:
                    self.end(endings.TOO_MANY_INVALID)
            case allowed.UpdateAsked(session):
                self._upstream.update(self._page(allowed.merged(self._upstream.declaration.page, session)))
            case allowed.ClientMessage() | e.ConfirmAnswered() if self._ports.to_brain(asked):
                self._active = True
                self._standing.answered(asked)
            case allowed.ClientMessage():
                self.tell("error", {"code": "no_turn", "message": "Nothing waits for this message."})
            case _:
                self._active = True
                self.feed(asked)

    def _page(self, wishes: Mapping[str, Any]) -> dict[str, Any]:
        return with_own_tools(self._call, self._offer, wishes)

    def _show_session(self, name: str, session: Mapping[str, Any]) -> None:
        page, event_id = self._upstream.declaration.page, self._ports.new_id("event")
        self._browser.show(shown.session(name, session, page, event_id))

    def browser_left(self) -> None:
        """The browser's socket is lost; the call goes on without it for a while."""
        self._browser.leave()
        if self._showing is not None:
            self._showing.cancel()
        self.feed(e.BrowserLost())

    def browser_came(self, extras: bool) -> None:
        """Another socket of the same caller takes its place, and learns where the call is, if it goes on."""
        if self.over:
            return
        self._extras = extras
        self._browser.come()
        if self._showing is not None:
            self._showing.cancel()
        self._showing = asyncio.create_task(self._guarded(self._browser.serve))
        if self._machine is not None:
            self._welcome()
            for event in self._standing.again(self._ports.now()):
                self.pass_on(event)
            self.feed(e.BrowserBack(extras))
            self._browser.catch_up(extras)

    def _welcome(self) -> None:
        self._show_session("session.created", self._created)
        self.tell("vocero.conversation.ready", ready(self._call, self._offer))

    def _too_slow(self) -> None:
        if not self._ports.hold(endings.TOO_SLOW):
            self.end(endings.TOO_SLOW)

    def _sound_lost(self) -> None:
        log.warning("browser.too_slow", conversation=self._call.conversation_id)
        self.tell("error", {"code": endings.TOO_SLOW.error, "message": endings.TOO_SLOW.message})

    # ---- the brain that thinks for the call, where one does

    def thinks(self, session_id: str) -> Turn | None:
        """The language model of that session of the service asks; the turn to which its answer belongs.

        None where that session is over.
        """
        if not self.holds(session_id) or self._machine is None:
            return None
        self.feed(e.BrainAsked())
        return self._machine.turn

    def holds(self, session_id: str) -> bool:
        """Whether that is the session of the service that runs now."""
        return bool(session_id) and session_id == self._upstream.session_id

    def pass_on(self, event: Mapping[str, Any]) -> None:
        """An event for clients that know Vocero's own; of the brain's, or like those told again by us."""
        again = self._standing.note(event, self._ports.now())
        if self._extras:
            self._browser.show(json.dumps(event, ensure_ascii=False), not again)

    # ---- the speech service

    async def _serve(self) -> None:
        """Finds the caller's tools, then keeps a session at the service while it can be reached."""
        self._offer = self._next_offer = await self._ports.discover(False)
        if self._offer.unauthorized:
            self._ports.unauthorized()
            return
        page = self._page(allowed.stored_session(self._call.page))
        declaration = self._upstream.declaration
        self._upstream.declaration = replace(declaration, tools=self._offer.tools, page=page)
        await self._upstream.serve()
        self.end(endings.SPEECH_DOWN)

    def opened(self, opened: Opened, unnoticed: bool) -> None:
        """The service is ready: it is told the history, and what the browser sent meanwhile."""
        machine = self._machine
        history: Sequence[Said] = self._call.history
        if machine is None:
            asked = replace(self._call, extras=self._extras)
            machine = self._machine = Machine(setup(asked, self._ports, lambda: self._offer))
            self._created = opened.created
            self._ports.begun()
            if self._browser.here:
                self._welcome()
            else:
                self.feed(e.BrowserLost())
        else:
            history = machine.history
            if not unnoticed:
                self.tell("vocero.speech.restored", {})
        self.feed(e.ServiceKnown(opened.interpreter.dialect.beside_call))
        if self._next_offer is not self._offer:
            self.feed(owned(self._call, self._next_offer))
        self._perform_all(machine.recall(history))
        for frame in self._waiting.take():
            self.receive(frame)

    def lost(self, retry_in: float) -> None:
        """The service is gone for now; what ran there is over."""
        if self._machine is not None:
            self.feed(e.UpstreamLost())
            self.tell("vocero.speech.lost", {"retry_in_ms": int(retry_in * 1000)})

    def replaced(self) -> None:
        """The session is left for a newer one; what still runs there is over."""
        self.feed(e.UpstreamLost())

    def is_quiet(self) -> bool:
        """Whether the session could be replaced now without anybody noticing."""
        return self._machine is not None and self._machine.is_quiet(self._ports.now())

    def _offered(self, offer: Offer) -> None:
        """What the sources offer by now; where one cannot be read, what was known of it stays."""
        if offer.unauthorized:
            self._ports.unauthorized()
        elif not offer.error and offer.digest != self._next_offer.digest:
            self._next_offer = offer
            log.info("catalog.changed", conversation=self._call.conversation_id, tools=len(offer.tools))
            self.feed(owned(self._call, offer))

    def _redeclare(self) -> None:
        """The tools of the next turn: offered, run and declared."""
        self._offer = self._next_offer
        page = self._page(self._upstream.declaration.page)
        self._upstream.redeclare(self._offer.tools, page)

    def session_updated(self, session: Mapping[str, Any]) -> None:
        """The service answers an update of the page's."""
        self._show_session("session.updated", session)

    # ---- the core and its effects

    def hear(self, piece: Piece) -> None:
        """More of an answer; where nothing is to be decided of it, the browser gets it as it is."""
        if self._machine is None or not self._machine.flow(piece, self._ports.now()):
            self.feed(piece)
        else:
            (self._browser.sound if isinstance(piece, e.AudioDelta) else self._browser.show)(piece.frame)

    def feed(self, event: e.Event) -> None:
        """One event into the core, and its effects out of it."""
        self._active = self._active or isinstance(event, e.Heard)
        if self._machine is not None:
            self._perform_all(self._machine.handle(event, self._ports.now()))

    def _perform_all(self, effects: Sequence[fx.Effect]) -> None:
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: fx.Effect) -> None:
        match effect:
            case fx.Show(frame, is_audio):
                (self._browser.sound if is_audio else self._browser.show)(frame)
            case fx.DropSound():
                self._browser.hush()
            case fx.ShowDelta() | fx.ShowCut():
                self._browser.show(shown.frame(effect, self._ports.new_id("event")))
            case fx.Tell(name) | fx.Command(name):
                if self._extras or name in shown.ALWAYS_TOLD:
                    told = shown.frame(effect, self._ports.new_id("event"))
                    self._browser.show(told, name not in shown.TOLD_AGAIN, name not in shown.ALWAYS_TOLD)
            case fx.RunTool() | fx.CancelTool() | fx.Keep() | fx.SetTimer() | fx.ClearTimer():
                self._perform_here(effect)
            case fx.Redeclare():
                self._redeclare()
            case fx.StopBrain():
                self._ports.stop_brain()
            case _:
                upstream = self._upstream
                bare = upstream.declaration.instructions("") if upstream.selection == "marker" else None
                ahead = isinstance(effect, fx.CancelResponse | fx.Truncate)
                ticket = self._ports.ticket(upstream.session_id, True)
                upstream.put(wire.encode(effect, self._ports.new_id("event"), bare, ticket), ahead=ahead)

    def _perform_here(
        self, effect: fx.RunTool | fx.CancelTool | fx.Keep | fx.SetTimer | fx.ClearTimer
    ) -> None:
        match effect:
            case fx.RunTool(call_id):
                self._note(effect.opened)
                task = asyncio.create_task(self._guarded(partial(self._runner.run, self._offer, effect)))
                self._tools[call_id] = task
                task.add_done_callback(lambda _task: self._tools.pop(call_id, None))
            case fx.CancelTool(call_id):
                if call_id in self._tools:
                    # After its first step: a task that never began would leave no trace of the attempt.
                    asyncio.get_running_loop().call_soon(self._tools[call_id].cancel)
            case fx.Keep(record):
                self._note(record)
                self._ports.write(record)
            case fx.SetTimer(name, seconds):
                self._timers.start(name, seconds)
            case fx.ClearTimer(name):
                self._timers.stop(name)

    def _note(self, record: Record) -> None:
        if isinstance(record, TurnOpened) and not record.aside:
            self.pass_on({"type": "vocero.turn.started", "turn": record.index})
        if isinstance(record, TurnClosed) and record.silent_ms is not None:
            log.warning("turn.silent", turn=record.turn_id, ref=record.ref, silent_ms=record.silent_ms)
        if isinstance(record, CallOpened) and record.selection == "marker":
            log.info("marker.detected", conversation=record.conversation_id, call_id=record.call_id)

    # ---- beginning and end

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """The one place where a bug in a call's task ends: its traceback in the log, and the call over."""
        try:
            await work()
        except Exception:
            log.exception("call.failed", conversation=self._call.conversation_id)
            self.end(endings.BROKEN)

    async def _leave(self, serving: asyncio.Task[None]) -> None:
        """The call is over: its work is cancelled, its rows are closed, its tasks have ended."""
        # First the service: what it still says would open turns that nobody closes. A process that ends has
        # cancelled it already, and once more would cut its goodbye short.
        if not serving.cancelling():
            serving.cancel()
        self.feed(e.Ended("end"))
        await self._reoffer.stop()
        self._timers.stop_all()
        tools = list(self._tools.values())
        if tools:
            await asyncio.wait(tools, timeout=PATIENCE)
        await self._browser.emptied(PATIENCE)
        showing = [self._showing] if self._showing is not None else []
        for task in (*showing, *tools):
            task.cancel()
        await asyncio.wait({*showing, serving, *tools}, timeout=PATIENCE)
