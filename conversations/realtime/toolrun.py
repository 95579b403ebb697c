"""One tool of a live call: from its committed row to its outcome, which always comes back to the core."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from structlog.contextvars import bound_contextvars

from conversations.core.effects import RunTool
from conversations.core.events import Event, ToolEnded, ToolProgressed
from conversations.core.records import Record
from conversations.realtime.words import FOR_MODEL
from tools import executor
from tools.catalog import Offer
from tools.contract import CallContext, Caller, Progress
from tools.executor import Outcome
from tools.sources import inprocess

# As often as a page needs it; a server may tell it a thousand times a second.
PROGRESS_EVERY = 0.25


class NotRecorded(Exception):
    """The opening row is not in the database, so the tool must not run."""


@dataclass(frozen=True, slots=True)
class Runner:
    """What running tools needs of a call. `commit` raises NotRecorded.

    `timeout`, in seconds, is for tools elsewhere; those in this process have their own limit.
    """

    caller: Caller
    timeout: float
    feed: Callable[[Event], None]
    commit: Callable[[Record], Awaitable[None]]
    now: Callable[[], float]
    unauthorized: Callable[[], None]

    async def run(self, offer: Offer, effect: RunTool) -> None:
        """Runs it and feeds the outcome; cancelling it feeds `cancelled`, or `outcome_unknown`."""
        started, untold = self.now(), False
        progressed = 0.0

        def on_untold() -> None:
            nonlocal untold
            untold = True

        def on_progress(progress: Progress) -> None:
            nonlocal progressed
            if self.now() - progressed < PROGRESS_EVERY:
                return
            progressed = self.now()
            self.feed(ToolProgressed(effect.call_id, progress.progress, progress.total, progress.message))

        context = CallContext(self.caller, self._limit(offer, effect.name), on_progress, on_untold)
        try:
            outcome = await self._attempt(offer, effect, context)
        except (NotRecorded, TimeoutError):
            self.feed(ToolEnded(effect.call_id, "failed", "internal", FOR_MODEL["internal"], 0))
            return
        except asyncio.CancelledError:
            code, spent = "outcome_unknown" if untold else "cancelled", self.now() - started
            self.feed(ToolEnded(effect.call_id, "failed", code, "", int(spent * 1000)))
            raise
        self.feed(
            ToolEnded(
                call_id=effect.call_id,
                status=outcome.status,
                code=outcome.code,
                output=outcome.output,
                duration_ms=outcome.duration_ms,
                truncated=outcome.truncated,
                titles=outcome.titles,
                excerpt=outcome.excerpt,
                denied=outcome.denied,
            )
        )
        if outcome.code == "unauthorized":
            self.unauthorized()

    async def _attempt(self, offer: Offer, effect: RunTool, context: CallContext) -> Outcome:
        """The row, then the call. What is logged meanwhile carries both ids, and nothing after it does."""
        with bound_contextvars(turn=effect.turn_id, call_id=effect.call_id):
            async with asyncio.timeout(self.timeout):
                await self.commit(effect.opened)
            return await executor.run(offer, effect.name, effect.arguments, context, effect.room)

    def _limit(self, offer: Offer, name: str) -> float:
        entry = offer.entries.get(name)
        own = entry is not None and entry.source.name == inprocess.NAME
        return inprocess.TIME_LIMIT if own else self.timeout
