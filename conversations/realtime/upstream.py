"""The session at the speech service: opened, declared, read, and opened again when it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import structlog

from conversations.core.events import Event
from conversations.core.records import Record, UpstreamClosed, UpstreamOpened
from conversations.realtime import prompt, wire
from conversations.realtime.connection import Connection, SpeechUnavailable
from conversations.realtime.opening import Declaration, Opened, open_session
from conversations.realtime.outbox import Outbox

log = structlog.get_logger(__name__)

TO_SERVICE = 2 * 1024 * 1024
RETRIES = (0.5, 1.0, 2.0, 4.0)


class Listener(Protocol):
    """Who hears what the service says; none of it waits."""

    def opened(self, opened: Opened) -> None: ...

    def lost(self, retry_in: float) -> None: ...

    def feed(self, event: Event) -> None: ...

    def session_updated(self, session: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True)
class Line:
    """What the session needs of the world. `dial` raises SpeechUnavailable."""

    conversation_id: str
    dial: Callable[[], Awaitable[Connection]]
    write: Callable[[Record], None]
    now: Callable[[], float]
    new_id: Callable[[str], str]


class Upstream:
    """One speech service session after the other, for one call. `selection` says how tools are picked now."""

    def __init__(self, line: Line, declaration: Declaration, listener: Listener) -> None:
        self._line, self._listener = line, listener
        self._outbox: Outbox | None = None
        self._told: Mapping[str, Any] = {}
        self._updates = 0
        self.declaration = declaration
        self.selection = ""

    @property
    def ready(self) -> bool:
        """Whether a session is open and knows what it must."""
        return self._outbox is not None

    def put(self, frame: str) -> None:
        """Sends a frame, in order; nothing waits. What a service is too slow to take is dropped."""
        if self._outbox is not None and not self._outbox.put(frame):
            log.warning("speech.too_slow", conversation=self._line.conversation_id)

    def update(self, page: Mapping[str, Any]) -> None:
        """Declares the session anew with the page's wishes; the answer comes by `session_updated`."""
        self._updates += 1
        self.declaration = replace(self.declaration, page=page)
        declared = self.declaration.session(self.selection)
        self.put(wire.session_update(declared, self._line.new_id("event")))

    async def serve(self) -> None:
        """Keeps a session open; returns when the service stays out of reach after its retries."""
        failures = 0
        while True:
            try:
                connection = await self._line.dial()
                try:
                    opened = await open_session(connection, self.declaration, self._line.new_id)
                    failures = 0
                    await self._relay(connection, opened)
                finally:
                    await connection.close()
            except SpeechUnavailable as error:
                log.info("speech.lost", conversation=self._line.conversation_id, reason=str(error))
            if failures == len(RETRIES):
                return
            self._listener.lost(RETRIES[failures])
            await asyncio.sleep(RETRIES[failures])
            failures += 1

    async def _relay(self, connection: Connection, opened: Opened) -> None:
        """One session, from the moment it is ready to its end; raises SpeechUnavailable there."""
        outbox = Outbox(TO_SERVICE)
        upstream_id = self._record(opened)
        sender = asyncio.create_task(_drained(outbox, connection))
        try:
            self._outbox, self._told, self.selection = outbox, opened.session, opened.selection
            self._updates = 0
            self._listener.opened(opened)
            while True:
                for event in wire.decode(await connection.receive()):
                    if isinstance(event, wire.SessionUpdated):
                        self._updated(event.session)
                    else:
                        self._listener.feed(event)
        finally:
            self._outbox = None
            sender.cancel()
            self._line.write(UpstreamClosed(upstream_id, "closed", self._line.now()))

    def _updated(self, session: Mapping[str, Any]) -> None:
        self._told = {**self._told, **session}
        if self._updates:
            self._updates -= 1
            self._listener.session_updated(self._told)

    def _record(self, opened: Opened) -> str:
        line, upstream_id = self._line, self._line.new_id("upstream")
        names = tuple(tool.name for tool in self.declaration.tools) if opened.selection else ()
        digest = prompt.digest(self.declaration.instructions(opened.selection))
        line.write(
            UpstreamOpened(
                upstream_id, line.conversation_id, "ga", opened.selection, names, digest, line.now()
            )
        )
        log.info("speech.opened", conversation=line.conversation_id, selection=opened.selection)
        return upstream_id


async def _drained(outbox: Outbox, connection: Connection) -> None:
    try:
        await outbox.drain(connection.send)
    except SpeechUnavailable:
        return  # The reader meets the same end and acts on it.
