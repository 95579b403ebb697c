"""One client's session: its events in, what they cause out."""

import asyncio
import base64
import binascii
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import date
from typing import Any

from demo.speech import client_events as client
from demo.speech.conversation import Conversation
from demo.speech.engine import Engine
from demo.speech.events import Refused, error, event, item_events, new_id
from demo.speech.hearing import Hearing
from demo.speech.items import accepted, spoken_message
from demo.speech.listening import Listener, Paused, Resumed, Signal, Started, Utterance
from demo.speech.outbox import Outbox
from demo.speech.responding import Request, Responder, requested
from demo.speech.settings import Settings, merged, shown
from demo.speech.thinking import Thinker


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a session may last, how far sound may run ahead, what day it is, and who thinks instead."""

    session_seconds: float = 3600
    lead_ms: int | None = 6000
    today: Callable[[], date] = date.today
    thinker: Thinker | None = None


class _Over(Exception):
    """The session has ended; its tasks end with it."""


class Session:
    """A conversation with one client; `run` lives as long as its messages come."""

    def __init__(self, engine: Engine, limits: Limits, send: Callable[[str], Awaitable[None]]) -> None:
        self._engine = engine
        self._limits = limits
        self._id = new_id("sess")
        self._expires_at = int(time.time() + limits.session_seconds)
        self._settings = Settings()
        self._conversation = Conversation()
        self._outbox = Outbox(send)
        self._group = asyncio.TaskGroup()
        self._listener = Listener(engine.ear, self._settings.input_rate, self._settings.detection)
        self._hearing = Hearing(engine, self._conversation, self._outbox.put, self._spawn)
        self._responder = Responder(
            engine,
            self._conversation,
            self._hearing,
            self._outbox,
            self._spawn,
            limits.today,
            limits.lead_ms,
            limits.thinker,
        )
        self._handlers: dict[type[client.Loose], Callable[[Any], None]] = {
            client.SessionUpdate: self._update,
            client.AudioAppend: self._append,
            client.AudioCommit: self._commit_buffer,
            client.AudioClear: self._clear,
            client.ItemCreate: self._create_item,
            client.ItemRetrieve: self._retrieve_item,
            client.ItemDelete: self._delete_item,
            client.ItemTruncate: self._truncate_item,
            client.ResponseCreate: self._create_response,
            client.ResponseCancel: self._cancel_response,
        }

    async def run(self, messages: AsyncIterable[str | bytes]) -> None:
        """Serve until the messages end or the session's time is over."""
        try:
            async with self._group as group:
                group.create_task(self._outbox.run())
                await self._serve(messages)
                raise _Over
        except* _Over:
            pass

    async def _serve(self, messages: AsyncIterable[str | bytes]) -> None:
        self._outbox.put(event("session.created", session=self._shown()))
        try:
            async with asyncio.timeout(self._limits.session_seconds):
                async for message in messages:
                    self._receive(message)
                    # A client that sends faster than it speaks must not keep everyone else waiting.
                    await asyncio.sleep(0)
        except TimeoutError:
            self._outbox.put(
                error(Refused("session_expired", "Your session hit its maximum duration."), None)
            )
            await self._outbox.flush()

    def _receive(self, message: str | bytes) -> None:
        client_event_id: str | None = None
        try:
            found = client.document(message)
            if isinstance(found.get("event_id"), str):
                client_event_id = found["event_id"]
            parsed = client.parsed(found)
            self._handlers[type(parsed)](parsed)
        except Refused as refusal:
            self._outbox.put(error(refusal, client_event_id))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        return self._group.create_task(work)

    def _shown(self) -> dict[str, Any]:
        return shown(self._settings, self._id, self._expires_at, self._engine.parts)

    def _update(self, update: client.SessionUpdate) -> None:
        self._settings = merged(self._settings, update.session)
        self._listener.configure(self._settings.input_rate, self._settings.detection)
        self._outbox.put(event("session.updated", session=self._shown()))

    def _append(self, append: client.AudioAppend) -> None:
        try:
            pcm = base64.b64decode(append.audio, validate=True)
        except binascii.Error as wrong:
            raise Refused("invalid_value", "The audio is not valid base64.", "audio") from wrong
        for signal in self._listener.append(pcm):
            self._heard(signal)

    def _heard(self, signal: Signal) -> None:
        if isinstance(signal, Started):
            self._speech_started(signal)
        elif isinstance(signal, Paused):
            self._hearing.guess(signal.utterance, self._settings.prompt)
        elif isinstance(signal, Resumed):
            self._hearing.forget()
        else:
            self._speech_stopped(signal.utterance)

    def _speech_started(self, started: Started) -> None:
        self._hearing.forget()
        self._outbox.put(
            event("input_audio_buffer.speech_started", audio_start_ms=started.at_ms, item_id=started.item_id)
        )
        if self._settings.detection and self._settings.detection.interrupt_response:
            self._responder.cancel("turn_detected")

    def _speech_stopped(self, utterance: Utterance) -> None:
        self._outbox.put(
            event(
                "input_audio_buffer.speech_stopped", audio_end_ms=utterance.end_ms, item_id=utterance.item_id
            )
        )
        self._commit(utterance)
        detection = self._settings.detection
        if detection and detection.create_response and self._engine.can_hear:
            try:
                self._responder.create(Request(self._settings))
            except Refused as refusal:
                self._outbox.put(error(refusal, None))

    def _commit_buffer(self, commit: client.AudioCommit) -> None:
        self._commit(self._listener.commit())

    def _commit(self, utterance: Utterance) -> None:
        item = spoken_message(utterance.item_id)
        previous = self._conversation.add(item)
        committed = event("input_audio_buffer.committed", item_id=item["id"], previous_item_id=previous)
        self._outbox.put(committed, *item_events(item, previous))
        self._hearing.transcribe(utterance, self._settings.prompt)

    def _clear(self, clear: client.AudioClear) -> None:
        self._listener.clear()
        self._hearing.forget()
        self._outbox.put(event("input_audio_buffer.cleared"))

    def _create_item(self, create: client.ItemCreate) -> None:
        item = accepted(create.item)
        self._conversation.check_output(item)
        previous = self._conversation.add(item, create.previous_item_id)
        self._outbox.put(*item_events(item, previous))

    def _retrieve_item(self, retrieve: client.ItemRetrieve) -> None:
        item = self._conversation.get(retrieve.item_id, "item_retrieve_invalid_item_id")
        self._outbox.put(event("conversation.item.retrieved", item=item))

    def _delete_item(self, delete: client.ItemDelete) -> None:
        self._conversation.delete(delete.item_id)
        self._outbox.put(event("conversation.item.deleted", item_id=delete.item_id))

    def _truncate_item(self, cut: client.ItemTruncate) -> None:
        self._conversation.truncate(cut.item_id, cut.content_index, cut.audio_end_ms)
        fields = {
            "item_id": cut.item_id,
            "content_index": cut.content_index,
            "audio_end_ms": cut.audio_end_ms,
        }
        self._outbox.put(event("conversation.item.truncated", **fields))

    def _create_response(self, create: client.ResponseCreate) -> None:
        self._responder.create(requested(self._settings, create.response))

    def _cancel_response(self, cancel: client.ResponseCancel) -> None:
        if not self._responder.cancel("client_cancelled", cancel.response_id):
            raise Refused("response_cancel_not_active", "Cancellation failed: no active response found")
