"""One live call, whole: a real session and core, a scripted service, tools in memory, no time at all."""

import asyncio
import json

import pytest

from conversations.core.policy import Limits
from conversations.tests import speech_events as ga
from conversations.tests.live_call import (
    ANSWER,
    MARKER,
    OXYGEN,
    PICKS,
    QUESTION,
    LiveCall,
    SlowTool,
    assert_nothing_leaked,
    oxygen_source,
)
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Fails, Says
from conversations.tests.virtual_time import in_virtual_time, seconds_pass
from tools.catalog import Offer
from tools.contract import ToolFailure
from tools.testing import reference_data

pytestmark = pytest.mark.every_dialect

# ---- a turn


@in_virtual_time
async def test_a_typed_question_is_answered_with_the_tool_s_data():
    service = MemoryService(PICKS, Says(ANSWER))
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        await call.shown("response.done")
        assert call.text() == ANSWER
        outputs = [e["item"] for e in line.sent_of("conversation.item.create")][1:]
        assert [item["call_id"] for item in outputs] == ["call_1"]
        assert reference_data(outputs[0]["output"])["oxygen"] == OXYGEN["oxygen"]
        assert len(line.sent_of("response.create")) == 2
        assert_nothing_leaked(call)
    (opened,), (closed,), (turn,) = call.opened_calls(), call.closed_calls(), call.closed_turns()
    assert (opened.name, opened.selection, opened.source) == ("get_metric_history", "native", "memory")
    assert (closed.status, closed.code) == ("completed", "")
    assert (turn.outcome, turn.caller_text, turn.heard_text) == ("done", QUESTION, ANSWER)


@in_virtual_time
async def test_the_page_follows_the_tool_by_name_and_label_only():
    service = MemoryService(PICKS, Says(ANSWER))
    labels = {"get_metric_history": "Reading the measurements"}
    async with LiveCall(service, oxygen_source(), labels=labels) as call:
        await call.ready()
        call.types(QUESTION)
        started = await call.shown("vocero.tool.started")
        completed = await call.shown("vocero.tool.completed")
    audit_id = call.opened_calls()[0].call_id
    assert (started["call_id"], completed["call_id"]) == (audit_id, audit_id)
    assert (started["label"], started["turn"]) == ("Reading the measurements", 1)
    assert completed["sources"] == [{"title": "Cage four"}]
    assert [closed.titles for closed in call.closed_calls()] == [("Cage four",)]


@in_virtual_time
async def test_a_spoken_question_is_a_voice_turn():
    async with LiveCall(MemoryService(Says(ANSWER)), oxygen_source()) as call:
        line = await call.ready()
        call.speaks(line, QUESTION)
        call.answers(line, PICKS)
        await line.asked("response.create")
        await call.shown("response.done")
        await call.shown("response.done")
    (turn,) = call.closed_turns()
    assert (turn.caller_text, turn.heard_text, turn.outcome) == (QUESTION, ANSWER, "done")
    assert call.shown_of("conversation.item.input_audio_transcription.completed")


@in_virtual_time
async def test_a_marker_is_run_and_never_reaches_the_browser(caplog):
    caplog.set_level("INFO")
    service = MemoryService(Says(f"Let me look. {MARKER}", pieces=9, audio_ms=900), Says(ANSWER))
    async with LiveCall(service, oxygen_source(), selection="marker") as call:
        line = await call.ready()
        assert MARKER[:19] in line.sent[0]["session"]["instructions"]
        call.types(QUESTION)
        await call.shown("vocero.tool.completed")
        await line.quiet()
        result = line.sent_of("conversation.item.create")[-1]["item"]
        assert reference_data(result["content"][0]["text"])["oxygen"] == OXYGEN["oxygen"]
        await call.shown("response.done")
        assert call.text() == f"Let me look. {ANSWER}"
        assert_nothing_leaked(call)
    (closed,) = call.closed_calls()
    assert (closed.status, call.opened_calls()[0].selection) == ("completed", "marker")
    assert "marker.detected" in caplog.text


@in_virtual_time
async def test_the_sound_of_a_marker_is_not_heard_either():
    service = MemoryService(Says(MARKER, pieces=8, audio_ms=800), Says(ANSWER, audio_ms=240))
    async with LiveCall(service, oxygen_source(), selection="marker") as call:
        await call.ready()
        call.types(QUESTION)
        await call.shown("vocero.tool.completed")
        await call.shown("response.output_audio.delta")
        await call.shown("response.done")
        heard = call.shown_of("response.output_audio.delta")
        assert {frame["response_id"] for frame in heard} == {"resp_2"}


@in_virtual_time
async def test_a_plain_conversation_has_no_gate():
    text = f"A marker looks like {MARKER}"
    async with LiveCall(MemoryService(Says(text)), caller=None, plain=True) as call:
        await call.ready()
        call.types("Show me a marker.")
        await call.shown("response.done")
        assert call.text() == text


@in_virtual_time
async def test_the_page_in_text_mode_gets_text():
    async with LiveCall(MemoryService(Says(ANSWER)), page={"output_modalities": ["text"]}) as call:
        await call.ready()
        call.types(QUESTION)
        assert (await call.shown("response.output_text.done"))["text"] == ANSWER


@in_virtual_time
async def test_a_tool_that_fails_is_told_to_the_model_and_to_the_caller():
    source = oxygen_source()
    async with LiveCall(MemoryService(PICKS, Says("I cannot see it.")), source) as call:
        line = await call.ready()
        source.failure = ToolFailure("forbidden", "The caller may not see this.")
        call.types(QUESTION)
        failed = await call.shown("vocero.tool.failed")
        await call.shown("response.done")
        output = json.loads(line.sent_of("conversation.item.create")[-1]["item"]["output"])
    assert (failed["code"], failed["message"]) == ("forbidden", "You may not see this.")
    assert failed["ref"] == call.closed_calls()[0].ref
    assert output["error"]["code"] == "forbidden"


@in_virtual_time
async def test_a_tool_does_not_run_before_its_row_is_in_the_database():
    source = oxygen_source()
    async with LiveCall(MemoryService(PICKS, Says("Sorry.")), source) as call:
        await call.ready()
        call.commits = False
        call.types(QUESTION)
        assert (await call.shown("vocero.tool.failed"))["code"] == "internal"
        await call.shown("response.done")
        assert source.calls == []


@in_virtual_time
async def test_a_backend_that_no_longer_knows_the_caller_is_told_once():
    source = oxygen_source()
    async with LiveCall(MemoryService(PICKS, Says("Sorry.")), source) as call:
        await call.ready()
        source.failure = ToolFailure("unauthorized", "expired")
        call.types(QUESTION)
        await call.shown("vocero.tool.failed")
        await asyncio.sleep(0)
        assert call.unauthorized == 1


@in_virtual_time
async def test_a_caller_whom_the_backend_does_not_know_gets_no_session_at_the_service():
    async with LiveCall(MemoryService(), offer=Offer(unauthorized=True, error="x")) as call:
        await seconds_pass(1)
        assert call.unauthorized == 1
        assert call.service.lines == []


@in_virtual_time
async def test_tools_out_of_reach_are_said_in_ready_and_the_voice_works():
    offer = Offer(error="AquaPortal cannot be reached.")
    async with LiveCall(MemoryService(Says("Hello.")), offer=offer) as call:
        ready = await call.shown("vocero.conversation.ready")
        call.types("Hello?")
        await call.shown("response.done")
    assert ready["tools"] == {"count": 0, "error": "AquaPortal cannot be reached."}
    assert ready["conversation"]["caller"] == {"name": "Ada Admin"}
    assert ready["protocol_version"] == 1


# ---- interruptions


@in_virtual_time
async def test_speaking_over_a_slow_tool_ends_it():
    slow = SlowTool()
    async with LiveCall(MemoryService(PICKS), slow.source) as call:
        line = await call.ready()
        call.types(QUESTION)
        await slow.started.wait()
        call.interrupts(line)
        failed = await call.shown("vocero.tool.failed")
        slow.finish.set()
        await line.quiet()
        output = json.loads(line.sent_of("conversation.item.create")[-1]["item"]["output"])
        assert slow.source.cancelled == ["get_metric_history"]
        assert (failed["code"], output["error"]["code"]) == ("cancelled", "cancelled")
        assert len(line.sent_of("response.create")) == 1
        assert call.text() == ""
    (closed,) = call.closed_calls()
    assert (closed.status, closed.code) == ("failed", "cancelled")
    assert call.closed_turns()[0].outcome == "interrupted"


@in_virtual_time
async def test_a_stop_button_cancels_the_answer_by_its_id_case_004_case_007():
    async with LiveCall(MemoryService(Says(ANSWER, ends=False))) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("response.output_audio.delta")
        call.send("response.cancel")
        assert (await line.asked("response.cancel"))["response_id"] == "resp_1"
        assert (await call.shown("response.done"))["response"]["status"] == "cancelled"
        shown = len(call.frames)
        late = {"type": "response.output_audio.delta", "response_id": "resp_1", "item_id": "item_1"}
        line.say({**late, "content_index": 0, "delta": ga.sound(100)})
        await line.quiet()
        assert len(call.frames) == shown
    assert call.closed_turns()[0].outcome == "cancelled"


@in_virtual_time
async def test_typing_over_an_answer_cancels_it_and_is_answered_once_case_001_case_021():
    async with LiveCall(MemoryService(Says("A long story.", ends=False), Says(ANSWER))) as call:
        line = await call.ready()
        call.types("Tell me a story.")
        await call.shown("response.output_audio.delta")
        call.types(QUESTION)
        await line.asked("response.cancel")
        done = await call.shown("response.done")
        assert done["response"]["status"] == "cancelled"
        await call.shown("response.done")
        kinds = [event["type"] for event in line.sent]
        assert kinds.count("response.create") == 2
        assert call.shown_of("error") == []
        assert call.text().endswith(ANSWER)


@in_virtual_time
async def test_a_service_that_never_confirms_a_cancel_does_not_block_the_next_turn_case_003():
    async with LiveCall(MemoryService(Says("A long story.", ends=False), Says(ANSWER))) as call:
        line = await call.ready()
        call.types("Tell me a story.")
        await call.shown("response.output_audio.delta")
        line.forget_answer()
        call.types(QUESTION)
        await call.shown("response.done")
        assert call.text().endswith(ANSWER)
        assert asyncio.get_running_loop().time() == 1002


@in_virtual_time
async def test_silence_without_cause_ends_in_an_apology():
    async with LiveCall(MemoryService(), limits=Limits(silence=20.0)) as call:
        await call.ready()
        call.types(QUESTION)
        error = await call.shown("error")
        assert asyncio.get_running_loop().time() == 1020
    assert error["error"]["code"] == "no_answer"
    (turn,) = call.closed_turns()
    assert (turn.outcome, turn.ref) == ("failed", error["error"]["ref"])


@in_virtual_time
async def test_a_tool_within_its_own_limit_is_no_silence():
    slow = SlowTool()
    call = LiveCall(
        MemoryService(PICKS, Says(ANSWER)), slow.source, limits=Limits(silence=5.0), tool_timeout=60.0
    )
    async with call:
        await call.ready()
        call.types(QUESTION)
        await slow.started.wait()
        await seconds_pass(40)
        assert call.shown_of("error") == []
        slow.finish.set()
        await call.shown("vocero.tool.completed")


@in_virtual_time
async def test_sound_and_a_stop_button_do_not_wait_for_a_tool_case_103():
    slow = SlowTool()
    async with LiveCall(MemoryService(PICKS), slow.source) as call:
        line = await call.ready()
        call.types(QUESTION)
        await slow.started.wait()
        for _ in range(100):
            call.send("input_audio_buffer.append", audio=ga.sound(20))
        call.send("response.cancel")
        assert (await call.shown("vocero.tool.failed"))["code"] == "cancelled"
        await line.quiet()
        assert len(line.sent_of("input_audio_buffer.append")) == 100
        assert slow.source.cancelled == ["get_metric_history"]
        assert asyncio.get_running_loop().time() == 1000


@in_virtual_time
async def test_a_tool_over_its_limit_is_answered_with_a_timeout():
    slow = SlowTool()
    async with LiveCall(
        MemoryService(PICKS, Says("It took too long.")), slow.source, tool_timeout=30.0
    ) as call:
        await call.ready()
        call.types(QUESTION)
        assert (await call.shown("vocero.tool.failed"))["code"] == "timeout"
        assert asyncio.get_running_loop().time() == 1030
        await call.shown("response.done")


@in_virtual_time
async def test_a_response_that_fails_is_told_case_026():
    async with LiveCall(MemoryService(Fails(), Says("Hello."))) as call:
        await call.ready()
        call.types(QUESTION)
        assert (await call.shown("error"))["error"]["code"] == "response_failed"
        call.types("Hello?")
        await call.shown("response.output_audio.delta")
    assert call.closed_turns()[0].outcome == "failed"
