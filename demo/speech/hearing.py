"""Committed sound becoming text: begun early on a guess, told in transcription events."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from demo.speech.conversation import Conversation
from demo.speech.engine import Engine, EngineFailure
from demo.speech.events import Event, event
from demo.speech.listening import Utterance
from demo.speech.pcm import duration_ms

Emit = Callable[..., None]
Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]

_KIND = "conversation.item.input_audio_transcription"
_UNAVAILABLE = "No speech recognizer is installed on this computer: type instead."


class Hearing:
    """The transcripts of one session, the unfinished ones included."""

    def __init__(self, engine: Engine, conversation: Conversation, emit: Emit, spawn: Spawn) -> None:
        self._engine = engine
        self._conversation = conversation
        self._emit = emit
        self._spawn = spawn
        self._guess: asyncio.Future[str] | None = None
        self._unfinished: set[asyncio.Task[None]] = set()

    def guess(self, utterance: Utterance, prompt: str | None) -> None:
        """Begin with what may turn out to be the whole utterance."""
        if self._engine.can_hear:
            work = self._engine.transcribe(utterance.pcm, utterance.rate, prompt or "")
            self._guess = asyncio.ensure_future(work)
            self._guess.add_done_callback(_seen)

    def forget(self) -> None:
        """The caller went on: the guess was wrong."""
        if self._guess:
            self._guess.cancel()
        self._guess = None

    def transcribe(self, utterance: Utterance, prompt: str | None) -> None:
        """Put the words into the item; `prompt` None means that no one wants events about it."""
        guess, self._guess = self._guess, None
        task = self._spawn(self._heard(utterance, prompt, guess))
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)

    async def settled(self) -> None:
        """Wait until every utterance so far has its words."""
        while self._unfinished:
            await asyncio.wait(set(self._unfinished))

    async def _heard(
        self, utterance: Utterance, prompt: str | None, guess: asyncio.Future[str] | None
    ) -> None:
        place = {"item_id": utterance.item_id, "content_index": 0}
        try:
            work = guess or self._engine.transcribe(utterance.pcm, utterance.rate, prompt or "")
            text = await work
        except EngineFailure as failure:
            self._emit(_failed(place, self._engine.can_hear, failure))
            return
        self._conversation.set_transcript(utterance.item_id, text)
        if prompt is None:
            return
        if text:
            self._emit(event(f"{_KIND}.delta", **place, delta=text))
        seconds = round(duration_ms(len(utterance.pcm), utterance.rate) / 1000, 2)
        usage = {"type": "duration", "seconds": seconds}
        self._emit(event(f"{_KIND}.completed", **place, transcript=text, usage=usage))


def _failed(place: dict[str, Any], installed: bool, failure: EngineFailure) -> Event:
    code = "transcription_failed" if installed else "stt_unavailable"
    message = str(failure) if installed else _UNAVAILABLE
    error = {"type": "server_error", "code": code, "message": message, "param": None}
    return event(f"{_KIND}.failed", **place, error=error)


def _seen(guess: "asyncio.Future[str]") -> None:
    """A guess that no one needed any more may fail unseen."""
    if not guess.cancelled():
        guess.exception()
