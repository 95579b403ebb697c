"""Work taken as far as it goes without waiting; most sendings are over by then, and wake no task."""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import Any


class Rest:
    """What is left of work that waits for something: awaiting it, in any task, goes on from there."""

    def __init__(self, steps: Generator[Any, Any, None], awaited: Any) -> None:
        self._steps, self._awaited = steps, awaited

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Rest:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        """The event loop's step."""
        awaited, self._awaited = self._awaited, None
        return self._steps.send(value) if awaited is None else awaited

    def throw(self, *error: Any) -> Any:
        """A cancellation, or what went wrong with that which is waited for."""
        self._awaited = None
        return self._steps.throw(*error)

    def close(self) -> None:
        """Nobody goes on with it."""
        self._steps.close()


def begin(work: Awaitable[None]) -> Rest | None:
    """Its first step, with what that raises; None where it was the last one."""
    steps = work.__await__()
    try:
        return Rest(steps, next(steps))
    except StopIteration:
        return None
