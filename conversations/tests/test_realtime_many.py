"""Much at a time: floods of nudges, cancelled listeners, a stalled process, callers who all leave at once."""

import asyncio
import os
import random
import threading
import time

import pytest
from channels.layers import channel_layers, get_channel_layer
from channels_redis.pubsub import RedisPubSubChannelLayer

from conversations import nudging
from conversations.models import Conversation, Turn
from conversations.realtime import connection, nudges, relay
from conversations.tests.serving import in_thread
from conversations.tests.speech_events import Says
from conversations.tests.stored import rows
from conversations.tests.talking import ADMINISTRATOR, Person, eventually

pytest_plugins = ("conversations.tests.deployment",)

FLOOD = 50_000
CANCELLED = 1_000
CALLS = 50
LONG = "word " * 40_000


@pytest.fixture
async def server(transactional_db, deployed):
    async with in_thread() as running:
        yield running


async def arrived(server):
    person = Person(server.address)
    await person.bootstrap(phone=ADMINISTRATOR)
    return person


def in_loop(server, work):
    return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, server.event_loop))


async def flood(conversation_id):
    layer = get_channel_layer()
    for _ in range(FLOOD):
        await layer.group_send(nudging.group(conversation_id), {"type": nudging.NUDGE})


def kept(layer):
    """How many messages wait in the process."""
    return sum(queue.qsize() for queue in layer.channels.values())


async def test_a_flood_of_messages_for_a_call_is_bounded_and_its_group_goes_with_it_case_109(
    server, speech, monkeypatch
):
    monkeypatch.setattr(relay, "HEARTBEAT", 60.0)
    person = await arrived(server)
    async with person.talks() as talk:
        await talk.ready()
        talk.stops_reading()
        await in_loop(server, flood(person.conversation))
        assert server.ask(lambda: kept(get_channel_layer())) <= 100
        talk.reads_again()
        await person.cleans_up()
        assert (await talk.error())[1] == 4410

    async def forgotten():
        return server.ask(lambda: nudging.group(person.conversation) not in get_channel_layer().groups)

    await eventually(forgotten)
    before = server.ask(lambda: kept(get_channel_layer()))
    await in_loop(server, flood(person.conversation))
    assert server.ask(lambda: kept(get_channel_layer())) <= before


@pytest.mark.redis
async def test_listeners_that_are_cancelled_at_any_moment_leave_the_layer_as_it_was_case_110():
    layer = RedisPubSubChannelLayer(hosts=[os.environ["VOCERO_TEST_REDIS_URL"]])
    before, dice = channel_layers.set("default", layer), random.Random(110)

    async def listen_a_while(number):
        task = asyncio.create_task(nudges.listen(f"cancelled-{number % 7}", lambda: None))
        for _ in range(dice.randint(0, 12)):
            await asyncio.sleep(0)
        if dice.random() < 0.3:
            await layer.group_send(nudging.group(f"cancelled-{number % 7}"), {"type": nudging.NUDGE})
        task.cancel()
        await asyncio.wait({task})

    try:
        for start in range(0, CANCELLED, 50):
            await asyncio.gather(*(listen_a_while(start + number) for number in range(50)))
        nudged = asyncio.Event()
        fresh = asyncio.create_task(nudges.listen("fresh", nudged.set))

        async def reached():
            await layer.group_send(nudging.group("fresh"), {"type": nudging.NUDGE})
            return nudged.is_set()

        await eventually(reached)
        fresh.cancel()
        await asyncio.wait({fresh})
        assert sum(len(channels) for channels in layer.groups.values()) == 0
        assert layer.channels == {}
    finally:
        channel_layers.set("default", before)
        await layer.flush()


async def test_a_stalled_process_keeps_its_call_or_takes_it_up_again_case_115(server, speech, monkeypatch):
    monkeypatch.setattr(connection, "SILENCE", 0.2)
    person = await arrived(server)
    async with person.talks() as talk:
        await talk.ready()
        # Longer than a ping may stay unanswered, as by work that holds the loop.
        server.ask(lambda: threading.Event().wait(1.0))

        async def answered():
            speech.replies.clear()
            speech.replies.append(Says("Here I am."))
            await talk.types("Are you there?")
            await asyncio.wait({asyncio.ensure_future(talk.shown("response.done"))}, timeout=5)
            return talk.text()

        assert (await eventually(answered)).startswith("Here I am.")
        assert len(talk.shown_of("vocero.speech.lost")) == len(talk.shown_of("vocero.speech.restored"))
        assert not talk.ended


async def test_callers_who_all_leave_at_once_hold_up_nobody_case_122(server, speech, configure):
    configure(max_conversations=1_000)
    people = [await arrived(server) for _ in range(CALLS)]
    over, stretches = threading.Event(), []

    async def worked():
        """What the server's loop works between two of its rounds, in seconds of its own CPU."""
        while not over.is_set():
            began = time.thread_time()
            await asyncio.sleep(0)
            stretches.append(time.thread_time() - began)

    async def calls(person):
        async with person.talks() as talk:
            async with few_at_once:
                await talk.ready()
                await talk.types("Tell me everything.")
                await talk.shown("response.done")
            await gate.wait()
            talk.reset()

    speech.reply = lambda line: Says(LONG, pieces=4, audio_ms=0)
    gate, few_at_once = asyncio.Event(), asyncio.Semaphore(5)
    callers = [asyncio.create_task(calls(person)) for person in people]
    await eventually(lambda: enough(len(people)))
    watching = asyncio.ensure_future(in_loop(server, worked()))
    gate.set()
    await asyncio.wait(callers)
    await eventually(free)
    over.set()
    await watching
    assert max(stretches) < 0.5
    assert {len(turn.heard_text) for turn in await rows(Turn)} <= {0, len(LONG.strip()), len(LONG)}


async def enough(count):
    return len(await rows(Turn, outcome="done")) >= count


async def free():
    return len(await rows(Conversation, owner="")) == CALLS
