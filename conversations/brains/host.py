"""The brains of this process, one a conversation: made, asked, kept while their conversation is in use."""

from __future__ import annotations

import asyncio
import hashlib
import time
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import structlog
from channels.db import database_sync_to_async
from django.conf import settings
from django.utils import timezone

from conversations import journal, lifecycle, toolbox
from conversations.bootstrap import DATABASE_AWAY, Plan, load_plan
from conversations.brains import apart, making
from conversations.brains.answering import Answering, Ask, Ended, World
from conversations.brains.live import LiveSession, Method
from conversations.brains.turns import Ports, Terms, Workbench
from conversations.core.policy import Limits
from conversations.core.records import Record
from conversations.core.transcript import Said
from conversations.labels import labels_in
from conversations.realtime import prompt
from conversations.realtime.naming import new_id
from conversations.realtime.toolrun import NotRecorded
from tools.catalog import Offer, Unkept, discover, joined
from tools.contract import Caller
from tools.sources.inprocess import InProcessSource

log = structlog.get_logger(__name__)

Settled = Callable[[], Awaitable[None]]

NOBODY = Caller("", "", hashlib.sha256(b"").hexdigest())
_STOP_LIMIT = 8.0


async def nothing_more() -> None:
    """What follows a turn that nobody else waits for."""


class Host:
    """One conversation's brain in this process, its session, and the source of the conversation's tools.

    It is made of the conversation's plan; each turn is asked with a plan that was read for it.
    """

    def __init__(self, plan: Plan) -> None:
        self.conversation_id = plan.conversation_id
        self.session = LiveSession(plan.conversation_id, plan.caller_name or None)
        self.brain = making.make(settings.VOCERO.reasoning, _instructions(plan))
        self.brain.session = self.session
        self._source = toolbox.source_of(plan, self._tools_changed)
        self._changed = False
        self._greeted = False
        self._turns: dict[Answering, asyncio.Task[Ended]] = {}
        self._finishing: set[Workbench] = set()
        self._share = journal.Share()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or a tool after its turn."""
        self._finishing = {bench for bench in self._finishing if bench.busy}
        return bool(self._turns or self._finishing)

    async def greet(self) -> str | None:
        """What the brain says before anybody else, once; None for nothing, also where it fails."""
        if self._greeted:
            return None
        self._greeted = True
        greeting = apart.begin(self._greet(), self.conversation_id)
        try:
            await asyncio.wait({greeting})
        finally:
            greeting.cancel()
        error = greeting.exception()
        if error is not None:
            log.error("brain: greeting failed", error=type(error).__name__)
            return None
        return greeting.result()

    async def _greet(self) -> str | None:
        return await self.brain.greet(self.session)

    def start(self, plan: Plan, ask: Ask, settled: Settled = nothing_more) -> Answering:
        """Begins a turn; it runs in a task of its own until its end, or until it is stopped.

        `settled` is awaited once all of it is written down, before the last event is told.
        """
        self._rest()
        self.session.remember([Said(heard.role, heard.text) for heard in plan.history])
        answering = Answering(self.brain, self.session, ask, self._world(plan, ask.language, settled))
        task = apart.begin(answering.run(), self.conversation_id)
        self._turns[answering] = task
        task.add_done_callback(partial(self._over, answering))
        return answering

    async def finished(self, answering: Answering) -> None:
        """Returns once the turn has ended and is written down; the turn goes on where this is cancelled."""
        task = self._turns.get(answering)
        if task is not None:
            await asyncio.wait({task})

    async def make_room(self) -> None:
        """Ends the turns that run, and returns once they are over: a caller who speaks has gone on."""
        self.stop("cancelled")
        if self._turns:
            await asyncio.wait(list(self._turns.values()))

    def stop(self, code: str) -> None:
        """Ends the turns that run."""
        for answering in self._turns:
            answering.stop(code)

    async def aclose(self) -> None:
        """The conversation is over, or the process ends: so does everything here."""
        self._rest()
        _hosts().pop(self.conversation_id, None)
        self.stop("conversation_closed")
        if self._turns:
            await asyncio.wait(self._turns.values(), timeout=_STOP_LIMIT)
        for bench in self._finishing:
            await bench.abandon()
        await self.session.aclose()
        if self._source is not None:
            await self._source.aclose()

    def _over(self, answering: Answering, task: asyncio.Task[Ended]) -> None:
        del self._turns[answering]
        if answering.bench is not None and answering.bench.busy:
            self._finishing.add(answering.bench)
        if not task.cancelled() and task.exception() is not None:
            log.error("brain: turn broke", exc_info=task.exception())
        self._linger()

    def _linger(self) -> None:
        """After some time without use the brain goes; the next turn makes another."""
        self._rest()
        idle = settings.VOCERO.conversation_idle
        self._timer = asyncio.get_running_loop().call_later(idle, self._leave)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _leave(self) -> None:
        if self.busy:
            self._linger()
        else:
            _in_background(self.aclose(), self.conversation_id)

    def _tools_changed(self) -> None:
        self._changed = True

    def _denied(self, plan: Plan) -> None:
        """The backend no longer accepts the caller: the conversation ends with that."""
        # The service's own credential is nobody's login, and a bad one ends no conversation.
        if plan.caller is not None:
            self.stop("unauthorized")
            _in_background(_close(plan.conversation_id), plan.conversation_id)

    def _world(self, plan: Plan, language: str, settled: Settled) -> World:
        denied, kept = partial(self._denied, plan), journal.get_journal()

        async def settle() -> None:
            # What is not written yet must not look like what a dead process left.
            if await kept.flush():
                await settled()

        return World(
            terms=self._terms(language),
            caller=toolbox.caller_of(plan) or NOBODY,
            offer=partial(self._offer, plan, denied),
            ports=self._ports(denied),
            settle=settle,
            # Nobody who writes first is greeted aloud; what a brain prepares there is done all the same.
            prepare=self.greet,
        )

    async def _offer(self, plan: Plan, denied: Callable[[], None], methods: Sequence[Method]) -> Offer:
        """The brain's own tools, then those of the conversation."""
        own = InProcessSource(methods)
        caller = toolbox.caller_of(plan) or NOBODY
        first = await discover([own], caller, None, Unkept(), timezone.now())
        again, self._changed = self._changed, False
        second = await toolbox.offer(plan, self._source, again)
        if second.unauthorized:
            denied()
        return joined(first, second)

    def _ports(self, denied: Callable[[], None]) -> Ports:
        kept, share = journal.get_journal(), self._share

        async def commit(record: Record) -> None:
            try:
                await kept.commit(record, share)
            except journal.NotRecorded as error:
                raise NotRecorded(str(error)) from error

        return Ports(
            tell=lambda _event: None,
            write=lambda record: kept.write(record, share),
            commit=commit,
            now=time.time,
            new_id=new_id,
            unauthorized=denied,
            note=self.session.note,
        )

    def _terms(self, language: str) -> Terms:
        vocero = settings.VOCERO
        return Terms(
            conversation_id=self.conversation_id,
            limits=Limits(
                attempts=vocero.max_tool_calls,
                result_chars=vocero.result_chars,
                turn_result_chars=vocero.turn_result_chars,
                confirm=vocero.confirm_timeout,
            ),
            tool_timeout=vocero.tool_timeout,
            marker=vocero.reasoning.marker,
            thinks_first=vocero.thinks_first,
            confirm_tools=frozenset(vocero.confirm_tools),
            finish_tools=frozenset(vocero.finish_tools) | frozenset(self.brain.finish_tools),
            labels=labels_in(language),
        )


def host_of(plan: Plan) -> Host:
    """The conversation's brain in this process, made where there is none yet."""
    here = _hosts()
    if plan.conversation_id not in here:
        here[plan.conversation_id] = Host(plan)
    return here[plan.conversation_id]


async def plan_of(conversation_id: str) -> Plan | None:
    """What a turn needs to know of its conversation; None where that is not open."""
    plan: Plan | None = await database_sync_to_async(load_plan)(conversation_id, None)
    return plan


async def stop() -> None:
    """This process ends: every turn does, and its row is closed."""
    for host in list(_hosts().values()):
        await host.aclose()


def _instructions(plan: Plan) -> str:
    """What a brain of ours is told: who it is, whom it speaks with, what their page shows."""
    return prompt.instructions(plan.caller_name, "", (), prompt.background("", plan.episode_id))


async def _close(conversation_id: str) -> None:
    try:
        await database_sync_to_async(lifecycle.close)(conversation_id, "auth_expired")
    except DATABASE_AWAY as error:
        log.warning("close.failed", conversation=conversation_id, error=type(error).__name__)


_local: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Host]] = weakref.WeakKeyDictionary()
_background: set[asyncio.Task[None]] = set()


def _hosts() -> dict[str, Host]:
    return _local.setdefault(asyncio.get_running_loop(), {})


def _in_background(work: Coroutine[Any, Any, None], conversation_id: str) -> None:
    task = apart.begin(work, conversation_id)
    _background.add(task)
    task.add_done_callback(_background.discard)
