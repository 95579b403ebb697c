"""A turn over HTTP: let in alone, kept by a lease, reached by the app's messages from any process."""

from __future__ import annotations

import asyncio
import json
import uuid
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from channels.db import database_sync_to_async

from conversations import journal, turnstile
from conversations.bootstrap import DATABASE_AWAY, Plan
from conversations.brains import apart, host
from conversations.brains.answering import Ask
from conversations.core.events import ConfirmAnswered
from conversations.realtime import allowed, nudges
from conversations.realtime.allowed import ClientMessage

log = structlog.get_logger(__name__)

HEARTBEAT = 3.0


class NotBegun(Exception):
    """The turn cannot begin: `turn_in_progress` or `conversation_closed`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks over HTTP; without `has_sheets` no tap can be asked for."""

    conversation_id: str
    text: str
    language: str
    has_sheets: bool


class HttpTurn:
    """A turn that runs; whoever asked reads `answering.outlet` and stops it when they go."""

    def __init__(self, plan: Plan, question: Question, key: str) -> None:
        self.mode, self._id, self._key = plan.mode, plan.conversation_id, key
        ask = Ask(
            turn_id=str(uuid.uuid4()),
            index=plan.next_turn,
            text=question.text,
            language=question.language,
            has_sheets=question.has_sheets,
        )
        self._host = host.host_of(plan)
        self.answering = self._host.start(plan, ask, self._leave)
        self._nudged = asyncio.Event()
        self._task = apart.begin(self._keep(), self._id)

    def stop(self) -> None:
        """Whoever asked has gone: the turn is cancelled, tools included."""
        self.answering.stop("cancelled")

    async def over(self) -> None:
        """Returns once nothing of the turn is left."""
        await asyncio.wait({self._task})

    def receive(self, body: Mapping[str, Any]) -> bool:
        """A message of the app's, in RTVI's envelope; False where the brain has too many at work."""
        message = readable(body)
        return message is None or self.answering.receive(message)

    def nudge(self) -> None:
        self._nudged.set()

    async def _keep(self) -> None:
        """The lease, as long as the turn runs; and what other processes left for it."""
        here = _turns()
        here[self._id] = self
        finished = asyncio.create_task(self._host.finished(self.answering))
        listener = asyncio.create_task(nudges.listen(self._id, self.nudge))
        try:
            while not finished.done():
                nudged = asyncio.create_task(self._nudged.wait())
                done, _ = await asyncio.wait(
                    {finished, nudged}, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED
                )
                nudged.cancel()
                self._nudged.clear()
                if finished not in done:
                    await self._beat()
        finally:
            if here.get(self._id) is self:
                del here[self._id]
            listener.cancel()
            await asyncio.wait({listener})

    async def _beat(self) -> None:
        try:
            if why := await database_sync_to_async(turnstile.keep)(self._id, self._key):
                self.answering.stop(why)
            for body in await database_sync_to_async(turnstile.take)(self._id):
                self.receive(body)
        except DATABASE_AWAY as error:
            log.warning("turn.heartbeat_failed", conversation=self._id, error=type(error).__name__)

    async def _leave(self) -> None:
        await _left(self._id, self._key)


async def begin(question: Question) -> HttpTurn:
    """Begins the turn. Raises NotBegun."""
    key = uuid.uuid4().hex
    conversation_id = question.conversation_id
    if not await _entered(conversation_id, key):
        raise NotBegun("turn_in_progress")
    turn: HttpTurn | None = None
    try:
        plan = await host.plan_of(conversation_id)
        if plan is None:
            raise NotBegun("conversation_closed")
        turn = HttpTurn(plan, question, key)
    finally:
        if turn is None:
            await _left(conversation_id, key)
    return turn


async def send(conversation_id: str, body: Mapping[str, Any]) -> str:
    """Gives the app's message to the turn that runs, in whatever process.

    `no_turn` or `full` where it cannot be given, else empty.
    """
    here = _turns().get(conversation_id)
    if here is not None:
        return "" if here.receive(body) else "full"
    refused: str = await database_sync_to_async(turnstile.send)(conversation_id, body)
    return refused


async def make_room(conversation_id: str) -> None:
    """The caller has gone on in the live call: the turn over HTTP that runs, in whatever process, ends."""
    try:
        # Of two that begin at once, this one is refused or that one ends: each sees the other's row.
        if await journal.get_journal().flush():
            await database_sync_to_async(turnstile.make_room)(conversation_id)
    except DATABASE_AWAY as error:
        log.warning("turn.no_room", conversation=conversation_id, error=type(error).__name__)


def readable(body: Mapping[str, Any]) -> ClientMessage | ConfirmAnswered | None:
    """The message in the envelope; None where it is no client-message."""
    asked = allowed.read(json.dumps(body))
    return asked if isinstance(asked, ClientMessage | ConfirmAnswered) else None


async def _entered(conversation_id: str, key: str) -> bool:
    """Whether the turn may begin; one that is being stopped here is waited for."""
    enter = partial(database_sync_to_async(turnstile.enter), conversation_id, key)
    entered: bool = await enter()
    here = _turns().get(conversation_id)
    if not entered and here is not None and here.answering.stopping:
        await here.over()
        entered = await enter()
    return entered


async def _left(conversation_id: str, key: str) -> None:
    try:
        await database_sync_to_async(turnstile.leave)(conversation_id, key)
    except DATABASE_AWAY as error:
        # Its lease runs out by itself.
        log.warning("turn.not_left", conversation=conversation_id, error=type(error).__name__)


_local: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, HttpTurn]]
_local = weakref.WeakKeyDictionary()


def _turns() -> dict[str, HttpTurn]:
    return _local.setdefault(asyncio.get_running_loop(), {})
