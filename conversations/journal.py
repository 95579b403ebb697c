"""One writer a process: what calls leave in the record goes to the database here, off the audio path."""

from __future__ import annotations

import asyncio
import contextvars
import math
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog
from django.db import connections

from conversations import rows
from conversations.core.records import Record
from conversations.metrics import METER
from conversations.tracing import TRACES

log = structlog.get_logger(__name__)

CAPACITY = 10_000
# What one call may have waiting, so that one that floods the journal loses its own records only.
SHARE = 1_000
BATCH = 200
# A database may be restarted or fail over meanwhile: some minutes.
RETRY_DELAYS = (0.0, 0.2, 1.0, *[2.0] * 60)
FLUSH_LIMIT = 5.0
DROPPED = METER.dropping("journal")


class NotRecorded(Exception):
    """A record that had to be in the database before going on is not there."""


@dataclass(slots=True)
class Share:
    """One call's part of the journal: how many of its records wait."""

    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Entry:
    record: Record | None
    settled: asyncio.Future[None] | None
    share: Share


class Journal:
    """Writes records in the order they come, in batches, in a thread of its own; nobody waits for it.

    Its task lives only while there is something to write, and finishes that even when it is cancelled.
    """

    def __init__(
        self,
        store: Callable[[Sequence[Record]], Sequence[bool]] = rows.write,
        capacity: int = CAPACITY,
        retry_delays: Sequence[float] = RETRY_DELAYS,
    ) -> None:
        self.lost = 0
        self.closed = False
        self._away = False
        self._store = store
        self._capacity = capacity
        self._retry_delays = retry_delays
        self._waiting: deque[_Entry] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._cancelled = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")

    @property
    def backlog(self) -> int:
        """How many records wait."""
        return len(self._waiting)

    def write(self, record: Record, share: Share | None = None) -> None:
        """Takes a record; one over the capacity or its share is dropped, counted in `lost` and logged."""
        self._put(_Entry(record, None, share or Share()))

    async def commit(self, record: Record, share: Share | None = None) -> None:
        """Returns once the record's row is committed. Raises NotRecorded where it cannot be."""
        settled = asyncio.get_running_loop().create_future()
        if not self._put(_Entry(record, settled, share or Share())):
            raise NotRecorded("the journal takes no more records")
        await settled

    async def flush(self, limit: float | None = None) -> bool:
        """Returns once everything taken so far is written, or given up; False where that takes too long."""
        if not self._waiting and not self._writing():
            return True
        settled = asyncio.get_running_loop().create_future()
        self._take(_Entry(None, settled, Share()))
        try:
            async with asyncio.timeout(FLUSH_LIMIT if limit is None else limit):
                await settled
        except TimeoutError:
            log.warning("journal.behind", waiting=len(self._waiting))
            return False
        return True

    async def aclose(self) -> None:
        """Flushes, and closes the thread with its database connection; idempotent."""
        if self.closed:
            return
        self.closed = True
        await self.flush(math.inf)
        await asyncio.get_running_loop().run_in_executor(self._thread, connections.close_all)
        self._thread.shutdown(wait=False)

    def _put(self, entry: _Entry) -> bool:
        if entry.record is not None:
            METER.record(entry.record)
            TRACES.record(entry.record)
        if self.closed or len(self._waiting) >= self._capacity or entry.share.waiting >= SHARE:
            self._lose(1)
            if self.lost & (self.lost - 1) == 0:  # The 1st, 2nd, 4th, 8th: a flood must not flood the log.
                log.error("journal.overflow", lost=self.lost)
            return False
        self._take(entry)
        return True

    def _lose(self, count: int) -> None:
        self.lost += count
        DROPPED(count)

    def _take(self, entry: _Entry) -> None:
        self._waiting.append(entry)
        entry.share.waiting += 1
        if not self._writing():
            # An empty context: the writer must not inherit the request, or its thread, that wrote first.
            loop = asyncio.get_running_loop()
            self._writer = loop.create_task(self._drain(), context=contextvars.Context())

    def _writing(self) -> bool:
        return self._writer is not None and not self._writer.done()

    async def _drain(self) -> None:
        self._cancelled = False
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                await self._write_batch(batch)
        finally:
            self._writer = None
        if self._cancelled:
            raise asyncio.CancelledError

    async def _write_batch(self, batch: Sequence[_Entry]) -> None:
        records = [entry.record for entry in batch if entry.record is not None]
        stored: list[bool] = []
        try:
            stored = list(await self._stored(records)) if records else []
        finally:
            outcomes = iter(stored)
            for entry in batch:
                entry.share.waiting -= 1
                good = entry.record is None or next(outcomes, False)
                if entry.settled is not None and not entry.settled.done():
                    _settle(entry.settled, good)

    async def _stored(self, records: Sequence[Record]) -> Sequence[bool]:
        """Tries again while the database is away, for minutes, then gives these records up.

        A process that ends waits for no database: there the first failure is the last.
        """
        for delay in (*self._retry_delays, None):
            if self._away and self._cancelled:
                break
            try:
                stored = await self._in_thread(records)
            except rows.UNREACHABLE as error:
                self._away = True
                log.warning("journal.unreachable", records=len(records), error=type(error).__name__)
                if delay is not None:
                    await self._pause(delay)
            else:
                self._away = False
                return stored
        self._lose(len(records))
        log.error("journal.lost", records=len(records), lost=self.lost)
        return [False] * len(records)

    async def _in_thread(self, records: Sequence[Record]) -> Sequence[bool]:
        """The thread's answer, waited for even while this task is being cancelled."""
        answer = asyncio.get_running_loop().run_in_executor(self._thread, self._store, records)
        while not answer.done():
            try:
                await asyncio.shield(answer)
            except asyncio.CancelledError:
                self._cancelled = True
        return answer.result()

    async def _pause(self, delay: float) -> None:
        if self._cancelled:
            return
        try:
            await asyncio.sleep(delay)
        except asyncio.CancelledError:
            self._cancelled = True


def _settle(settled: asyncio.Future[None], good: bool) -> None:
    if good:
        settled.set_result(None)
    else:
        settled.set_exception(NotRecorded("the database did not take the record"))


_journals: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Journal] = weakref.WeakKeyDictionary()


def get_journal() -> Journal:
    """The journal of this process's running event loop; a fresh one after `aclose`."""
    loop = asyncio.get_running_loop()
    journal = _journals.get(loop)
    if journal is None or journal.closed:
        journal = _journals[loop] = Journal()
    return journal


def backlog() -> int:
    """How many records wait in all journals of this process."""
    return sum(journal.backlog for journal in list(_journals.values()))
