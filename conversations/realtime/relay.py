"""One conversation's live call in this process: claimed, run, kept by heartbeats, held, released."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

import structlog
from channels.db import database_sync_to_async
from django.conf import settings

from conversations import journal, lifecycle, profile, toolbox
from conversations.bootstrap import DATABASE_AWAY, Plan, load_plan
from conversations.brains import beside, elsewhere, over_http, voice
from conversations.brains.beside import Beside
from conversations.core.floor import SLOW_TOOL
from conversations.core.policy import Limits
from conversations.core.records import Record, TurnOpened
from conversations.core.transcript import Said
from conversations.labels import labels_in
from conversations.realtime import endings, nudges, prompt, words
from conversations.realtime.brainside import BrainSide
from conversations.realtime.call import Call, Ports
from conversations.realtime.connection import SpeechConnection, SpeechUnavailable, dial
from conversations.realtime.endings import Ending
from conversations.realtime.naming import new_id
from conversations.realtime.session import Session
from conversations.realtime.toolrun import NotRecorded
from conversations.realtime.waiting import Waiting
from tools.catalog import Offer
from tools.contract import ToolFailure, ToolSource
from tools.sources.mcp import McpSource

log = structlog.get_logger(__name__)

HEARTBEAT = 3.0
EXPIRING = 60.0

PROCESS = uuid.uuid4().hex[:12]


class Seat(Protocol):
    """A socket in the call. With `extras` its client knows Vocero's own events; `over` when it has ended.

    `offer` sends a frame where that needs no waiting, and says so; `send` sends any.
    `language` is the one that its client asked for, such as `es`; empty where it asked for none.
    """

    @property
    def extras(self) -> bool: ...

    @property
    def language(self) -> str: ...

    @property
    def over(self) -> bool: ...

    def offer(self, frame: str) -> bool: ...

    async def send(self, frame: str) -> None: ...

    def dismiss(self, ending: Ending) -> None: ...


class Relay:
    """The owner of a conversation's call, which one socket after the other may sit in.

    Its task outlives its sockets: a call always ends, and one whose socket is lost is held for a while.
    """

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self._owner = f"{PROCESS}:{uuid.uuid4().hex}"
        self._generation = 0
        self._seat: Seat | None = None
        self._session: Session | None = None
        self.brain = BrainSide(conversation_id)
        self._beside: Beside | None = None
        self._early = Waiting()
        self._ending: Ending | None = None
        self._nudged = asyncio.Event()
        self._grace: asyncio.TimerHandle | None = None

    # ---- its sockets

    async def claim(self) -> Ending | None:
        """Makes this process the owner of the call; where it cannot be, how the socket ends."""
        conversation_id = self.conversation_id
        claim = await database_sync_to_async(lifecycle.claim)(conversation_id, self._owner)
        if claim is None:
            # Closed since it was admitted; the client is to know by whom.
            heartbeat = database_sync_to_async(lifecycle.heartbeat)
            standing = await heartbeat(conversation_id, self._owner, 0, False)
            return endings.closed(standing.reason or "expired")
        self._generation = claim.generation
        return None

    async def may_go_on(self) -> bool:
        """Whether another socket may take its place here: nobody else has claimed the call since."""
        held = await self._standing(active=True) is None
        return held and self._session is not None and not self._session.over and self._ending is None

    def take(self, seat: Seat) -> None:
        """The newest socket has the call; the one before it, if it is there, is told so."""
        before, self._seat = self._seat, seat
        self.brain.extras, self.brain.language = seat.extras, seat.language
        self._count_no_grace()
        if before is not None:
            before.dismiss(endings.TAKEN_OVER)
        if self._session is None:
            return
        log.info("conversation.adopted", conversation=self.conversation_id)
        if before is not None:
            self._session.browser_left()
        self._session.browser_came(seat.extras)

    def receive(self, seat: Seat, frame: str) -> None:
        """A frame of the socket that has the call."""
        if seat is not self._seat:
            return
        if self._session is not None:
            self._session.receive(frame)
        elif not self._early.put(frame):
            self.end(endings.TOO_LARGE)

    def vacate(self, seat: Seat, lost: bool) -> None:
        """The socket is gone: one that was lost may come back, after any other the call ends."""
        if seat is self._seat and not (lost and self._hold(endings.LEFT)):
            self.end(endings.LEFT)

    def _hold(self, ending: Ending) -> bool:
        """Whether the call goes on for the grace time, while its socket ends like this."""
        grace, seat, session = settings.VOCERO.reconnect_grace, self._seat, self._session
        if not grace or seat is None or session is None or self._ending is not None:
            return False
        self._seat = None
        self._grace = asyncio.get_running_loop().call_later(grace, self.end, endings.LEFT)
        log.info("conversation.held", conversation=self.conversation_id, seconds=grace)
        session.browser_left()
        seat.dismiss(ending)
        return True

    def _count_no_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None

    def nudge(self) -> None:
        """Somebody changed the conversation's row: read it now."""
        self._nudged.set()

    def end(self, ending: Ending) -> None:
        """The call ends like this."""
        self._ending = self._ending or ending
        if self._session is not None:
            self._session.end(ending)

    # ---- the call

    async def run(self) -> None:
        """The whole life of the call, once it is claimed."""
        # For every line that the call's tasks log, those of its tools too.
        structlog.contextvars.bind_contextvars(conversation=self.conversation_id)
        ending = endings.BROKEN
        listener = asyncio.create_task(
            nudges.listen(self.conversation_id, self.nudge, partial(elsewhere.heed, self.brain))
        )
        try:
            plan = await database_sync_to_async(load_plan)(self.conversation_id, self._generation)
            ending = await self._run(plan) if plan else await self._standing() or endings.BROKEN
        except DATABASE_AWAY:
            log.exception("call.database")
        finally:
            self._ending = self._ending or ending
            self._count_no_grace()
            listener.cancel()
            await asyncio.wait({listener})
            try:
                await self._release()
            finally:
                if self._seat is not None:
                    self._seat.dismiss(ending)

    async def _release(self) -> None:
        """Gives the lease back once the rows are written; where they are not yet, it runs out by itself."""
        if not await journal.get_journal().flush():
            return
        try:
            release = database_sync_to_async(lifecycle.release)
            await release(self.conversation_id, self._owner, self._generation)
        except DATABASE_AWAY as error:
            log.warning("release.failed", error=type(error).__name__)

    async def _run(self, plan: Plan) -> Ending:
        # Where a brain thinks it has the tools, and the service's model is told of none.
        thinks = settings.VOCERO.reasoning.as_llm
        self.brain.thinks_until = plan.expires_at if thinks else 0.0
        source = None if thinks else toolbox.source_of(plan, self._tools_changed)
        background = prompt.background(await profile.text_for(plan), plan.episode_id)
        self._beside = beside.of(plan, self.brain.pass_on)
        session = Session(self._call(plan, background), self._ports(plan, source))
        beat = asyncio.create_task(self._keep(plan, session))
        opening = asyncio.create_task(self._open(source, plan))
        try:
            self._session = self.brain.session = session
            for frame in self._early.take():
                session.receive(frame)
            if self._ending is not None:
                session.end(self._ending)
            return await session.run()
        finally:
            self.brain.stop()
            if self._beside is not None:
                self._beside.leave()
            beat.cancel()
            opening.cancel()
            await asyncio.wait({beat, opening})
            if source is not None:
                await source.aclose()

    def _begun(self, plan: Plan) -> None:
        """The caller may speak; a brain that thinks for the call may before them."""
        if self.brain.thinks_until:
            voice.of(self.brain).greet(plan)

    def _tools_changed(self) -> None:
        if self._session is not None:
            self._session.tools_changed()

    async def _open(self, source: ToolSource | None, plan: Plan) -> None:
        """Connects ahead of the first call, also where a kept catalog spares the discovery."""
        if not isinstance(source, McpSource) or plan.caller is None:
            return
        try:
            await source.open(plan.caller)
        except ToolFailure as failure:
            log.info("mcp.not_opened", code=failure.code)
            if failure.code == "unauthorized":
                self._close_conversation(plan.conversation_id, "auth_expired")

    async def _keep(self, plan: Plan, session: Session) -> None:
        """The heartbeat: renews the lease, and learns from the row what others decided."""
        warned = False
        while True:
            self._nudged.clear()
            left = plan.expires_at - time.time()
            try:
                ending = await self._beat(plan, session, left)
            except DATABASE_AWAY as error:
                log.warning("heartbeat.failed", conversation=plan.conversation_id, error=type(error).__name__)
                ending = endings.closed("expired") if left <= 0 else None
            if ending is not None:
                self._announce(session, ending)
                return
            if left < EXPIRING and not warned:
                warned = True
                session.tell("vocero.conversation.expiring", {"seconds": int(left)})
            try:
                async with asyncio.timeout(max(min(HEARTBEAT, left), 0.1)):
                    await self._nudged.wait()
            except TimeoutError:
                continue

    async def _beat(self, plan: Plan, session: Session, left: float) -> Ending | None:
        if left <= 0:
            await database_sync_to_async(lifecycle.close)(plan.conversation_id, "expired")
        return await self._standing(session.take_activity())

    def _announce(self, session: Session, ending: Ending) -> None:
        if ending.code == 4410:
            session.tell("vocero.conversation.closed", {"reason": ending.error})
        session.end(ending)

    async def _standing(self, active: bool = False) -> Ending | None:
        heartbeat = database_sync_to_async(lifecycle.heartbeat)
        standing = await heartbeat(self.conversation_id, self._owner, self._generation, active)
        if standing.state == "held":
            if standing.stale_tools:
                self._tools_changed()
            return None
        return endings.TAKEN_OVER if standing.state == "superseded" else endings.closed(standing.reason)

    def _call(self, plan: Plan, background: str) -> Call:
        vocero = settings.VOCERO
        return Call(
            conversation_id=plan.conversation_id,
            caller=toolbox.caller_of(plan),
            caller_name=plan.caller_name,
            plain=plan.mode == "plain" and self._beside is None,
            expires_at=datetime.fromtimestamp(plan.expires_at, UTC).isoformat(),
            selection=vocero.tool_selection,
            tool_timeout=vocero.tool_timeout,
            speech_session_max=vocero.speech_session_max * 60,
            extras=self._seat.extras if self._seat is not None else False,
            browser_tools=frozenset() if vocero.reasoning.as_llm else frozenset(plan.browser_tools),
            finish_tools=frozenset(vocero.finish_tools) | beside.finish_tools(self._beside),
            thinks_first=vocero.thinks_first,
            confirm_tools=frozenset(vocero.confirm_tools),
            labels=labels_in(self.brain.language),
            limits=Limits(
                attempts=vocero.max_tool_calls,
                result_chars=vocero.result_chars,
                turn_result_chars=vocero.turn_result_chars,
                silence=vocero.silence_limit,
                slow_tool=vocero.slow_tool_line,
                confirm=vocero.confirm_timeout,
            ),
            next_turn=plan.next_turn,
            history=tuple(Said(heard.role, heard.text) for heard in plan.history),
            page=plan.session,
            spoken=self._spoken(),
            background=background,
        )

    def _spoken(self) -> Mapping[str, str]:
        """The sentences that are said aloud, in the language of whoever is there."""
        spoken = words.SPOKEN.get(self.brain.language, words.SPOKEN["en"])
        if settings.VOCERO.spoken_apology:
            return spoken
        return {code: line for code, line in spoken.items() if code == SLOW_TOOL}

    def _ports(self, plan: Plan, source: ToolSource | None) -> Ports:
        vocero = settings.VOCERO
        write, share = journal.get_journal(), journal.Share()

        async def call_service() -> SpeechConnection:
            if not vocero.speech_url:
                raise SpeechUnavailable("S2S_SPEECH_URL is not set")
            return await dial(vocero.speech_url, vocero.speech_api_key, vocero.speech_model)

        async def commit(record: Record) -> None:
            try:
                await write.commit(record, share)
            except journal.NotRecorded as error:
                raise NotRecorded(str(error)) from error

        async def offered(again: bool) -> Offer:
            found = await toolbox.offer(plan, source, again)
            return found if self._beside is None else await self._beside.joined(found)

        def keep(record: Record) -> None:
            write.write(record, share)
            if isinstance(record, TurnOpened) and not record.aside:
                _in_background(over_http.make_room(plan.conversation_id))

        def unauthorized() -> None:
            # The service's own credential is nobody's login, and a bad one ends no conversation.
            if plan.caller is not None:
                self._close_conversation(plan.conversation_id, "auth_expired")

        return Ports(
            send=self._send,
            offer=self._offer,
            dial=call_service,
            discover=offered,
            write=keep,
            commit=commit,
            now=time.time,
            new_id=new_id,
            unauthorized=unauthorized,
            hold=self._hold,
            ticket=self.brain.ticket,
            stop_brain=self.brain.stop,
            begun=partial(self._begun, plan),
            to_brain=self.brain.takes if self._beside is None else self._beside.takes,
        )

    def _close_conversation(self, conversation_id: str, reason: str) -> None:
        """Closes the row in a task of its own; the heartbeat then ends the call."""
        _in_background(self._close_and_look(conversation_id, reason))

    async def _close_and_look(self, conversation_id: str, reason: str) -> None:
        try:
            await database_sync_to_async(lifecycle.close)(conversation_id, reason)
        except DATABASE_AWAY as error:
            log.warning("close.failed", conversation=conversation_id, error=type(error).__name__)
        self.nudge()

    def _offer(self, frame: str) -> bool:
        return self._seat is not None and self._seat.offer(frame)

    async def _send(self, frame: str) -> None:
        if self._seat is not None:
            await self._seat.send(frame)


_background: set[asyncio.Task[None]] = set()


def _in_background(work: Coroutine[Any, Any, None]) -> None:
    """What outlives the call, if need be."""
    task = asyncio.create_task(work)
    _background.add(task)
    task.add_done_callback(_background.discard)
