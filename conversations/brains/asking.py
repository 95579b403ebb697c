"""What the adapters share about a request that goes wrong: what it means, and when it is asked once more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import wraps
from typing import Any, TypeVar

from conversations.brains.loop import Delta, ModelFailed, ModelRequest
from conversations.tracing import TRACES, failed

# Seconds before a busy model is asked again, and the longest that a caller is kept waiting for it.
PAUSE = 0.5
LONGEST_PAUSE = 2.0
_BUSY = frozenset({408, 409, 425, 429})

# So many pieces of an answer wait for whoever speaks them.
MOST_AHEAD = 10_000

T = TypeVar("T")
Ask = Callable[[Any, ModelRequest], AsyncGenerator[Delta, None]]


class ModelBusy(ModelFailed):
    """The model was not reached or has no time; in `pause` seconds it may have."""

    def __init__(self, reason: str, pause: float = PAUSE) -> None:
        super().__init__("model_unavailable", reason)
        self.pause = pause


def refused(status: int | None, headers: Mapping[str, str] | None = None) -> ModelFailed:
    """What an HTTP status says about the model; None is a failure that the model told in its answer."""
    if status is None:
        return ModelBusy("an error in the answer")
    if status in _BUSY or status >= 500:
        return ModelBusy(f"HTTP {status}", _pause(headers or {}))
    return ModelFailed("model_refused", f"HTTP {status}")


def _pause(headers: Mapping[str, str]) -> float:
    told = headers.get("retry-after", "").strip()
    return float(told) if told.isdecimal() else PAUSE


def patiently(ask: Ask) -> Ask:
    """An adapter's one request, asked once more where the model was busy, soon has time, and said nothing."""

    @wraps(ask)
    async def asked(brain: Any, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        begun = False
        try:
            async with aclosing(_traced(ask, brain, request)) as deltas:
                async for delta in deltas:
                    begun = True
                    yield delta
            return
        except ModelBusy as busy:
            if begun or busy.pause > LONGEST_PAUSE:
                raise
            pause = busy.pause
        await asyncio.sleep(pause)
        async with aclosing(_traced(ask, brain, request)) as deltas:
            async for delta in deltas:
                yield delta

    return asked


async def _traced(ask: Ask, brain: Any, request: ModelRequest) -> AsyncGenerator[Delta, None]:
    """One request, in a span of its own where spans are collected."""
    with TRACES.chat(str(getattr(brain, "provider", "")), str(brain.model)) as span:
        try:
            async with aclosing(ask(brain, request)) as deltas:
                async for delta in deltas:
                    yield delta
        except ModelFailed as error:
            failed(span, error.code)
            raise
        finally:
            for name, count in (("input", request.spent.input), ("output", request.spent.output)):
                if count is not None:
                    span.set_attribute(f"gen_ai.usage.{name}_tokens", count)


async def apart(chunks: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """The chunks of a stream that ends only where its reading is cancelled: closing it would not do."""
    read: asyncio.Queue[T | None] = asyncio.Queue()
    reading = asyncio.create_task(_read(chunks, read))
    try:
        while (chunk := await read.get()) is not None:
            yield chunk
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _read(chunks: AsyncIterator[T], read: asyncio.Queue[T | None]) -> None:
    try:
        async for chunk in chunks:
            if read.qsize() >= MOST_AHEAD:
                raise ModelFailed("model_unavailable", "the answer has no end")
            read.put_nowait(chunk)
    finally:
        read.put_nowait(None)
