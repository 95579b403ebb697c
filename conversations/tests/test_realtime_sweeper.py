"""The sweep beside the servers: once an event loop, again and again, whatever happens to one of them."""

import asyncio

import pytest
from django.db import InterfaceError, OperationalError

from conversations import erasure, lifecycle, sweeper
from conversations.tests.virtual_time import in_virtual_time, seconds_pass


@pytest.fixture
def sweeps(monkeypatch):
    """When the sweeps began; each failure that a test puts in front is raised by one of them."""

    class Sweeps(list):
        failures = ()
        slices = ()

    done = Sweeps()

    def in_this_thread(function):
        async def call(*values):
            return function(*values)

        return call

    def sweep(_now, _trusted):
        done.append(asyncio.get_running_loop().time())
        if done.failures:
            failure, *done.failures = done.failures
            raise failure

    def proceed(_now):
        _, *done.slices = done.slices or [None]
        return erasure.Progress(0, 0, more=bool(done.slices))

    monkeypatch.setattr(erasure, "proceed", proceed)
    monkeypatch.setattr(sweeper, "database_sync_to_async", in_this_thread)
    monkeypatch.setattr(lifecycle, "sweep", sweep)
    return done


async def silent(scope, receive, send):
    """An application that does nothing."""


@in_virtual_time
async def test_the_first_request_starts_one_sweep_that_comes_round_every_half_minute(sweeps):
    app = sweeper.sweeping(silent)
    await seconds_pass(60)
    assert sweeps == []
    for _ in range(5):
        await app({}, None, None)
    await seconds_pass(95)
    assert sweeps == [1060, 1090, 1120, 1150]


@in_virtual_time
async def test_a_database_that_is_away_ends_no_sweeping(sweeps):
    sweeps.failures = [OperationalError("away"), InterfaceError("closed")]
    await sweeper.sweeping(silent)({}, None, None)
    await seconds_pass(65)
    assert sweeps == [1000, 1030, 1060]


@in_virtual_time
async def test_what_is_to_be_erased_is_erased_slice_by_slice_before_the_next_sweep(sweeps):
    sweeps.slices = [1] * 51
    await sweeper.sweeping(silent)({}, None, None)
    await seconds_pass(11.3)
    assert len(sweeps.slices) == 5
    await seconds_pass(32)
    assert sweeps == [1000, 1042.5]
    assert len(sweeps.slices) == 0


def test_each_event_loop_has_a_sweep_of_its_own(sweeps):
    app = sweeper.sweeping(silent)

    @in_virtual_time
    async def one_server():
        await app({}, None, None)
        await seconds_pass(1)

    one_server()
    one_server()
    assert sweeps == [1000, 1000]
