"""One socket from its knock to its end: admitted, claimed, run, kept by heartbeats, released."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from conversations import journal, lifecycle, profile, toolbox
from conversations.bootstrap import Plan, load_plan
from conversations.core.policy import Limits
from conversations.core.records import Record
from conversations.core.transcript import Said
from conversations.identity import rates
from conversations.identity.admission import Admission, admit_socket
from conversations.models import new_ref
from conversations.realtime import endings, nudges, prompt
from conversations.realtime.call import Call, Ports
from conversations.realtime.connection import SpeechConnection, SpeechUnavailable, dial
from conversations.realtime.endings import Ending
from conversations.realtime.session import Session
from conversations.realtime.toolrun import NotRecorded
from conversations.realtime.waiting import Waiting
from tools.catalog import Offer
from tools.contract import ToolFailure, ToolSource
from tools.sources.mcp import McpSource

log = structlog.get_logger(__name__)

HEARTBEAT = 3.0
EXPIRING = 60.0
GOODBYE = 3.0
DATABASE_AWAY = (DatabaseError, InterfaceError)

PROCESS = uuid.uuid4().hex[:12]


@dataclass(frozen=True, slots=True)
class Knock:
    """What a socket shows at the door."""

    conversation_id: str | None
    cookie: str | None = field(repr=False)
    secret: str | None = field(repr=False)
    address: str
    extras: bool


class Relay:
    """The owner of one socket's call; its task outlives the consumer, so that a call always ends."""

    def __init__(
        self, knock: Knock, send: Callable[[str], Awaitable[None]], close: Callable[[int], Awaitable[None]]
    ) -> None:
        self._knock, self._send, self._close = knock, send, close
        self._owner = f"{PROCESS}:{uuid.uuid4().hex}"
        self._session: Session | None = None
        self._early = Waiting()
        self._ending: Ending | None = None
        self._nudged = asyncio.Event()
        self._gone = False
        self._missing: asyncio.TimerHandle | None = None

    def receive(self, frame: str) -> None:
        """A frame of the browser; never waits."""
        if self._session is not None:
            self._session.receive(frame)
        elif not self._early.put(frame):
            self.end(endings.TOO_LARGE)

    def leave(self) -> None:
        """The socket is gone; the conversation stays open."""
        self._gone = True
        self.end(endings.LEFT)

    def nudge(self) -> None:
        """Somebody changed the conversation's row: read it now."""
        self._nudged.set()

    def end(self, ending: Ending) -> None:
        """The call ends like this."""
        self._ending = self._ending or ending
        if self._session is not None:
            self._session.end(ending)

    async def run(self) -> None:
        """The whole life of the socket."""
        ending = endings.BROKEN
        try:
            ending = await self._admitted()
        except DATABASE_AWAY:
            log.exception("socket.database")
        finally:
            await self._say_goodbye(ending)
            if self._missing is not None:
                self._missing.cancel()

    async def _admitted(self) -> Ending:
        knock = self._knock
        wait = await database_sync_to_async(rates.retry_after)(
            "socket", knock.address, settings.VOCERO.rate_sockets, time.time()
        )
        if wait is not None:
            return endings.busy(wait)
        admitted = await database_sync_to_async(admit_socket)(
            knock.conversation_id, knock.cookie, knock.secret
        )
        if not isinstance(admitted, Admission):
            return endings.refused(admitted.close_code, admitted.code)
        # A socket that left meanwhile must not take the call away from another.
        return self._ending or await self._claimed(admitted.conversation_id)

    async def _claimed(self, conversation_id: str) -> Ending:
        claim = await database_sync_to_async(lifecycle.claim)(conversation_id, self._owner)
        if claim is None:
            # Closed since it was admitted; the client is to know by whom.
            standing = await database_sync_to_async(lifecycle.heartbeat)(
                conversation_id, self._owner, 0, False
            )
            return endings.closed(standing.reason or "expired")
        # For every line that the call's tasks log, those of its tools too.
        structlog.contextvars.bind_contextvars(conversation=conversation_id)
        listener = asyncio.create_task(nudges.listen(conversation_id, self.nudge))
        try:
            plan = await database_sync_to_async(load_plan)(conversation_id, claim.generation)
            if plan is None:
                return await self._standing(conversation_id, claim.generation) or endings.BROKEN
            return await self._run(plan)
        finally:
            listener.cancel()
            await asyncio.wait({listener})
            await database_sync_to_async(lifecycle.release)(conversation_id, self._owner, claim.generation)

    async def _run(self, plan: Plan) -> Ending:
        source = toolbox.source_of(plan, self._tools_changed)
        background = prompt.background(await profile.text_for(plan), plan.episode_id)
        session = Session(self._call(plan, background), self._ports(plan, source))
        beat = asyncio.create_task(self._keep(plan, session))
        opening = asyncio.create_task(self._open(source, plan))
        try:
            self._session = session
            for frame in self._early.take():
                session.receive(frame)
            if self._ending is not None:
                session.end(self._ending)
            return await session.run()
        finally:
            beat.cancel()
            opening.cancel()
            await asyncio.wait({beat, opening})
            if source is not None:
                await source.aclose()
            await journal.get_journal().flush()

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
        return await self._standing(plan.conversation_id, plan.generation, session.take_activity())

    def _announce(self, session: Session, ending: Ending) -> None:
        if ending.code == 4410:
            session.tell("vocero.conversation.closed", {"reason": ending.error})
        session.end(ending)

    async def _standing(self, conversation_id: str, generation: int, active: bool = False) -> Ending | None:
        heartbeat = database_sync_to_async(lifecycle.heartbeat)
        standing = await heartbeat(conversation_id, self._owner, generation, active)
        if standing.state == "held":
            return None
        return endings.TAKEN_OVER if standing.state == "superseded" else endings.closed(standing.reason)

    def _call(self, plan: Plan, background: str) -> Call:
        vocero = settings.VOCERO
        return Call(
            conversation_id=plan.conversation_id,
            caller=toolbox.caller_of(plan),
            caller_name=plan.caller_name,
            plain=plan.mode == "plain",
            expires_at=datetime.fromtimestamp(plan.expires_at, UTC).isoformat(),
            selection=vocero.tool_selection,
            tool_timeout=vocero.tool_timeout,
            speech_session_max=vocero.speech_session_max * 60,
            extras=self._knock.extras,
            browser_tools=frozenset(plan.browser_tools),
            finish_tools=frozenset(vocero.finish_tools),
            confirm_tools=frozenset(vocero.confirm_tools),
            labels=vocero.tool_labels.get("en", {}),
            limits=Limits(
                attempts=vocero.max_tool_calls,
                result_chars=vocero.result_chars,
                turn_result_chars=vocero.turn_result_chars,
                silence=vocero.silence_limit,
                confirm=vocero.confirm_timeout,
            ),
            next_turn=plan.next_turn,
            history=tuple(Said(heard.role, heard.text) for heard in plan.history),
            page=plan.session,
            background=background,
        )

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
            return await toolbox.offer(plan, source, again)

        def unauthorized() -> None:
            # The service's own credential is nobody's login, and a bad one ends no conversation.
            if plan.caller is not None:
                self._close_conversation(plan.conversation_id, "auth_expired")

        return Ports(
            send=self._send_while_there,
            dial=call_service,
            discover=offered,
            write=lambda record: write.write(record, share),
            commit=commit,
            now=time.time,
            new_id=new_id,
            unauthorized=unauthorized,
        )

    def _close_conversation(self, conversation_id: str, reason: str) -> None:
        """Closes the row in a task of its own; the heartbeat then ends the call."""
        task = asyncio.create_task(self._close_and_look(conversation_id, reason))
        _closing.add(task)
        task.add_done_callback(_closing.discard)

    async def _close_and_look(self, conversation_id: str, reason: str) -> None:
        try:
            await database_sync_to_async(lifecycle.close)(conversation_id, reason)
        except DATABASE_AWAY as error:
            log.warning("close.failed", conversation=conversation_id, error=type(error).__name__)
        self.nudge()

    async def _send_while_there(self, frame: str) -> None:
        if self._gone:
            return
        try:
            await self._send(frame)
        except OSError:
            self._gone = True
            # What the client sent before it left may still be on its way in, and the goodbye comes after it.
            self._missing = asyncio.get_running_loop().call_later(GOODBYE, self.leave)

    async def _say_goodbye(self, ending: Ending) -> None:
        if self._gone:
            return
        try:
            # A client that does not read keeps its socket, but not the task that waits for it.
            async with asyncio.timeout(GOODBYE):
                if ending.error:
                    await self._send_while_there(endings.frame(ending, new_id("event")))
        except TimeoutError:
            log.info("socket.unread", code=ending.code)
        try:
            async with asyncio.timeout(GOODBYE):
                await self._close(ending.code)
        except (OSError, RuntimeError):
            log.debug("socket.gone", code=ending.code)


_closing: set[asyncio.Task[None]] = set()


def new_id(kind: str) -> str:
    """An id of a kind: UUIDs for rows, short letters for `ref`, GA's shapes for items and events."""
    match kind:
        case "ref":
            return new_ref()
        case "item" | "event":
            return f"{kind}_{uuid.uuid4().hex[:24]}"
        case _:
            return str(uuid.uuid4())
