"""A peer that stops reading, or reads slowly: bounded memory; what matters goes on, or ends with a name."""

import asyncio
import json
import sys
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.core.records import UpstreamClosed
from conversations.realtime import browser, endings, upstream
from conversations.realtime.outbox import FRAME_COST, Outbox
from conversations.realtime.waiting import LIMIT, Waiting
from conversations.tests import speech_events as ga
from conversations.tests.core_play import PROFILE
from conversations.tests.live_call import ANSWER, QUESTION, LiveCall
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Says
from conversations.tests.virtual_time import in_virtual_time, seconds_pass

pytestmark = pytest.mark.every_dialect

SECOND = ga.sound(1_000)


def held(box):
    """The bytes that an outbox really holds."""
    return sum(sys.getsizeof(frame) for frame, _ in (*box._ahead, *box._frames))


PUTS = st.lists(
    st.tuples(st.sampled_from(["audio", "control", "ahead", "drop", "send"]), st.integers(0, 900)),
    max_size=60,
)


@PROFILE
@given(PUTS, st.sampled_from(["x", "é", "日", "🍸"]))
def test_an_outbox_holds_no_more_than_its_limit_and_keeps_every_order(puts, letter):
    """Sound gives way; all else is kept in order unless it was refused."""
    box, sent = Outbox(4_000), []
    kept = {"audio": [], "control": [], "ahead": []}
    for number, (kind, size) in enumerate(puts):
        if kind == "drop":
            box.drop_audio()
        elif kind == "send":
            waiting = box._ahead or box._frames
            if waiting:
                frame, is_audio = waiting.popleft()
                box.size -= box._cost(frame)
                box._sounds -= is_audio
                sent.append(frame)
        else:
            frame = f"{kind} {number} " + letter * size
            room = box.size + box._cost(frame) <= 4_000
            taken = box.put(frame, is_audio=kind == "audio", ahead=kind == "ahead")
            assert taken or not room or kind == "audio"
            if taken:
                kept[kind].append(frame)
        assert box.size == sum(box._cost(frame) for frame, _ in (*box._ahead, *box._frames)) <= 4_000
        assert held(box) <= 4_000 + 4 * 900
    everything = sent + [frame for frame, _ in (*box._ahead, *box._frames)]
    for kind in ("control", "ahead"):
        assert [frame for frame in everything if frame.startswith(kind)] == kept[kind]
    sounds = [frame for frame in everything if frame.startswith("audio")]
    assert sounds == [frame for frame in kept["audio"] if frame in sounds]


def test_control_is_refused_only_where_control_alone_fills_the_box():
    box = Outbox(10_000)
    while box.put("sound " * 50, is_audio=True):
        pass
    numbers = 0
    while box.put(f"control {numbers}"):
        numbers += 1
    assert numbers * (FRAME_COST + 50) > 9_000
    assert all(not is_audio for _, is_audio in box._frames)


class Frame(str):
    """A frame of which is known whether anybody still has it."""


async def test_sound_that_is_dropped_is_held_by_nobody_while_the_peer_does_not_read():
    box, reads = Outbox(10_000), asyncio.Event()

    async def send(_frame):
        await reads.wait()

    sound = Frame("s" * 1_000)
    box.put("first")
    box.put(sound, is_audio=True)
    sending = asyncio.create_task(box.drain(send))
    await asyncio.sleep(0)
    seen = weakref.ref(sound)
    del sound
    assert seen() is not None
    box.drop_audio()
    assert seen() is None
    sending.cancel()


def test_what_is_sent_ahead_goes_before_all_that_waits():
    box = Outbox(10_000)
    for name in ("a", "b"):
        box.put(name, is_audio=True)
    for name in ("first", "second"):
        box.put(name, ahead=True)
    assert [frame for frame, _ in (*box._ahead, *box._frames)] == ["first", "second", "a", "b"]


@pytest.mark.parametrize("frame", ["{}", "", "🍸"])
def test_thousands_of_tiny_frames_are_bounded_too(frame):
    box, waiting = Outbox(100_000), Waiting()
    taken = sum(box.put(frame) for _ in range(5_000))
    assert taken < 1_000
    assert sum(waiting.put(frame) for _ in range(100_000)) <= LIMIT / 64


# ---- the browser


class SlowBrowser(LiveCall):
    """It reads a frame when the test lets it."""

    def __init__(self, *args, **values):
        super().__init__(*args, **values)
        self.reads = asyncio.Semaphore(0)
        self.slow = False

    async def _send(self, frame):
        if self.slow:
            await self.reads.acquire()
        self.show(frame)

    def reads_on(self):
        self.slow = False
        self.reads.release()


def long_answer(line, seconds):
    """Nothing but sound, faster than anybody hears it."""
    line.say(ga.created("long_1"))
    place = {"response_id": "long_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
    line.say({"type": "response.output_audio_transcript.delta", **place, "delta": "A long story."})
    for _ in range(seconds):
        line.say({"type": "response.output_audio.delta", **place, "delta": SECOND})


@in_virtual_time
async def test_a_browser_that_reads_slowly_loses_sound_is_told_and_keeps_its_call():
    service = MemoryService(Says(ANSWER))
    async with SlowBrowser(service) as call:
        line = await call.ready()
        call.slow = True
        long_answer(line, 120)
        await line.quiet()
        assert call.session._browser._outbox.size <= browser.TO_BROWSER
        call.reads_on()
        error = await call.shown("error")
        assert error["error"]["code"] == "browser_too_slow"
        assert 0 < len(call.shown_of("response.output_audio.delta")) < 120
        line.say(ga.done("long_1"))
        await call.shown("response.done")
        call.types(QUESTION)
        await call.shown("response.done")
        assert call.text().endswith(ANSWER)
        assert len(call.shown_of("error")) == 1


@in_virtual_time
async def test_a_caller_who_interrupts_does_not_hear_the_sound_that_still_waits():
    async with SlowBrowser(MemoryService()) as call:
        line = await call.ready()
        call.slow = True
        long_answer(line, 30)
        await line.quiet()
        call.interrupts(line)
        await line.quiet()
        call.reads_on()
        await call.shown("input_audio_buffer.speech_started")
        assert len(call.shown_of("response.output_audio.delta")) <= 1
        assert (await line.asked("response.cancel"))["response_id"] == "long_1"


@in_virtual_time
async def test_events_without_sound_end_the_call_of_a_browser_that_does_not_read_in_bounded_memory():
    async with SlowBrowser(MemoryService()) as call:
        line = await call.ready()
        call.slow = True
        for _ in range(20_000):
            line.say({"type": "rate_limits.updated", "rate_limits": []})
        assert (await call.running) == endings.TOO_SLOW
        assert held(call.session._browser._outbox) <= browser.TO_BROWSER
        assert (endings.TOO_SLOW.code, endings.TOO_SLOW.error) == (1011, "browser_too_slow")
        call.reads_on()


# ---- the speech service


@in_virtual_time
async def test_a_service_that_stops_reading_is_left_after_a_while_and_for_a_named_reason():
    """Nothing but the caller's voice goes out, which alone would never end the session."""
    service = MemoryService(Says("Hello again."))
    async with LiveCall(service) as call:
        line = await call.ready()
        line.reads.clear()
        for _ in range(200):
            call.send("input_audio_buffer.append", audio=SECOND)
        await line.quiet()
        assert call.session._upstream._outbox.size <= upstream.TO_SERVICE
        await seconds_pass(upstream.SEND_LIMIT + 0.1)
        await call.shown("vocero.speech.lost")
        await call.shown("vocero.speech.restored")
        call.types("Are you there?")
        await call.shown("response.done")
        assert call.text() == "Hello again."
    reasons = [record.reason for record in call.records if isinstance(record, UpstreamClosed)]
    assert reasons[0] == "lost: not read"


@in_virtual_time
async def test_a_cancel_does_not_wait_behind_the_sound_for_a_slow_service():
    async with LiveCall(MemoryService(Says("A long story.", ends=False))) as call:
        line = await call.ready()
        call.types("Tell me a story.")
        await call.shown("response.output_audio.delta")
        line.skip()
        line.reads.clear()
        for _ in range(30):
            call.send("input_audio_buffer.append", audio=SECOND)
        await line.quiet()
        call.send("response.cancel")
        line.reads.set()
        await line.asked("response.cancel")
        kinds = [event["type"] for event in line.sent]
        assert kinds[kinds.index("response.cancel") :].count("input_audio_buffer.append") == 29


@in_virtual_time
async def test_sound_for_a_service_makes_room_for_what_the_caller_writes():
    async with LiveCall(MemoryService(Says(ANSWER))) as call:
        line = await call.ready()
        line.reads.clear()
        for _ in range(100):
            call.send("input_audio_buffer.append", audio=SECOND)
        await line.quiet()
        call.types(QUESTION)
        line.reads.set()
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert json.dumps(QUESTION) in json.dumps(line.sent_of("conversation.item.create"))
