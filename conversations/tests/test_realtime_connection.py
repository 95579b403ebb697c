"""The service's socket itself: order, flow in both directions, and every way in which it ends."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import serve

from conversations.realtime.connection import AHEAD, MAX_FRAME, PART_COST, SpeechUnavailable, dial

FRAME = "x" * 100_000
MANY = 400
PATIENCE = 10


@asynccontextmanager
async def service(talk):
    """A service that does `talk` with each connection; and a connection to it."""
    async with serve(talk, "127.0.0.1", 0, compression=None, max_size=None, close_timeout=1) as server:
        connection = await dial(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/realtime", "", "")
        async with asyncio.timeout(PATIENCE):
            yield connection
        await connection.close()


async def test_a_service_that_does_not_read_is_offered_no_more_and_gets_all_once_it_reads():
    reads, heard = asyncio.Event(), []

    async def talk(line):
        line.transport.pause_reading()
        await reads.wait()
        line.transport.resume_reading()
        async for frame in line:
            heard.append(frame)
            if len(heard) == MANY:
                await line.send("enough")

    async with service(talk) as connection:
        offered = 0
        while offered < MANY and connection.offer(FRAME):
            offered += 1
            await asyncio.sleep(0)
        assert offered < MANY
        sending = asyncio.create_task(connection.send(FRAME))
        done, _ = await asyncio.wait({sending}, timeout=0.1)
        assert not done
        reads.set()
        await sending
        for _ in range(MANY - offered - 1):
            await connection.send(FRAME)
        assert await connection.receive() == "enough"
    assert heard == [FRAME] * MANY


async def test_a_service_waits_while_nobody_reads_what_it_says():
    said = 0

    async def talk(line):
        nonlocal said
        for number in range(MANY):
            await line.send(f"{number} {FRAME}")
            said += 1

    async with service(talk) as connection:
        before = -1
        while said > before:
            before = said
            await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=0.2)
        assert AHEAD <= said < MANY
        for number in range(MANY):
            assert (await connection.receive()).startswith(f"{number} ")


async def test_what_came_before_somebody_read_is_read_first():
    async def talk(line):
        for number in range(3):
            await line.send(str(number))
        await line.recv()
        await line.send("3")

    async with service(talk) as connection:
        taken = [await connection.receive()]

        def take(frame):
            taken.append(frame)
            if frame == "2":
                connection.offer("more")

        with pytest.raises(SpeechUnavailable):
            await connection.read(take)
        assert taken == ["0", "1", "2", "3"]


async def test_a_frame_in_parts_is_one_frame_and_bytes_are_none():
    async def talk(line):
        await line.send(["ein", "s", "ü"])
        await line.send(b"bytes")
        await line.send([b"more ", b"bytes"])
        await line.send("zwei")

    async with service(talk) as connection:
        assert [await connection.receive(), await connection.receive()] == ["einsü", "zwei"]


async def test_parts_without_anything_in_them_end_the_connection_once_there_are_too_many():
    async def talk(line):
        line.transport.write(b"\x01\x00" + b"\x00\x00" * (MAX_FRAME // PART_COST))
        await line.wait_closed()

    async with service(talk) as connection:
        with pytest.raises(SpeechUnavailable):
            await connection.receive()


async def test_a_frame_that_is_no_text_ends_the_connection():
    async def talk(line):
        line.transport.write(b"\x81\x02\xff\xfe")
        await line.wait_closed()

    async with service(talk) as connection:
        with pytest.raises(SpeechUnavailable):
            await connection.receive()
        assert not connection.offer("x")
        with pytest.raises(SpeechUnavailable):
            await connection.send("x")
        with pytest.raises(SpeechUnavailable):
            await connection.read(print)


async def test_what_goes_wrong_with_a_frame_is_told_to_whoever_reads():
    async def talk(line):
        await line.send("frame")
        await line.wait_closed()

    def take(frame):
        raise ZeroDivisionError(frame)

    async with service(talk) as connection:
        with pytest.raises(ZeroDivisionError):
            await connection.read(take)


async def test_whoever_reads_may_call_it_the_end_and_hears_no_more():
    taken = []

    async def talk(line):
        for word in ("one", "last", "more"):
            await line.send(word)
        await line.wait_closed()

    def take(frame):
        taken.append(frame)
        if frame == "last":
            raise SpeechUnavailable("expired")

    async with service(talk) as connection:
        with pytest.raises(SpeechUnavailable, match="expired"):
            await connection.read(take)
        assert taken == ["one", "last"]


@pytest.mark.parametrize(
    ("code", "why"), [(1013, "closed 1013"), (4000, "closed 4000"), (None, "broken off")]
)
async def test_how_a_connection_ended_is_told_in_short(code, why):
    async def talk(line):
        if code is None:
            line.transport.abort()
        else:
            await line.close(code, "secret words")

    async with service(talk) as connection:
        with pytest.raises(SpeechUnavailable, match=f"^{why}$"):
            await connection.read(print)


async def test_a_service_that_says_nothing_to_a_goodbye_is_cut_off():
    over = asyncio.Event()

    async def talk(line):
        line.transport.pause_reading()
        await over.wait()

    loop = asyncio.get_running_loop()
    async with service(talk) as connection:
        began = loop.time()
        await connection.close()
        assert loop.time() - began < 3
        with pytest.raises(SpeechUnavailable):
            await connection.receive()
        over.set()


@pytest.mark.parametrize("url", ["ws://127.0.0.1:9/v1/realtime", "not a url", "ws://", "http://127.0.0.1:9"])
async def test_a_service_that_cannot_be_called_is_unavailable(url):
    with pytest.raises(SpeechUnavailable):
        await dial(url, "key", "model")
