"""One turn of a brain, from the caller's words to its end, which always comes: said, failed or cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import structlog

from conversations.brains.brain import Brain
from conversations.brains.letters import Letters
from conversations.brains.live import LiveSession, Method, place_of
from conversations.brains.loop import ModelFailed
from conversations.brains.outlet import Outlet
from conversations.brains.rtvi import RTVIMessage, RTVIType
from conversations.brains.turns import Ports, Terms, Workbench
from conversations.brains.words import apology
from conversations.core.events import ConfirmAnswered
from conversations.core.records import TurnClosed, TurnOpened
from conversations.realtime.allowed import ClientMessage, as_message
from tools.catalog import Offer
from tools.contract import Caller
from tools.sources.inprocess import DeclarationRefused

log = structlog.get_logger(__name__)

LIMIT = 180.0


@dataclass(frozen=True, slots=True)
class Ask:
    """What the caller asks, and the turn of the record to which it belongs.

    With `kept` the turn's row is begun and ended here; one that belongs to a live call is the call's own, and
    has `picks` tool calls already. `has_sheets`: a tap can be asked for.
    """

    turn_id: str
    index: int
    text: str
    language: str = ""
    has_sheets: bool = True
    kept: bool = True
    picks: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """What surrounds the turn: the terms, the caller as tools know them, what may be used now, the ports.

    `offer(methods)` raises DeclarationRefused. `settle` returns once what was written is in the database.
    `prepare` is awaited before the brain is asked.
    """

    terms: Terms
    caller: Caller
    offer: Callable[[Sequence[Method]], Awaitable[Offer]]
    ports: Ports
    settle: Callable[[], Awaitable[None]]
    prepare: Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a turn ended: `done`, `failed` or `cancelled`, with a code but for the first."""

    outcome: str
    code: str = ""
    ref: str = ""


class Answering:
    """One turn; its task is its own, so that it ends in order whoever stops listening to `outlet`."""

    def __init__(self, brain: Brain, session: LiveSession, ask: Ask, world: World) -> None:
        self.ask, self.outlet = ask, Outlet()
        self.bench: Workbench | None = None
        self.ended: Ended | None = None
        self._brain, self._session, self._world = brain, session, world
        self._said: list[str] = []
        self._answered_at: float | None = None
        self._stopped: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def stopping(self) -> bool:
        """Whether it was told to end."""
        return self._stopped.done()

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._said).strip()

    def stop(self, code: str) -> None:
        """Ends the turn: `cancelled` where the caller goes on or away, else why it cannot go on."""
        if not self._stopped.done():
            self._stopped.set_result(code)

    def receive(self, message: ClientMessage | ConfirmAnswered) -> bool:
        """A message of the app's while the turn runs; False where the brain has too many at work."""
        if isinstance(message, ConfirmAnswered):
            if self.bench is not None and self.bench.asked(message.nonce):
                self.bench.confirm(message)
                return True
            # A sheet of the brain's own: it knows what was asked.
            message = as_message(message)
        data = {"t": message.kind, "d": message.data}
        told = RTVIMessage(RTVIType.CLIENT_MESSAGE, message.message_id, data)
        return self._session.receive(self._brain, told)

    async def run(self) -> Ended:
        """The whole turn. Events are in `outlet`, the last one is `turn.completed` or `turn.failed`."""
        ports, ask, started = self._world.ports, self.ask, self._world.ports.now()
        # The task is the turn's own, and so is its context.
        structlog.contextvars.bind_contextvars(turn=ask.turn_id)
        if ask.kept:
            conversation_id = self._world.terms.conversation_id
            ports.write(TurnOpened(ask.turn_id, conversation_id, ask.index, "http", started))
        self.outlet.tell({"type": "turn.started", "turn": ask.index})
        self._session.turn_begins(self._begin)
        self._session.show_on(self.outlet.tell)
        ended = Ended("cancelled", "cancelled")
        speaking = asyncio.create_task(self._speak())
        try:
            waited: set[asyncio.Future[Any]] = {speaking, self._stopped}
            await asyncio.wait(waited, timeout=LIMIT, return_when=asyncio.FIRST_COMPLETED)
            ended = await self._how(speaking)
        finally:
            self.ended = ended
            speaking.cancel()
            self._session.turn_ends()
            await self._close(ended, started)
        return ended

    async def _how(self, speaking: asyncio.Task[None]) -> Ended:
        """How it ended; whoever speaks on is stopped first, so that nothing comes after the end."""
        finished = speaking.done()
        if not finished:
            speaking.cancel()
            await asyncio.wait({speaking})
        if finished and not speaking.cancelled():
            error = speaking.exception()
            return Ended("done") if error is None else self._failed(error)
        if not self._stopped.done():
            return self._told("timeout", "ran out of time")
        code = self._stopped.result()
        return Ended("cancelled", code) if code == "cancelled" else self._told(code, "was stopped")

    async def _speak(self) -> None:
        await self._world.prepare()
        pieces, letters = self._brain.respond(self._session, self.ask.text), Letters()
        async with aclosing(cast("Any", pieces)):
            async for piece in pieces:
                if piece:
                    await self._say(letters.take(piece))
        await self._say(letters.rest())
        if not self.text:
            raise ModelFailed("no_answer")

    async def _say(self, piece: str) -> None:
        if not piece:
            return
        if self._answered_at is None:
            self._answered_at = self._world.ports.now()
        self._said.append(piece)
        await self.outlet.speak(piece)

    async def _begin(self, methods: Sequence[Method]) -> Workbench:
        """The tools of this turn, which are looked at once."""
        if self.bench is None:
            offer = await self._world.offer(methods)
            world, ask = self._world, self.ask
            told = replace(world.ports, tell=self.outlet.tell, note=self._session.note)
            bench = Workbench(world.terms, world.caller, offer, told, ask.has_sheets)
            self.bench = bench.belong_to(ask.turn_id, ask.index, ask.picks)
        return self.bench

    def _failed(self, error: BaseException) -> Ended:
        if isinstance(error, ModelFailed):
            return self._told(error.code, str(error))
        reason = str(error) if isinstance(error, DeclarationRefused) else type(error).__name__
        return self._told("internal", reason, place_of(error))

    def _told(self, code: str, reason: str, place: str = "") -> Ended:
        ref = self._world.ports.new_id("ref")
        log.error("brain: turn failed", code=code, reason=reason, ref=ref, place=place)
        return Ended("failed", code, ref)

    async def _close(self, ended: Ended, started: float) -> None:
        ports, ask = self._world.ports, self.ask
        if self.bench is not None:
            await self.bench.close(goes_on=ended.code == "cancelled")
        if ask.kept:
            # What a reader who left did not get was never heard.
            heard = self.outlet.read_text.strip() if ended.outcome == "cancelled" else self.text
            ports.write(
                TurnClosed(
                    turn_id=ask.turn_id,
                    outcome=ended.outcome,
                    caller_text=ask.text,
                    heard_text=heard,
                    at=ports.now(),
                    caller_done_at=started,
                    answered_at=self._answered_at,
                    code="" if ended.outcome == "cancelled" else ended.code,
                    ref=ended.ref,
                )
            )
        self._session.hide_from(self.outlet.tell)
        await self._world.settle()
        self.outlet.tell(self._last_event(ended))
        self.outlet.close()

    def _last_event(self, ended: Ended) -> dict[str, Any]:
        if ended.outcome == "done":
            calls = [asdict(one) for one in self.bench.summaries] if self.bench is not None else []
            return {
                "type": "turn.completed",
                "turn": self.ask.index,
                "text": self.text,
                "tool_calls": calls,
            }
        message = apology(ended.code, self.ask.language)
        told = {"type": "turn.failed", "turn": self.ask.index, "code": ended.code, "message": message}
        return {**told, "ref": ended.ref} if ended.ref else told
