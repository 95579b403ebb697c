"""What one turn of a brain may use: offered once, bounded, asked for, run and written down as in a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conversations.brains.rtvi import LABEL, RTVIType
from conversations.core import effects as fx
from conversations.core.events import ConfirmAnswered, Event, FunctionCall, ToolEnded, ToolProgressed
from conversations.core.generation import Generation
from conversations.core.policy import Limits, Setup
from conversations.core.records import CallOpened, Record
from conversations.core.toolcalls import MOST_CALLS, Chosen, ToolCalls
from conversations.core.turns import open_turn
from conversations.realtime import prompt
from conversations.realtime.toolrun import Runner
from conversations.realtime.words import FOR_CALLER, FOR_MODEL
from tools import executor
from tools.catalog import Offer
from tools.contract import Caller, Tool
from tools.naming import alias

END_LIMIT = 5.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What the turns of one conversation may do; `tool_timeout` is in seconds.

    With `marker` the model picks in its text. `labels` are what the caller reads for tools.
    """

    conversation_id: str
    limits: Limits = field(default_factory=Limits)
    tool_timeout: float = 30.0
    marker: bool = False
    thinks_first: bool = False
    confirm_tools: frozenset[str] = frozenset()
    finish_tools: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ports:
    """What a turn asks of the world. `tell` takes the events for whoever listens, and never waits.

    `commit` raises toolrun.NotRecorded; `unauthorized` is told when the backend no longer accepts the caller.
    `note` takes a result that came after its turn, as a text for the model.
    """

    tell: Callable[[Mapping[str, Any]], object]
    write: Callable[[Record], None]
    commit: Callable[[Record], Awaitable[None]]
    now: Callable[[], float]
    new_id: Callable[[str], str]
    unauthorized: Callable[[], None]
    note: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Summary:
    """One attempt of the turn, for whoever asked: no arguments, no result."""

    call_id: str
    name: str
    status: str
    code: str
    duration_ms: int


class Workbench:
    """The tools of one turn; the core decides about each call, this performs what it decides."""

    def __init__(self, terms: Terms, caller: Caller, offer: Offer, ports: Ports, has_sheets: bool) -> None:
        self._terms, self._caller, self._offer, self._ports = terms, caller, offer, ports
        self._setup = self._made_setup(has_sheets)
        self._generation = Generation()
        self._calls = ToolCalls(self._setup, self._generation)
        self._turn = open_turn(self._setup, 0, "http", ports.now())
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._moved = asyncio.Event()
        self._over = False
        self._nonces: set[str] = set()
        self.summaries: list[Summary] = []

    def belong_to(self, turn_id: str, index: int, picks: int = 0) -> Workbench:
        """The turn of the record under which calls are written; it has `picks` calls already."""
        self._turn.turn_id, self._turn.index, self._turn.picks = turn_id, index, picks
        return self

    # ---- what the loop asks

    @property
    def tools(self) -> Sequence[Tool]:
        """The offered tools under the names that the model is to use."""
        return [replace(tool, name=alias(tool.name)) for tool in self._offer.tools]

    @property
    def marker(self) -> bool:
        return self._terms.marker and bool(self._offer.tools)

    @property
    def rules(self) -> str:
        return prompt.marker_text(self._offer.tools) if self.marker else ""

    @property
    def thinks_first(self) -> bool:
        return self._terms.thinks_first

    @property
    def spent(self) -> bool:
        return self._turn.allowance.spent

    async def run(self, chosen: Sequence[Chosen]) -> Sequence[str]:
        """Each call runs beside the others, or is refused; returns once all of them are answered."""
        start = len(self._turn.batch)
        for one in chosen[:MOST_CALLS]:
            self._perform(self._calls.pick(self._turn, one, self._generation.number, self._ports.now()))
        beyond = [one for one in chosen[MOST_CALLS:] if isinstance(one, FunctionCall)]
        for one in beyond:
            self._calls.refuse_beyond(self._turn, one)
        self._perform(self._calls.note_beyond(self._generation.number, self._ports.now()))
        batch = self._turn.batch[start:]
        while any(picked.output is None for picked in batch):
            self._moved.clear()
            await self._moved.wait()
        return [*(picked.output or "" for picked in batch), *(FOR_MODEL["call_limit"] for _ in beyond)]

    # ---- what comes in

    def asked(self, nonce: str) -> bool:
        """Whether a sheet of that nonce is, or was, one of this turn's."""
        return nonce in self._nonces

    def confirm(self, answer: ConfirmAnswered) -> None:
        """The caller tapped."""
        self._perform(self._calls.taps.decide(self._turn, answer, self._ports.now()))

    async def close(self, goes_on: bool = False) -> None:
        """The turn is over: what runs is ended, and written down; with `goes_on` some tools may finish."""
        self._over = True
        now = self._ports.now()
        if goes_on:
            self._perform(self._calls.cancel(self._turn, now))
        else:
            self._perform([*self._calls.taps.cancel(self._turn, now), *self._calls.abandon()])
        self._generation.rise()
        for timer in self._timers.values():
            timer.cancel()
        ending = [task for task in self._tasks.values() if task.cancelling()]
        if ending:
            await asyncio.wait(ending, timeout=END_LIMIT)

    async def abandon(self) -> None:
        """The conversation is over: what was to finish is ended, too."""
        self._perform(self._calls.abandon())
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=END_LIMIT)

    @property
    def busy(self) -> bool:
        """Whether a tool runs on."""
        return bool(self._tasks)

    # ---- the core's effects

    def _perform(self, effects: Sequence[fx.Effect]) -> None:
        for effect in effects:
            match effect:
                case fx.Keep(record):
                    self._ports.write(_brains(record))
                case fx.RunTool():
                    self._start(effect)
                case fx.CancelTool(call_id) if call_id in self._tasks:
                    self._tasks[call_id].cancel()
                case fx.Tell(name, fields):
                    self._tell(name, fields)
                case fx.Command(command, payload):
                    self._command(command, payload)
                case fx.SetTimer(name, seconds):
                    self._set(name, seconds)
                case fx.ClearTimer(name):
                    self._clear(name)
        self._moved.set()

    def _start(self, effect: fx.RunTool) -> None:
        opened = replace(effect, opened=_brains(effect.opened))
        runner = Runner(
            caller=self._caller,
            timeout=self._terms.tool_timeout,
            feed=self._feed,
            commit=self._ports.commit,
            now=self._ports.now,
            unauthorized=self._ports.unauthorized,
        )
        task = asyncio.create_task(runner.run(self._offer, opened))
        self._tasks[effect.call_id] = task
        task.add_done_callback(lambda _task: self._tasks.pop(effect.call_id, None))

    def _feed(self, event: Event) -> None:
        if isinstance(event, ToolEnded):
            turn = None if self._over else self._turn
            self._perform(self._calls.ended(turn, event, self._ports.now()))
            late = [effect.item for effect in self._calls.take_finished() if isinstance(effect, fx.SendItem)]
            for item in late:
                self._ports.note(item["content"][0]["text"])
        elif isinstance(event, ToolProgressed):
            self._perform(self._calls.progressed(event))

    def _expired(self, name: str) -> None:
        sheet = self._calls.taps.sheets.named(name)
        if sheet is not None:
            self._perform(self._calls.taps.expire(self._turn, sheet, self._ports.now()))

    def _set(self, name: str, seconds: float) -> None:
        self._clear(name)
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, self._expired, name)

    def _clear(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _tell(self, name: str, fields: Mapping[str, Any]) -> None:
        if name in ("vocero.tool.completed", "vocero.tool.failed"):
            status, code = name.rpartition(".")[2], str(fields.get("code") or "")
            spent = int(fields.get("duration_ms") or 0)
            self.summaries.append(Summary(str(fields["call_id"]), str(fields["name"]), status, code, spent))
        self._ports.tell({"type": name, **fields})

    def _command(self, command: str, payload: Mapping[str, Any]) -> None:
        if command == "open_confirm":
            self._nonces.add(payload["nonce"])
        data = {"command": command, "payload": dict(payload)}
        command_id = self._ports.new_id("command")
        self._ports.tell({"label": LABEL, "type": RTVIType.UI_COMMAND.value, "id": command_id, "data": data})

    def _made_setup(self, has_sheets: bool) -> Setup:
        terms, offer = self._terms, self._offer
        return Setup(
            conversation_id=terms.conversation_id,
            plain=False,
            server_tools={tool.name: tool.source for tool in offer.tools},
            browser_tools=frozenset(),
            aliases=offer.aliases,
            canonical=executor.canonical,
            new_id=self._ports.new_id,
            for_model=FOR_MODEL,
            for_caller=FOR_CALLER,
            confirm_tools=terms.confirm_tools,
            has_sheets=has_sheets,
            objection=lambda name, arguments: executor.objection(offer, name, arguments),
            labels=terms.labels,
            limits=terms.limits,
            finish_tools=terms.finish_tools,
        )


def _brains(record: Record) -> Record:
    """A call that the model's own API told is the brain's selection."""
    if isinstance(record, CallOpened) and record.selection == "native":
        return replace(record, selection="brain")
    return record
