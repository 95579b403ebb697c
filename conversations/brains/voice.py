"""The brain of a live call: asked by the speech service in its model's place, seen and tapped by the call."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import structlog
from channels.db import database_sync_to_async
from django.db.models import Max

from conversations import journal
from conversations.bootstrap import Plan
from conversations.brains import apart, host
from conversations.brains.answering import Answering, Ask
from conversations.core import events as e
from conversations.core.markers import neutralise
from conversations.models import ToolCall
from conversations.realtime.allowed import ClientMessage
from conversations.realtime.brainside import BrainSide

log = structlog.get_logger(__name__)

TOOL_BEGINS = "vocero.tool.started"
TOOL_ENDS = frozenset({"vocero.tool.completed", "vocero.tool.failed"})


class NobodyAsks(Exception):
    """The session that asks is over, or its conversation is."""


class VoiceBrain:
    """One request of the service's after the other; a newer one ends what the one before caused."""

    def __init__(self, call: BrainSide) -> None:
        self._call = call
        self._host: host.Host | None = None
        self._answering: Answering | None = None
        self._greeting: asyncio.Task[None] | None = None
        self._asking = asyncio.Lock()
        self._newest = 0
        self._waits_for: set[str] = set()

    def greet(self, plan: Plan) -> None:
        """The call begins: the brain greets a caller with whom nobody has spoken yet."""
        self._greeting = apart.begin(self._greet(plan), plan.conversation_id)
        self._greeting.add_done_callback(_told)

    async def _greet(self, plan: Plan) -> None:
        words = await host.host_of(plan).greet()
        if words and not plan.history:
            self._call.feed(e.Greeting(neutralise(" ".join(words.split()))))

    async def ask(self, session_id: str, words: str) -> AsyncGenerator[str, None]:
        """The brain thinks about the caller's words; where the call knows them itself, those count.

        What is returned gives the answer piece by piece, and ends the work when it is closed. Raises
        NobodyAsks.
        """
        return self._pieces(await self._begin(session_id, words))

    async def _pieces(self, answering: Answering) -> AsyncGenerator[str, None]:
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(answering, pieces))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
        finally:
            answering.stop("cancelled")
            await asyncio.wait({reading})

    def stop(self) -> None:
        """The caller has gone on, or the call is over."""
        if self._answering is not None:
            self._answering.stop("cancelled")

    def receive(self, message: ClientMessage | e.ConfirmAnswered) -> bool:
        """A message of the page's; False where it is for nobody here."""
        if self._answering is None or self._answering.ended is not None:
            return False
        return self._answering.receive(message)

    async def _begin(self, session_id: str, words: str) -> Answering:
        self._newest += 1
        mine = self._newest
        self.stop()
        async with self._asking:
            self._answering = None
            turn = self._call.thinks(session_id) if mine == self._newest else None
            if turn is None:
                raise NobodyAsks
            self._waits_for.clear()
            # What was said last is in the history only once it is written down.
            await journal.get_journal().flush()
            plan = await host.plan_of(self._call.conversation_id)
            if plan is None:
                raise NobodyAsks
            ask = Ask(
                turn_id=turn.turn_id,
                index=turn.index,
                text=neutralise(turn.caller_text or words),
                language=self._call.language,
                has_sheets=self._call.extras,
                kept=False,
                picks=await database_sync_to_async(_picks)(turn.turn_id),
            )
            self._host = host.host_of(plan)
            await self._host.make_room()
            self._answering = self._host.start(plan, ask)
            return self._answering

    async def _read(self, answering: Answering, pieces: asyncio.Queue[str | None]) -> None:
        """Words go to who asked, all else to the page; the core learns when silence has a cause."""
        try:
            async for event in answering.outlet.events():
                if event["type"] == "text.delta":
                    pieces.put_nowait(event["delta"])
                elif event["type"] == "turn.failed":
                    self._failed(answering, event, pieces)
                elif event["type"] not in ("turn.started", "turn.completed"):
                    self._call.pass_on(event)
                    self._look_at(event)
        finally:
            if answering is self._answering:
                self._call.feed(e.BrainEnded("cancelled" if answering.stopping else ""))
            pieces.put_nowait(None)

    def _failed(
        self, answering: Answering, event: Mapping[str, Any], pieces: asyncio.Queue[str | None]
    ) -> None:
        if event["code"] == "cancelled":
            return
        # The caller is waiting for an answer, and this is it.
        pieces.put_nowait(f"{' ' if answering.text else ''}{event['message']}")
        if answering is self._answering:
            self._call.feed(e.BrainEnded(event["code"], event.get("ref", ""), event["message"]))

    def _look_at(self, event: Mapping[str, Any]) -> None:
        """Which tools run and which sheets are open."""
        was = bool(self._waits_for)
        data = event.get("data") or {}
        payload = data.get("payload") or {}
        if event["type"] == TOOL_BEGINS:
            self._waits_for.add(event["call_id"])
        elif event["type"] in TOOL_ENDS:
            self._waits_for.discard(event["call_id"])
        elif data.get("command") == "open_confirm":
            # The call waits for the tap before it begins, and ends in any case.
            self._waits_for.add(payload["call_id"])
        if bool(self._waits_for) != was:
            self._call.feed(e.BrainMoved(not was))


def _told(greeting: asyncio.Task[None]) -> None:
    error = None if greeting.cancelled() else greeting.exception()
    if error is not None:
        log.error("brain: greeting failed", error=type(error).__name__)


def of(call: BrainSide) -> VoiceBrain:
    """The brain of that call."""
    if call not in _brains:
        call.thinker = _brains[call] = VoiceBrain(call)
    return _brains[call]


_brains: weakref.WeakKeyDictionary[BrainSide, VoiceBrain] = weakref.WeakKeyDictionary()


def _picks(turn_id: str) -> int:
    """How many tools were picked in that turn already."""
    return int(ToolCall.objects.filter(turn_id=turn_id).aggregate(last=Max("sequence"))["last"] or 0)
