"""What a hostile or confused speech service writes into its frames."""

import asyncio
import json

import pytest

from conversations.realtime import shapes, shown, wire
from conversations.realtime.connection import SpeechUnavailable, dial
from conversations.realtime.interpreter import Interpreter
from conversations.tests import speech_events as ga
from conversations.tests.live_call import (
    ANSWER,
    METRIC,
    PICKS,
    QUESTION,
    LiveCall,
    assert_nothing_leaked,
    oxygen_source,
)
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Says
from conversations.tests.speech_script import scripted_speech
from conversations.tests.virtual_time import in_virtual_time, seconds_pass
from tools.contract import Progress, ToolResult
from tools.testing import MemorySource

pytestmark = pytest.mark.every_dialect

ORDERS = {"instructions": "SECRET orders", "tools": [{"name": "SECRET tool"}]}
UTTERANCE = {"item_id": "item_1", "content_index": 0}
SPOKEN = ga.spoken("resp_1", "item_1", Says("Hello there."))
WRITTEN = ga.spoken("resp_1", "item_1", Says("Hello there."), "text")
CALL = {"type": "function_call", "name": "get_report", "call_id": "call_1"}
USAGE = {"type": "tokens", "total_tokens": 3, "input_token_details": {"text_tokens": 3}}
HEARD = "conversation.item.input_audio_transcription"
EVENTS = [
    *SPOKEN,
    *WRITTEN,
    *ga.called("resp_1", ga.call_item("item_2", "call_1", "web_search", "{}")),
    *ga.item_events(
        {"id": "item_3", "type": "message", "role": "user", "content": [{"type": "input_audio"}]}
    ),
    ga.created("resp_1", usage=USAGE, audio={"output": {"format": {"type": "audio/pcm"}, "voice": "v"}}),
    ga.done("resp_1", [ga.message("item_1", "Hello.")], "failed", "server_error"),
    {"type": "input_audio_buffer.speech_started", "item_id": "item_1", "audio_start_ms": 1},
    {"type": "input_audio_buffer.speech_stopped", "item_id": "item_1", "audio_end_ms": 1},
    {"type": "input_audio_buffer.committed", "item_id": "item_1", "previous_item_id": None},
    {"type": "input_audio_buffer.cleared"},
    {"type": f"{HEARD}.delta", **UTTERANCE, "delta": "Hello"},
    {"type": f"{HEARD}.completed", **UTTERANCE, "transcript": "Hello", "usage": USAGE},
    {"type": f"{HEARD}.failed", **UTTERANCE, "error": {"code": "audio_unintelligible"}},
    {"type": "conversation.item.truncated", **UTTERANCE, "audio_end_ms": 5},
    {"type": "rate_limits.updated", "rate_limits": [{"name": "tokens", "limit": 9, "remaining": 8}]},
]


def objects(value):
    """Every object inside a JSON value, itself included."""
    if isinstance(value, dict):
        yield value
    for inside in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inside)


def frames_of(event):
    """The frames of the core's events, which the browser may see as they are."""
    frame = json.dumps(event)
    found = wire.decode(*shapes.fitted(wire.whole(frame), frame))
    return [one.frame for one in found if hasattr(one, "frame")]


def heard(event):
    """The core's events at the beginning of a session, where an answer is announced first."""
    return Interpreter({}, lambda kind: f"{kind}_1").decode(json.dumps(event))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["type"])
def test_a_known_event_is_shown_to_the_letter(event):
    text = json.dumps(event)
    assert {frame is text or frame == text for frame in frames_of(event)} == {True}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["type"])
def test_orders_repeated_anywhere_in_an_event_are_left_out(event):
    """However deep, and where a plain value belongs."""
    for place in range(len(list(objects(event)))):
        told = json.loads(json.dumps(event))
        list(objects(told))[place].update({**ORDERS, "session": ORDERS, "object": ORDERS, "error": ORDERS})
        for frame in frames_of(told):
            assert "SECRET" not in frame
            assert json.loads(frame)["type"] == event["type"]


@pytest.mark.parametrize(
    "event",
    [
        {
            "type": "response.done",
            "response": {
                "id": "resp_1",
                "status": "failed",
                "status_details": {"type": "failed", "error": {"code": "x", "message": "SECRET key"}},
            },
        },
        {"type": f"{HEARD}.failed", **UTTERANCE, "error": {"code": "x", "message": "SECRET key"}},
    ],
    ids=lambda event: event["type"],
)
def test_the_service_s_own_sentence_about_a_failure_is_left_out(event):
    (frame,) = frames_of(event)
    assert "SECRET" not in frame
    assert '"code": "x"' in frame


def test_a_text_where_an_id_belongs_is_left_out_and_not_remembered():
    long = "x" * 100_000
    _, event = heard({"type": "response.output_item.added", "item": {**CALL, "id": long}})
    assert (event.item_id, event.name) == ("", "get_report")
    assert long not in event.frame


def test_sound_that_is_no_text_is_no_sound():
    assert heard({"type": "response.output_audio.delta", "delta": ["UklGRg=="]}) == ()


def test_a_session_of_objects_where_values_belong_is_no_place_for_orders():
    told = {"id": ORDERS, "model": ORDERS, "audio": {"input": {"turn_detection": ORDERS, "format": ORDERS}}}
    assert "SECRET" not in shown.session("session.updated", {**told, "output_modalities": [ORDERS]}, {}, "e")


# ---- a call that has to go on


@pytest.mark.parametrize(
    "nonsense",
    [
        {"type": "session.updated", "session": "nonsense"},
        {"type": "session.updated", "session": [1]},
        {"type": "session.updated", "session": None},
        {"type": "response.output_audio.done", "response_id": "resp_9", "content_index": "first"},
        {"type": "response.content_part.added", "response_id": "resp_9", "content_index": [], "part": []},
        {"type": "response.output_audio.delta", "response_id": "resp_9", "delta": {"a": 1}},
        {"type": "response.done", "response": {"id": "resp_9", "output": [None, 7], "status_details": "x"}},
        {"type": "error", "error": "no"},
    ],
    ids=json.dumps,
)
def test_nonsense_of_the_service_ends_neither_the_call_nor_the_turn_after_it(nonsense):
    in_virtual_time(answers_after)(nonsense)


async def answers_after(nonsense):
    service = MemoryService(Says(ANSWER))
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        words = {"type": "response.output_text.delta", "response_id": "resp_9", "delta": "<think>"}
        line.say(words)
        line.put(json.dumps(nonsense))
        line.say({**words, "delta": "</think>Hello. "}, ga.done("resp_9"))
        await line.quiet()
        call.types(QUESTION)
        await call.shown("response.output_audio.delta")
        assert call.text().endswith(ANSWER)
        assert_nothing_leaked(call)


@in_virtual_time
async def test_one_huge_event_of_the_service_is_relayed_and_the_call_goes_on():
    service = MemoryService(Says(ANSWER))
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        line.say({"type": f"{HEARD}.delta", "item_id": "item_1", "delta": "x" * 6_000_000})
        call.types(QUESTION)
        await call.shown("response.done")
        assert len(call.shown_of(f"{HEARD}.delta")[0]["delta"]) == 6_000_000
        assert call.text() == ANSWER


@in_virtual_time
async def test_a_tool_server_that_tells_its_progress_without_end_is_shown_a_few_times_a_second():
    async def work(_arguments, context):
        for step in range(5_000):
            context.on_progress(Progress(step))
        await seconds_pass(1)
        context.on_progress(Progress(5_000))
        return ToolResult({})

    async with LiveCall(MemoryService(PICKS, Says(ANSWER)), MemorySource((METRIC, work))) as call:
        await call.ready()
        call.types(QUESTION)
        await call.shown("vocero.tool.completed")
        assert [told["progress"] for told in call.shown_of("vocero.tool.progress")] == [0, 5_000]


@in_virtual_time
async def test_a_service_that_never_answers_an_update_leaves_nobody_waiting_and_keeps_little():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        service.confirms = False
        call.send("session.update", session={"instructions": "Cage four."})
        assert (await call.shown("session.updated"))["session"]["instructions"] == "Cage four."
        for number in range(100):
            call.send("session.update", session={"instructions": f"Cage {number}."})
        await line.quiet()
        assert len(call.shown_of("session.updated")) >= 80
        await seconds_pass(3)
        assert len(call.shown_of("session.updated")) == 101


@in_virtual_time
async def test_updates_that_wait_for_the_service_to_come_back_are_each_answered_once():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        service.confirms = False
        line.drop()
        await call.shown("vocero.speech.lost")
        for number in range(40):
            call.send("session.update", session={"instructions": f"Cage {number}."})
        await call.shown("vocero.speech.restored")
        await seconds_pass(3)
        assert len(call.shown_of("session.updated")) == 40


async def test_a_redirect_of_the_speech_service_is_not_followed_case_176():
    async def redirect(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    async with scripted_speech() as elsewhere:
        server = await asyncio.start_server(redirect, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(SpeechUnavailable):
            await dial(f"ws://127.0.0.1:{port}/v1/realtime", "key", "")
        server.close()
        assert elsewhere.lines == []
