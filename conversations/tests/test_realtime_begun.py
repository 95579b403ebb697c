"""A sending that begins at once: frames go out in order whether or not it waits, each within its limit."""

import asyncio

import pytest

from conversations.realtime import browser as browsers
from conversations.realtime.begun import begin
from conversations.realtime.browser import Browser
from conversations.realtime.outbox import never
from conversations.tests.virtual_time import in_virtual_time, seconds_pass


async def waits(for_what, log):
    log.append("begun")
    try:
        log.append(await for_what)
    except asyncio.CancelledError:
        log.append("cancelled")
        raise


async def test_what_does_not_wait_is_over_at_once():
    log = []

    async def does():
        log.append("done")

    assert begin(does()) is None
    assert log == ["done"]


async def test_another_task_goes_on_with_what_waits():
    answer, log = asyncio.get_running_loop().create_future(), []
    rest = begin(waits(answer, log))
    assert log == ["begun"]
    going_on = asyncio.ensure_future(rest)
    await asyncio.sleep(0)
    assert log == ["begun"]
    answer.set_result("answered")
    await going_on
    assert log == ["begun", "answered"]


async def test_what_is_waited_for_may_be_there_before_anybody_goes_on():
    answer, log = asyncio.get_running_loop().create_future(), []
    rest = begin(waits(answer, log))
    answer.set_result("answered")
    await rest
    assert log == ["begun", "answered"]


async def test_a_cancellation_reaches_it():
    log = []
    rest = begin(waits(asyncio.get_running_loop().create_future(), log))
    going_on = asyncio.ensure_future(rest)
    await asyncio.sleep(0)
    going_on.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going_on
    assert log == ["begun", "cancelled"]


async def test_what_goes_wrong_is_raised_where_it_is_awaited():
    answer, log = asyncio.get_running_loop().create_future(), []
    rest = begin(waits(answer, log))
    answer.set_exception(ConnectionResetError("gone"))
    with pytest.raises(ConnectionResetError):
        await rest


class Socket:
    """Takes frames at once while it flows, and one by one when it does not."""

    def __init__(self):
        self.taken, self.flows = [], asyncio.Event()
        self.flows.set()

    async def send(self, frame):
        await self.flows.wait()
        self.taken.append(frame)


class ShortSocket(Socket):
    """The same with a way to send that never waits."""

    def __init__(self):
        super().__init__()
        self.sent = []

    async def send(self, frame):
        self.sent.append(frame)
        await super().send(frame)

    def offer(self, frame):
        if self.flows.is_set():
            self.taken.append(frame)
        return self.flows.is_set()


def shown_to(socket):
    told, offer = [], getattr(socket, "offer", never)
    return Browser(socket.send, lambda: told.append("too slow"), lambda: told.append("lost"), offer), told


@in_virtual_time
async def test_a_browser_that_reads_has_each_frame_before_the_next_thing_happens():
    socket = Socket()
    browser, _ = shown_to(socket)
    browser.show("before anybody serves")
    assert socket.taken == []
    serving = asyncio.create_task(browser.serve())
    await browser.emptied(1)
    browser.show("one")
    browser.sound("two")
    assert socket.taken == ["before anybody serves", "one", "two"]
    serving.cancel()


@in_virtual_time
async def test_what_needs_no_waiting_is_not_sent_in_any_other_way():
    socket = ShortSocket()
    browser, _ = shown_to(socket)
    browser.show("before anybody serves")
    serving = asyncio.create_task(browser.serve())
    await browser.emptied(1)
    browser.show("one")
    browser.sound("two")
    assert socket.taken == ["before anybody serves", "one", "two"]
    assert socket.sent == ["before anybody serves"]
    serving.cancel()


@pytest.mark.parametrize("kind", [Socket, ShortSocket])
@in_virtual_time
async def test_frames_stay_in_order_behind_one_that_waits(kind):
    socket = kind()
    browser, told = shown_to(socket)
    serving = asyncio.create_task(browser.serve())
    await asyncio.sleep(0)
    socket.flows.clear()
    for number in range(5):
        browser.show(str(number))
    assert socket.taken == []
    socket.flows.set()
    await browser.emptied(1)
    browser.show("5")
    assert socket.taken == list("012345")
    await seconds_pass(browsers.SEND_LIMIT + 1)
    assert told == []
    serving.cancel()


@in_virtual_time
async def test_a_frame_that_was_begun_and_never_ends_makes_the_browser_too_slow():
    socket = Socket()
    browser, told = shown_to(socket)
    serving = asyncio.create_task(browser.serve())
    await asyncio.sleep(0)
    socket.flows.clear()
    browser.show("never taken")
    await seconds_pass(browsers.SEND_LIMIT + 1)
    assert told == ["too slow"]
    serving.cancel()


@in_virtual_time
async def test_nothing_is_sent_for_a_browser_that_is_served_no_more():
    socket = Socket()
    browser, _ = shown_to(socket)
    serving = asyncio.create_task(browser.serve())
    await asyncio.sleep(0)
    serving.cancel()
    await asyncio.wait({serving})
    browser.show("kept")
    assert socket.taken == []
    again = asyncio.create_task(browser.serve())
    await browser.emptied(1)
    assert socket.taken == ["kept"]
    again.cancel()
