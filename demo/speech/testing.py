"""The speech service for tests: run in the background, with a mouth to ask it and an ear for its answers."""

import asyncio
import threading
import wave
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from demo.speech import pcm
from demo.speech.engine import Engine
from demo.speech.loading import load
from demo.speech.server import PATH, Door, Service, port_of, until_stopped
from demo.speech.session import Limits
from demo.speech.thinking import Thinker

RATE = 24000
PROMPT = (
    "Latest report for the north center, south center, east center, cage four, oxygen level, sea lice, "
    "mortality, podcast, episode, transcript, briefing."
)


@dataclass(frozen=True, slots=True)
class Running:
    """A service that runs in the background; `url` is for WebSocket, `home` for HTTP."""

    port: int

    @property
    def url(self) -> str:
        """Where a Realtime client connects."""
        return f"ws://127.0.0.1:{self.port}{PATH}"

    @property
    def home(self) -> str:
        """Where the service says what it is."""
        return f"http://127.0.0.1:{self.port}/"


@cache
def full_engine() -> Engine:
    """The engine with the models, loaded once a process; light parts where the packages are missing."""
    return load()


@contextmanager
def running(
    engine: Engine | None = None,
    door: Door | None = None,
    limits: Limits | None = None,
    thinker: Thinker | None = None,
) -> Iterator[Running]:
    """The service on a free port in a thread of its own; sound is not held back unless `limits` says so."""
    found = replace(limits or Limits(lead_ms=None), thinker=thinker)
    service = Service(engine or full_engine(), door or Door(), found)
    stop: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    port: Future[int] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(service, stop, port)), name="demo-speech")
    thread.start()
    try:
        yield Running(port.result(timeout=30))
    finally:
        loop, event = stop.result(timeout=30)
        loop.call_soon_threadsafe(event.set)
        thread.join(timeout=30)


def say(text: str, rate: int = RATE) -> bytes:
    """A sentence as a caller would speak it, PCM16."""
    voice = full_engine().parts.voice
    return b"".join(voice.speak(unit, 1.0, rate) for unit in voice.units(text))


def hear(sound: bytes, rate: int = RATE, prompt: str = PROMPT) -> str:
    """What a listener understands of PCM16."""
    recognizer = full_engine().parts.recognizer
    if recognizer is None:
        raise RuntimeError(f"nothing can hear here: {full_engine().parts.why}")
    return recognizer.transcribe(sound, rate, prompt)


def write_wav(path: Path, sound: bytes, before_ms: int = 500, after_ms: int = 2000) -> Path:
    """A 24 kHz WAV file for a browser's fake microphone, with silence around it so that the turn ends."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm.silence(before_ms, RATE) + sound + pcm.silence(after_ms, RATE))
    return path


async def _serve(
    service: Service, stop: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]", port: "Future[int]"
) -> None:
    event = asyncio.Event()
    stop.set_result((asyncio.get_running_loop(), event))
    server = await service.open()
    port.set_result(port_of(server))
    await until_stopped(server, event)
