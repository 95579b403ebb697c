"""What the service hears and speaks with: the three parts it asks for, and the one worker that they share."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Protocol

Mode = Literal["full", "light"]


class EngineFailure(Exception):
    """A part could not do its work; the message is for the log."""


class Ear(Protocol):
    """Tells speech from other sound, one frame of 32 ms after the other; one per session."""

    def probability(self, frame: bytes) -> float:
        """How likely it is that a frame holds speech, from 0 to 1."""

    def reset(self) -> None:
        """Forget what was heard."""


class Recognizer(Protocol):
    """Turns speech into text."""

    def transcribe(self, pcm: bytes, rate: int, prompt: str) -> str:
        """The words of an utterance, empty where there are none; raises EngineFailure."""


class Voice(Protocol):
    """Turns text into speech."""

    def units(self, text: str) -> Sequence[str]:
        """The text in the pieces that are spoken one at a time; joined, they are the text."""

    def speak(self, unit: str, speed: float, rate: int) -> bytes:
        """One piece as PCM16 at `rate`; raises EngineFailure."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The loaded parts and what they call themselves; `recognizer` is None where nothing can transcribe."""

    mode: Mode
    make_ear: Callable[[int], Ear]
    recognizer: Recognizer | None
    voice: Voice
    hearing: str
    voice_name: str
    why: str = ""


class Engine:
    """The parts behind one worker thread, so that hearing and speaking never fight over two slow cores."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="speech")

    @property
    def can_hear(self) -> bool:
        """Whether speech becomes text here."""
        return self.parts.recognizer is not None

    def ear(self, rate: int) -> Ear:
        """A fresh ear for sound at that rate."""
        return self.parts.make_ear(rate)

    async def transcribe(self, pcm: bytes, rate: int, prompt: str) -> str:
        """The words of an utterance; raises EngineFailure."""
        if self.parts.recognizer is None:
            raise EngineFailure("no recognizer is installed")
        work = self.parts.recognizer.transcribe
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, pcm, rate, prompt)

    async def speak(self, unit: str, speed: float, rate: int) -> bytes:
        """One piece of text as sound; raises EngineFailure."""
        work = self.parts.voice.speak
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, unit, speed, rate)

    def close(self) -> None:
        """End the worker; what it has begun still finishes."""
        self._worker.shutdown(wait=True, cancel_futures=True)
