"""A database that is away: for a while, for good, and while the process ends."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from conversations import rows
from conversations.journal import BATCH, RETRY_DELAYS, Journal, NotRecorded
from conversations.models import Turn
from conversations.tests import stored
from conversations.tests.journal_kit import Gate, turn_opened
from conversations.tests.rows import ADA, opened

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def conversation():
    return await sync_to_async(opened)(ADA)


async def test_a_database_that_comes_back_gets_everything(conversation):
    attempts = []

    def store(records):
        attempts.append(len(records))
        if len(attempts) < 3:
            raise OperationalError("server closed the connection unexpectedly")
        return rows.write(records)

    journal = Journal(store, retry_delays=(0.0, 0.0))
    turn = turn_opened(conversation)
    await journal.commit(turn)
    await journal.aclose()
    assert (len(attempts), journal.lost) == (3, 0)
    assert [turn.outcome for turn in await stored.rows(Turn)] == ["running"]


async def test_a_database_that_stays_away_is_told_and_counted(conversation, caplog):
    def store(records):
        raise OperationalError("connection refused")

    journal = Journal(store, retry_delays=(0.0,))
    journal.write(turn_opened(conversation))
    with pytest.raises(NotRecorded):
        await journal.commit(turn_opened(conversation, 2))
    await journal.aclose()
    assert journal.lost == 2
    assert "journal.lost" in caplog.text


def test_a_database_may_be_away_for_two_minutes_before_anything_is_given_up():
    assert sum(RETRY_DELAYS) >= 120


async def test_whoever_flushes_waits_only_so_long_for_a_database_that_is_away(conversation):
    gate = Gate()
    journal = Journal(gate)
    journal.write(turn_opened(conversation))
    assert not await journal.flush(0.01)
    gate.open.set()
    assert await journal.flush()
    assert await Turn.objects.acount() == 1
    await journal.aclose()


async def test_a_process_that_ends_waits_no_longer_for_a_database_that_is_away(conversation):
    asked, attempts = asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def store(records):
        attempts.append(len(records))
        loop.call_soon_threadsafe(asked.set)
        raise OperationalError("connection refused")

    journal = Journal(store, retry_delays=(60.0, 60.0))
    for index in range(1, BATCH + 2):
        journal.write(turn_opened(conversation, index))
    await asked.wait()
    writer = journal._writer
    writer.cancel()
    await asyncio.gather(writer, return_exceptions=True)
    assert (attempts, journal.lost) == ([BATCH], BATCH + 1)
    await journal.aclose()
