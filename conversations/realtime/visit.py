"""One browser socket from its knock to its goodbye: admitted, seated in a call, told how it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog
from channels.db import database_sync_to_async
from django.conf import settings

from conversations.bootstrap import DATABASE_AWAY
from conversations.identity import rates
from conversations.identity.admission import Admission, admit_socket
from conversations.metrics import METER
from conversations.realtime import calls, endings
from conversations.realtime.endings import Ending
from conversations.realtime.naming import new_id
from conversations.realtime.outbox import never
from conversations.realtime.relay import Relay
from conversations.realtime.waiting import Waiting

log = structlog.get_logger(__name__)

GOODBYE = 3.0
# How a client ends a socket on purpose: a page that is closed or left says so, too.
ON_PURPOSE = frozenset({1000, 1001})
RESTARTING = 1012
# Of an id that a stranger made up, so much is logged.
CLAIMED = 64


@dataclass(frozen=True, slots=True)
class Knock:
    """What a socket shows at the door."""

    conversation_id: str | None
    cookie: str | None = field(repr=False)
    secret: str | None = field(repr=False)
    address: str
    extras: bool
    language: str = ""


class Visit:
    """The owner of one socket; its task outlives the consumer, so that it always ends.

    `offer` sends a frame where that needs no waiting, and says so; it may never.
    """

    def __init__(
        self,
        knock: Knock,
        send: Callable[[str], Awaitable[None]],
        close: Callable[[int], Awaitable[None]],
        offer: Callable[[str], bool] = never,
    ) -> None:
        self.extras, self.language = knock.extras, knock.language
        self._knock, self._send, self._close, self.offer = knock, send, close, offer
        self._relay: Relay | None = None
        self._early = Waiting()
        self._ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._gone = False
        self._missing: asyncio.TimerHandle | None = None

    @property
    def over(self) -> bool:
        """Whether it is known how the socket ends."""
        return self._ended.done()

    def receive(self, frame: str) -> None:
        """A frame of the browser; never waits."""
        if self._relay is not None:
            self._relay.receive(self, frame)
        elif not self._early.put(frame):
            self.dismiss(endings.TOO_LARGE)

    def leave(self, code: int) -> None:
        """The socket is gone; the conversation stays open, and after a loss the call goes on for a while."""
        self._gone = True
        if self._relay is not None:
            self._relay.vacate(self, lost=code not in ON_PURPOSE and code != RESTARTING)
        else:
            self.dismiss(endings.LEFT)

    def dismiss(self, ending: Ending) -> None:
        """The socket ends like this; the first ending counts."""
        if not self._ended.done():
            self._ended.set_result(ending)

    async def send(self, frame: str) -> None:
        """Sends it while the client is there."""
        if self._gone:
            return
        try:
            await self._send(frame)
        except (OSError, RuntimeError):
            # Some servers call it an error of ours where they have ended the socket and not told of it yet.
            self._gone = True
            # What the client sent before it left may still be on its way in, and the goodbye comes after it.
            self._missing = asyncio.get_running_loop().call_later(GOODBYE, self.leave, 1006)

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
            METER.refused("socket_4429")
            return endings.busy(wait)
        admitted = await database_sync_to_async(admit_socket)(
            knock.conversation_id, knock.cookie, knock.secret
        )
        if not isinstance(admitted, Admission):
            METER.refused(f"socket_{admitted.close_code}")
            claimed = (knock.conversation_id or "")[:CLAIMED]
            log.warning("socket.refused", code=admitted.close_code, conversation=claimed)
            return endings.refused(admitted.close_code, admitted.code)
        return await self._seated(admitted.conversation_id)

    async def _seated(self, conversation_id: str) -> Ending:
        # A socket that left meanwhile must not take the call away from another.
        joined = None if self.over else await calls.join(conversation_id, self)
        if isinstance(joined, Ending):
            return joined
        if joined is not None:
            self._relay = joined
            for frame in self._early.take():
                joined.receive(self, frame)
            if self.over:
                joined.end(await self._ended)
        return await self._ended

    async def _say_goodbye(self, ending: Ending) -> None:
        if self._gone:
            return
        try:
            # A client that does not read keeps its socket, but not the task that waits for it.
            async with asyncio.timeout(GOODBYE):
                if ending.error:
                    await self.send(endings.frame(ending, new_id("event")))
        except TimeoutError:
            log.info("socket.unread", code=ending.code)
        try:
            async with asyncio.timeout(GOODBYE):
                await self._close(ending.code)
        except (OSError, RuntimeError):
            log.debug("socket.gone", code=ending.code)
