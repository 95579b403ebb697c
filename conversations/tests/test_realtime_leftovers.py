"""Many calls come and go, in every way a call can end, and the process is as it was before."""

import asyncio
import gc
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from conversations.models import Conversation
from conversations.realtime import calls, consumers, relay
from conversations.tests.serving import in_thread
from conversations.tests.speech_events import Calls, Says
from conversations.tests.talking import ADMINISTRATOR, Person, eventually

pytest_plugins = ("conversations.tests.deployment",)

PEOPLE = 11  # who make 50 calls
WAYS = ("vanishes", "vanishes in a tool", "answered", "moves", "cleans up")
REPORTS = Calls.one("list_reports", {"request": {}})


@pytest.fixture
async def server(transactional_db, deployed):
    async with in_thread() as running:
        yield running


def alive():
    """What a server's loop still has to do, without what every server has."""
    loop = asyncio.get_running_loop()
    tasks = Counter(task.get_coro().__qualname__ for task in asyncio.all_tasks() if not task.done())
    timers = sum(not handle.cancelled() for handle in loop._scheduled)
    return tasks, timers


def sockets(pid="self"):
    """How many sockets a process has open."""
    gc.collect()
    count = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            count += str(descriptor.readlink()).startswith("socket:")
    return count


def answered(line):
    """A tool for a question, and words for its result."""
    last = line.sent_of("conversation.item.create")[-1]["item"]
    return REPORTS if last["type"] == "message" else Says("There are three.")


async def one_call(person, way):
    """A call that ends in one of five ways."""
    async with person.talks() as talk:
        if way == "vanishes":
            talk.reset()
            return
        await talk.ready()
        if way == "cleans up":
            await person.cleans_up()
            await talk.closed()
            return
        await talk.types("List the latest reports.")
        if way == "vanishes in a tool":
            await talk.shown("vocero.tool.started")
            talk.reset()
            return
        await talk.shown("vocero.tool.completed")
        if way == "moves":
            async with person.talks() as other:
                await other.ready()
                await talk.closed()


async def arrivals(address, count):
    people = [Person(address) for _ in range(count)]
    for person in people:
        await person.bootstrap(phone=ADMINISTRATOR)
    return people


async def all_call(people):
    """All of them at one time, each in every way; every other one does not clean up at the end."""

    async def one(number, person):
        for way in WAYS[: len(WAYS) - number % 2]:
            await one_call(person, way)

    await asyncio.gather(*(one(number, person) for number, person in enumerate(people)))


async def test_fifty_calls_leave_no_task_no_timer_no_socket_and_no_lease(server, speech, aquaportal):
    speech.reply = answered
    await all_call(await arrivals(server.address, 2))
    await eventually(lambda: settled(server))
    before, sockets_before = server.ask(alive), sockets()
    await all_call(await arrivals(server.address, PEOPLE))
    await eventually(lambda: settled(server))
    tasks, timers = server.ask(alive)
    assert tasks == before[0]
    assert timers <= before[1] + 2
    assert sockets() <= sockets_before + 2
    assert consumers._live == set()
    assert relay._background == set()
    assert server.ask(calls._here) == {}
    assert server.ask(lambda: get_channel_layer().groups) == {}
    assert await held() == 0


async def test_daphne_keeps_no_socket_and_no_lease_either(
    transactional_db, daphne_server, speech, aquaportal
):
    speech.reply = answered
    await all_call(await arrivals(daphne_server.address, 1))
    await eventually(free)
    before, written = sockets(daphne_server.pid), len(daphne_server.log)
    await all_call(await arrivals(daphne_server.address, 2))
    await eventually(free)

    async def as_before():
        return sockets(daphne_server.pid) <= before

    await eventually(as_before)
    assert [line for line in daphne_server.log[written:] if "Traceback" in line] == []


@database_sync_to_async
def held():
    """How many open conversations say that a call holds them."""
    return Conversation.objects.filter(state="open").exclude(owner="", lease_expires_at=None).count()


async def free():
    """Whether no call holds a conversation."""
    return await held() == 0


async def settled(server):
    """Whether every call's own task is over, and the server's task for its socket too."""
    tasks, _ = server.ask(alive)
    return not consumers._live and not any("run_asgi" in name for name in tasks)
