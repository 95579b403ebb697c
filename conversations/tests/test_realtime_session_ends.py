"""How a call begins and ends, and what becomes of it when the service comes and goes."""

import asyncio
import json

import pytest

from conversations.core.records import UpstreamClosed, UpstreamOpened
from conversations.realtime import allowed, browser, endings, session, upstream
from conversations.tests import speech_events as ga
from conversations.tests.live_call import (
    ANSWER,
    PICKS,
    QUESTION,
    LiveCall,
    SlowTool,
    oxygen_source,
    said,
)
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Says
from conversations.tests.virtual_time import in_virtual_time, seconds_pass

pytestmark = pytest.mark.every_dialect

# ---- the beginning and the end of a call


@in_virtual_time
async def test_what_comes_before_ready_waits_for_it_in_order():
    service = MemoryService(Says(ANSWER))
    service.greets = False
    async with LiveCall(service) as call:
        line = await service.line()
        call.send("session.update", session={"output_modalities": ["text"]})
        call.types(QUESTION)
        call.send("input_audio_buffer.append", audio=ga.sound(20))
        await line.quiet()
        assert line.sent == []
        line.say({"type": "session.created", "session": {"id": "s"}})
        await call.shown("session.updated")
        await call.shown("response.done")
        kinds = [event["type"] for event in line.sent]
    later = ["session.update", "conversation.item.create", "response.create", "input_audio_buffer.append"]
    assert kinds == ["session.update", *later]


@in_virtual_time
async def test_a_flood_before_ready_is_bounded():
    service = MemoryService()
    service.greets = False
    async with LiveCall(service) as call:
        line = await service.line()
        frame = json.dumps({"type": "input_audio_buffer.append", "audio": ga.sound(1000)})
        for _ in range(100):
            call.session.receive(frame)
        line.say({"type": "session.created", "session": {"id": "s"}})
        await call.shown("session.created")
        await line.quiet()
        kept = line.sent_of("input_audio_buffer.append")
        assert 10 <= len(kept) <= 17
        assert not call.running.done()


@in_virtual_time
async def test_a_flood_of_tiny_nonsense_before_ready_ends_the_call_without_being_read():
    service = MemoryService()
    service.greets = False
    async with LiveCall(service) as call:
        for _ in range(100_000):
            call.session.receive("")
        assert (await call.running).code == 4413


@in_virtual_time
async def test_too_many_invalid_events_end_the_call_and_nothing_after_them_counts():
    async with LiveCall(MemoryService()) as call:
        line = await call.ready()
        for _ in range(session.INVALID_LIMIT * 3):
            call.session.receive("nonsense")
        call.types(QUESTION)
        assert (await call.running).code == 4400
        assert len(call.shown_of("error")) == session.INVALID_LIMIT
        assert line.sent_of("conversation.item.create") == []


@in_virtual_time
async def test_a_frame_over_the_limit_ends_the_call_with_4413():
    async with LiveCall(MemoryService()) as call:
        await call.ready()
        call.session.receive("x" * allowed.FRAME_LIMIT + "x")
        assert (await call.running).code == 4413


@in_virtual_time
async def test_before_ready_the_limit_of_a_frame_is_lower():
    service = MemoryService()
    service.greets = False
    async with LiveCall(service) as call:
        call.session.receive("x" * allowed.EARLY_FRAME_LIMIT + "x")
        assert (await call.running).code == 4413


@in_virtual_time
async def test_a_browser_that_does_not_read_ends_its_call_in_bounded_memory():
    async with LiveCall(MemoryService()) as call:
        line = await call.ready()
        call.send_gate = asyncio.Event()
        kind = "conversation.item.input_audio_transcription.delta"
        frame = {"type": kind, "item_id": "item_1", "delta": "x" * 500_000}
        line.say(*[frame] * 20)
        ending = await call.running
        assert (ending.code, ending.error) == (1011, "browser_too_slow")
        call.send_gate.set()


@in_virtual_time
async def test_one_send_that_takes_too_long_ends_the_call():
    async with LiveCall(MemoryService()) as call:
        await call.ready()
        call.send_gate = asyncio.Event()
        call.send("nonsense")
        assert (await call.running).error == "browser_too_slow"
        assert asyncio.get_running_loop().time() >= 1000 + browser.SEND_LIMIT


@in_virtual_time
async def test_the_end_of_a_call_closes_its_rows_and_cancels_its_tools_case_102():
    slow = SlowTool()
    async with LiveCall(MemoryService(PICKS), slow.source) as call:
        line = await call.ready()
        call.types(QUESTION)
        await slow.started.wait()
    assert slow.source.cancelled == ["get_metric_history"]
    assert line.closed.is_set()
    assert [record.code for record in call.closed_calls()] == ["cancelled"]
    assert [record.outcome for record in call.closed_turns()] == ["cancelled"]
    assert [type(r) for r in call.records if isinstance(r, UpstreamOpened | UpstreamClosed)] == [
        UpstreamOpened,
        UpstreamClosed,
    ]
    assert [r.reason for r in call.records if isinstance(r, UpstreamClosed)] == ["closed"]


@pytest.mark.parametrize("turns", range(8))
@in_virtual_time
async def test_a_session_that_is_lost_while_the_call_ends_is_closed_in_the_record(turns):
    async with LiveCall(MemoryService()) as call:
        line = await call.ready()
        line.drop()
        for _ in range(turns):
            await asyncio.sleep(0)
        call.session.end(endings.LEFT)
        await call.running
        assert [type(record) for record in call.records].count(UpstreamClosed) == 1
        assert line.closed.is_set()


@in_virtual_time
async def test_what_the_service_says_after_the_end_opens_no_turn():
    slow = SlowTool()
    async with LiveCall(MemoryService(PICKS), slow.source) as call:
        line = await call.ready()
        call.types(QUESTION)
        await slow.started.wait()
        slow.let_go.clear()
        call.session.end(endings.LEFT)
        await line.quiet()
        call.speaks(line, "One more thing.")
        await line.quiet()
        slow.let_go.set()
    opened = [record for record in call.records if type(record).__name__ == "TurnOpened"]
    assert len(opened) == len(call.closed_turns()) == 1


@in_virtual_time
async def test_a_tool_that_is_picked_and_cancelled_in_one_breath_has_a_closed_row():
    slow = SlowTool()
    async with LiveCall(MemoryService(), slow.source) as call:
        line = await call.ready()
        call.speaks(line, QUESTION)
        call.answers(line, PICKS)
        call.interrupts(line)
        await call.shown("vocero.tool.failed")
        await line.quiet()
    assert len(call.opened_calls()) == 1
    assert [record.code for record in call.closed_calls()] == ["cancelled"]


# ---- the service comes and goes


@in_virtual_time
async def test_a_lost_service_is_renewed_with_instructions_tools_and_history_case_118():
    service = MemoryService(Says(ANSWER), Says("You asked about oxygen."))
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        line.drop()
        assert (await call.shown("vocero.speech.lost"))["retry_in_ms"] == 500
        call.types("What did I ask?")
        await call.shown("vocero.speech.restored")
        renewed = await service.line(2)
        await call.shown("response.done")
        items = [event["item"] for event in renewed.sent_of("conversation.item.create")]
    assert [item["role"] for item in items] == ["user", "assistant", "user"]
    assert [item["content"][0]["text"] for item in items] == [QUESTION, ANSWER, "What did I ask?"]
    assert renewed.sent[0]["session"] == line.sent[0]["session"]
    assert len(call.shown_of("session.created")) == 1


@in_virtual_time
async def test_a_conversation_that_goes_on_brings_its_history():
    history = said(("caller", QUESTION), ("assistant", ANSWER))
    async with LiveCall(MemoryService(), history=history, next_turn=4) as call:
        line = await call.ready()
        await line.quiet()
        items = [event["item"] for event in line.sent_of("conversation.item.create")]
        assert [item["content"][0]["text"] for item in items] == [QUESTION, ANSWER]
        assert items[1]["content"][0]["type"] == "output_text"
        assert call.shown_of("conversation.item.added") == []


@in_virtual_time
async def test_an_unreachable_service_ends_the_call_with_4502_after_its_retries():
    service = MemoryService()
    service.refusals = 99
    async with LiveCall(service) as call:
        assert (await call.running).code == 4502
        assert 99 - service.refusals == 1 + len(upstream.RETRIES)
        assert asyncio.get_running_loop().time() == 1000 + sum(upstream.RETRIES)


@in_virtual_time
async def test_a_service_that_hangs_up_on_every_session_ends_the_call_too():
    class Moody(MemoryService):
        async def dial(self):
            line = await super().dial()
            asyncio.get_running_loop().call_later(0.05, line.drop)
            return line

    async with LiveCall(Moody()) as call:
        assert (await call.running).code == 4502
        assert len(call.service.lines) == 1 + len(upstream.RETRIES)


@in_virtual_time
async def test_a_loss_now_and_then_is_met_with_all_retries_again():
    service = MemoryService()
    async with LiveCall(service) as call:
        await call.ready()
        for number in range(1, 9):
            line = await service.line(number)
            await seconds_pass(60)
            line.drop()
            await call.shown("vocero.speech.restored")
        assert not call.running.done()


@in_virtual_time
async def test_a_service_that_does_not_read_loses_audio_first_and_then_the_session():
    service = MemoryService(Says("Hello again."))
    async with LiveCall(service) as call:
        line = await call.ready()
        line.reads.clear()
        audio = json.dumps({"type": "input_audio_buffer.append", "audio": "A" * 900_000})
        for _ in range(20):
            call.session.receive(audio)
        await line.quiet()
        assert not call.shown_of("vocero.speech.lost")
        for _ in range(9):
            call.types("x" * 400_000, answer=False)
        await call.shown("vocero.speech.lost")
        await call.shown("vocero.speech.restored")
        call.types("Are you there?")
        await call.shown("response.done")
        assert call.text() == "Hello again."
