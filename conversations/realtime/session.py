"""One live call: what browser and speech service send goes through the core, whose effects are performed.

Everything enters by `_feed`, one event at a time and without waiting; whatever waits is a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.policy import Limits, Setup
from conversations.core.records import Record, UpstreamClosed, UpstreamOpened
from conversations.core.transcript import Said
from conversations.core.turn import Machine
from conversations.realtime import allowed, endings, prompt, shown, wire
from conversations.realtime.connection import Connection, SpeechUnavailable
from conversations.realtime.endings import Ending
from conversations.realtime.opening import Declaration, Opened, open_session
from conversations.realtime.outbox import Outbox
from conversations.realtime.toolrun import Runner
from conversations.realtime.words import FOR_CALLER, FOR_MODEL
from tools import executor
from tools.catalog import Offer
from tools.contract import Caller

log = structlog.get_logger(__name__)

TO_BROWSER = 4 * 1024 * 1024
TO_SERVICE = 2 * 1024 * 1024
BEFORE_READY = 256 * 1024
SEND_LIMIT = 10.0
RETRIES = (0.5, 1.0, 2.0, 4.0)
INVALID_LIMIT = 20
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Call:
    """What one live call is about, as plain data. With `extras` the client knows Vocero's own events."""

    conversation_id: str
    caller: Caller | None
    caller_name: str
    plain: bool
    expires_at: str
    selection: str
    tool_timeout: float
    extras: bool = True
    browser_tools: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    next_turn: int = 1
    history: Sequence[Said] = ()
    page: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ports:
    """What a call asks of the world. `unauthorized` is told when the backend no longer accepts the caller."""

    send: Callable[[str], Awaitable[None]]
    dial: Callable[[], Awaitable[Connection]]
    discover: Callable[[], Awaitable[Offer]]
    write: Callable[[Record], None]
    commit: Callable[[Record], Awaitable[None]]
    now: Callable[[], float]
    new_id: Callable[[str], str]
    unauthorized: Callable[[], None]


class Session:
    """`run` until `end`; `receive` takes the browser's frames and never waits."""

    def __init__(self, call: Call, ports: Ports) -> None:
        self._call, self._ports = call, ports
        self._ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._to_browser = Outbox(TO_BROWSER)
        self._to_service: Outbox | None = None
        self._waiting: list[str] = []
        self._waiting_size = 0
        self._offer = Offer()
        self._declaration = Declaration(call.caller_name, (), call.selection, allowed.page_session(call.page))
        self._selection = ""
        self._told: Mapping[str, Any] = {}
        self._updates = 0
        self._machine: Machine | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._tools: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._upstream_id = ""
        self._runner = Runner(
            caller=call.caller or Caller("", "", ""),
            timeout=call.tool_timeout,
            feed=self._feed,
            commit=ports.commit,
            now=ports.now,
            unauthorized=ports.unauthorized,
        )
        self._invalid = 0
        self._active = False

    # ---- from outside

    async def run(self) -> Ending:
        """The whole call; returns how it ends. Nothing of it is left running."""
        self._start(self._guarded(self._to_browser.drain(self._send_in_time)))
        self._start(self._guarded(self._serve()))
        try:
            return await self._ended
        finally:
            await self._leave()

    def end(self, ending: Ending) -> None:
        """The call ends like this; the first ending counts."""
        if not self._ended.done():
            self._ended.set_result(ending)

    def receive(self, frame: str) -> None:
        """A frame of the browser: acted on now, or kept, bounded, until the session is ready."""
        if self._to_service is not None:
            if len(frame) > allowed.FRAME_LIMIT:
                self.end(endings.TOO_LARGE)
                return
            self._act(allowed.read(frame))
            return
        self._waiting_size += len(frame)
        if len(frame) > allowed.EARLY_FRAME_LIMIT or self._waiting_size > BEFORE_READY * 4:
            self.end(endings.TOO_LARGE)
            return
        self._waiting.append(frame)

    def take_activity(self) -> bool:
        """Whether the caller has done anything since this was last asked."""
        active, self._active = self._active, False
        return active

    def tell(self, name: str, fields: Mapping[str, Any]) -> None:
        """One of Vocero's own events, for clients that know them; `error` is for all."""
        self._perform(fx.Tell(name, fields))

    # ---- the browser's side

    def _act(self, asked: allowed.Asked) -> None:
        match asked:
            case allowed.Forward(frame):
                self._upstream(frame)
            case allowed.Refused(code, message):
                self._invalid += 1
                self.tell("error", {"code": code, "message": message})
                if self._invalid >= INVALID_LIMIT:
                    self.end(endings.TOO_MANY_INVALID)
            case allowed.UpdateAsked(session):
                self._update(session)
            case allowed.ClientMessage():
                pass  # no sheet is open that it could answer
            case _:
                self._active = True
                self._feed(asked)

    def _update(self, session: Mapping[str, Any]) -> None:
        """The page's wishes join the server's declaration; the service's answer is shown redacted."""
        self._updates += 1
        page = _merged(self._declaration.page, session)
        page["tools"] = [tool for tool in page.get("tools") or () if self._is_browser_tool(tool)]
        self._declaration = replace(self._declaration, page=page)
        declared = self._declaration.session(self._selection)
        self._upstream(wire.session_update(declared, self._ports.new_id("event")))

    def _is_browser_tool(self, tool: object) -> bool:
        if not isinstance(tool, dict) or tool.get("type") != "function":
            return False
        name = tool.get("name")
        return name in self._call.browser_tools and self._offer.find(str(name)) is None

    def _show_session(self, name: str, session: Mapping[str, Any]) -> None:
        page = self._declaration.page
        self._browser(shown.session(name, session, page, self._ports.new_id("event")))

    async def _send_in_time(self, frame: str) -> None:
        try:
            async with asyncio.timeout(SEND_LIMIT):
                await self._ports.send(frame)
        except TimeoutError:
            self.end(endings.TOO_SLOW)

    # ---- the service's side

    async def _serve(self) -> None:
        """Connects, serves, and connects again with the history while the service can be reached."""
        self._offer = await self._ports.discover()
        if self._offer.unauthorized:
            self._ports.unauthorized()
            return
        self._declaration = replace(self._declaration, tools=self._offer.tools)
        failures = 0
        while failures <= len(RETRIES):
            try:
                connection = await self._ports.dial()
                try:
                    opened = await open_session(connection, self._declaration, self._ports.new_id)
                    failures = 0
                    await self._relay(connection, opened)
                finally:
                    await connection.close()
            except SpeechUnavailable:
                log.info("speech.lost", conversation=self._call.conversation_id, failures=failures)
            if failures < len(RETRIES):
                self._lose_upstream(RETRIES[failures])
                await asyncio.sleep(RETRIES[failures])
            failures += 1
        self.end(endings.SPEECH_DOWN)

    async def _relay(self, connection: Connection, opened: Opened) -> None:
        """One session of the service, from the moment it is ready; raises SpeechUnavailable at its end."""
        outbox = Outbox(TO_SERVICE)
        sender = asyncio.create_task(self._guarded(outbox.drain(connection.send)))
        try:
            self._begin(outbox, opened)
            while True:
                for event in wire.decode(await connection.receive()):
                    if isinstance(event, wire.SessionUpdated):
                        self._updated(event.session)
                    else:
                        self._active = self._active or isinstance(event, e.Heard)
                        self._feed(event)
        finally:
            self._to_service = None
            sender.cancel()
            self._ports.write(UpstreamClosed(self._upstream_id, "closed", self._ports.now()))

    def _begin(self, outbox: Outbox, opened: Opened) -> None:
        self._selection, self._told, self._to_service = opened.selection, opened.session, outbox
        self._record_upstream(opened)
        machine, self._updates = self._machine, 0
        if machine is None:
            machine = self._machine = Machine(self._setup())
            self._show_session("session.created", opened.created)
            self.tell("vocero.conversation.ready", self._ready())
            history: Sequence[Said] = self._call.history
        else:
            history = machine.history
            self.tell("vocero.speech.restored", {})
        self._perform_all(machine.recall(history))
        waiting, self._waiting, self._waiting_size = self._waiting, [], 0
        for frame in waiting:
            self.receive(frame)

    def _updated(self, session: Mapping[str, Any]) -> None:
        self._told = {**self._told, **session}
        if self._updates:
            self._updates -= 1
            self._show_session("session.updated", self._told)

    def _lose_upstream(self, retry_in: float) -> None:
        if self._machine is not None:
            self._feed(e.UpstreamLost())
            self.tell("vocero.speech.lost", {"retry_in_ms": int(retry_in * 1000)})

    def _upstream(self, frame: str) -> None:
        if self._to_service is not None and not self._to_service.put(frame):
            log.warning("speech.too_slow", conversation=self._call.conversation_id)

    # ---- the core and its effects

    def _feed(self, event: e.Event) -> None:
        if self._machine is not None:
            self._perform_all(self._machine.handle(event, self._ports.now()))

    def _perform_all(self, effects: Sequence[fx.Effect]) -> None:
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: fx.Effect) -> None:
        match effect:
            case fx.Show(frame):
                self._browser(frame)
            case fx.ShowDelta() | fx.ShowCut():
                self._browser(shown.frame(effect, self._ports.new_id("event")))
            case fx.Tell(name, _):
                if self._call.extras or name in ("error", "conversation.item.retrieved"):
                    self._browser(shown.frame(effect, self._ports.new_id("event")))
            case fx.RunTool() | fx.CancelTool() | fx.Keep() | fx.SetTimer() | fx.ClearTimer():
                self._perform_here(effect)
            case _:
                without_markers = self._declaration.instructions("") if self._selection == "marker" else None
                self._upstream(wire.encode(effect, self._ports.new_id("event"), without_markers))

    def _perform_here(
        self, effect: fx.RunTool | fx.CancelTool | fx.Keep | fx.SetTimer | fx.ClearTimer
    ) -> None:
        match effect:
            case fx.RunTool(call_id):
                task = asyncio.create_task(self._guarded(self._runner.run(self._offer, effect)))
                self._tools[call_id] = task
                task.add_done_callback(lambda _task: self._tools.pop(call_id, None))
            case fx.CancelTool(call_id):
                if call_id in self._tools:
                    self._tools[call_id].cancel()
            case fx.Keep(record):
                self._ports.write(record)
            case fx.SetTimer(name, seconds):
                self._clear_timer(name)
                loop = asyncio.get_running_loop()
                self._timers[name] = loop.call_later(seconds, self._feed, e.TimerFired(name))
            case fx.ClearTimer(name):
                self._clear_timer(name)

    def _browser(self, frame: str) -> None:
        if not self._to_browser.put(frame):
            self.end(endings.TOO_SLOW)

    def _clear_timer(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    # ---- beginning and end

    def _setup(self) -> Setup:
        call = self._call
        return Setup(
            conversation_id=call.conversation_id,
            plain=call.plain,
            server_tools={tool.name: tool.source for tool in self._offer.tools},
            browser_tools=frozenset(name for name in call.browser_tools if self._offer.find(name) is None),
            canonical=executor.canonical,
            new_id=self._ports.new_id,
            for_model=FOR_MODEL,
            for_caller=FOR_CALLER,
            labels=call.labels,
            limits=call.limits,
            next_turn=call.next_turn,
        )

    def _ready(self) -> Mapping[str, Any]:
        call = self._call
        caller = {"name": call.caller_name} if call.caller_name else None
        return {
            "protocol_version": 1,
            "conversation": {"id": call.conversation_id, "caller": caller, "expires_at": call.expires_at},
            "tools": {"count": len(self._offer.tools), "error": self._offer.error or None},
        }

    def _record_upstream(self, opened: Opened) -> None:
        self._upstream_id = self._ports.new_id("upstream")
        names = tuple(tool.name for tool in self._offer.tools) if opened.selection else ()
        digest = prompt.digest(self._declaration.instructions(opened.selection))
        self._ports.write(
            UpstreamOpened(
                upstream_id=self._upstream_id,
                conversation_id=self._call.conversation_id,
                dialect="ga",
                selection=opened.selection,
                tool_names=names,
                instruction_digest=digest,
                at=self._ports.now(),
            )
        )
        log.info(
            "speech.opened",
            conversation=self._call.conversation_id,
            selection=opened.selection,
            tools=len(names),
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """The one place where a bug in a call's task ends: its traceback in the log, and the call over."""
        try:
            await work
        except SpeechUnavailable:
            return
        except Exception:
            log.exception("call.failed", conversation=self._call.conversation_id)
            self.end(endings.BROKEN)

    async def _leave(self) -> None:
        """The call is over: its work is cancelled, its rows are closed, its tasks have ended."""
        self._feed(e.Ended("end"))
        for name in list(self._timers):
            self._clear_timer(name)
        tools = list(self._tools.values())
        if tools:
            await asyncio.wait(tools, timeout=PATIENCE)
        await self._to_browser.emptied(PATIENCE)
        rest = [*self._tasks, *tools]
        for task in rest:
            task.cancel()
        await asyncio.wait(rest, timeout=PATIENCE)


def _merged(page: Mapping[str, Any], session: Mapping[str, Any]) -> dict[str, Any]:
    """The page's earlier wishes with its newer ones, the two sides of `audio` each on its own."""
    audio = {side: {**page.get("audio", {}).get(side, {})} for side in ("input", "output")}
    for side, fields in session.get("audio", {}).items():
        audio[side].update(fields)
    return {**page, **session, "audio": {side: fields for side, fields in audio.items() if fields}}
