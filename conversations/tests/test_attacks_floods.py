"""What a client gains by asking for more than anybody can use: nothing, and nobody else loses by it."""

import pytest

from conversations import journal
from conversations.core.records import TurnOpened
from conversations.journal import Journal, Share
from conversations.realtime import session
from conversations.realtime.pace import Pace
from conversations.tests import speech_events as ga
from conversations.tests.live_call import ANSWER, QUESTION, LiveCall
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Says
from conversations.tests.virtual_time import in_virtual_time, seconds_pass

pytestmark = pytest.mark.every_dialect


@in_virtual_time
async def test_a_client_that_writes_without_end_is_sent_away_and_leaves_few_rows():
    async with LiveCall(MemoryService()) as call:
        await call.ready()
        for _ in range(5_000):
            call.types("Hello", answer=False)
        ending = await call.running
        assert (ending.code, ending.error, ending.retry_after_ms) == (4429, "rate_limited", 1_000)
    assert len(call.closed_turns()) == session.BURST


@in_virtual_time
async def test_what_was_kept_before_ready_counts_like_the_rest():
    service = MemoryService()
    service.greets = False
    async with LiveCall(service) as call:
        line = await service.line()
        for _ in range(5_000):
            call.send("response.cancel")
        line.say({"type": "session.created", "session": {"id": "s"}})
        assert (await call.running).code == 4429


@in_virtual_time
async def test_sound_and_a_patient_client_are_not_counted():
    service = MemoryService(Says(ANSWER))
    async with LiveCall(service) as call:
        line = await call.ready()
        for _ in range(5_000):
            call.send("input_audio_buffer.append", audio=ga.sound(1))
        for _ in range(100):
            await seconds_pass(1)
            for _ in range(15):
                call.send("response.cancel")
        call.types(QUESTION)
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert len(line.sent_of("input_audio_buffer.append")) == 5_000


def test_a_pace_allows_a_burst_and_then_what_time_brings_back():
    pace = Pace(burst=3, rate=2.0)
    assert [pace.allows(100.0) for _ in range(5)] == [True, True, True, False, False]
    assert [pace.allows(100.5), pace.allows(100.5)] == [True, False]
    assert [pace.allows(1_000.0) for _ in range(4)] == [True, True, True, False]
    assert pace.allows(900.0) is False, "a clock that is set back brings nothing back"


async def test_a_call_that_floods_the_journal_loses_its_own_records_and_nobody_else_s(monkeypatch):
    monkeypatch.setattr(journal, "SHARE", 3)
    stored, flood, other = [], Share(), Share()

    def store(records):
        stored.extend(record.turn_id for record in records)
        return [True] * len(records)

    kept = Journal(store)
    for number in range(100):
        kept.write(TurnOpened(f"flood {number}", "c-1", number, "text", 0.0), flood)
    kept.write(TurnOpened("other", "c-2", 1, "text", 0.0), other)
    await kept.flush()
    assert stored == ["flood 0", "flood 1", "flood 2", "other"]
    assert (flood.waiting, other.waiting, kept.lost) == (0, 0, 97)
    kept.write(TurnOpened("later", "c-1", 101, "text", 0.0), flood)
    await kept.aclose()
    assert stored[-1] == "later"


@in_virtual_time
async def test_megabytes_that_were_written_do_not_keep_a_new_session_from_beginning():
    service = MemoryService()
    service.acknowledges = False
    async with LiveCall(service) as call:
        line = await call.ready()
        for _ in range(12):
            call.types("x" * 1_000_000, answer=False)
            await line.quiet()
        line.drop()
        await call.shown("vocero.speech.restored")
        recalled = service.lines[-1]
        await recalled.quiet()
        texts = [
            event["item"]["content"][0]["text"] for event in recalled.sent_of("conversation.item.create")
        ]
        assert [len(text) for text in texts] == [4_000] * 12
