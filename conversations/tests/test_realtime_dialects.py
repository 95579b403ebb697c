"""Whatever dialect the service speaks: it is recognised, spoken to in kind, and told to the browser as GA."""

import json

import pytest

from conversations.core import events as e
from conversations.core.records import UpstreamOpened, UpstreamRecognised
from conversations.realtime import beta, dialects
from conversations.realtime.connection import SpeechUnavailable
from conversations.realtime.interpreter import Interpreter
from conversations.realtime.opening import open_session
from conversations.tests import speech_events as ga
from conversations.tests.live_call import (
    ANSWER,
    ASKS,
    PICKS,
    QUESTION,
    LiveCall,
    assert_nothing_leaked,
    oxygen_source,
)
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_dialects import BARE, PIPELINES
from conversations.tests.speech_events import Calls, Fails, Numbers, Says
from conversations.tests.test_realtime_opening import declaration
from conversations.tests.virtual_time import in_virtual_time

every_dialect = pytest.mark.every_dialect
TRANSCRIPT = "response.output_audio_transcript"
WHOLE = [
    "response.created",
    "response.output_item.added",
    "response.content_part.added",
    f"{TRANSCRIPT}.delta",
    "response.output_audio.delta",
    "response.output_audio.done",
    f"{TRANSCRIPT}.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.done",
]


def once(kinds):
    """The kinds in the order in which each came first."""
    return list(dict.fromkeys(kinds))


def recognised(call):
    return [record.dialect for record in call.records if isinstance(record, UpstreamRecognised)]


# ---- recognised


@every_dialect
@in_virtual_time
async def test_a_service_is_recognised_by_its_first_answer_and_logged_once(speech_dialect, caplog):
    caplog.set_level("INFO")
    async with LiveCall(MemoryService(PICKS, Says(ANSWER)), oxygen_source()) as call:
        line = await call.ready()
        call.speaks(line, QUESTION)
        call.answers(line, Says(ANSWER))
        await call.shown("response.done")
        assert recognised(call) == [speech_dialect]
        call.types(QUESTION)
        await call.shown("response.done")
        await call.shown("response.done")
    assert recognised(call) == [speech_dialect]
    assert caplog.text.count("speech.dialect") == 1
    (opened,) = [record for record in call.records if isinstance(record, UpstreamOpened)]
    assert opened.dialect in (speech_dialect, "s2s-1.1")


@every_dialect
@in_virtual_time
async def test_a_session_without_an_answer_is_recorded_with_the_best_guess(speech_dialect):
    async with LiveCall(MemoryService()) as call:
        await call.ready()
    guess = "s2s-1.1" if speech_dialect in PIPELINES else speech_dialect
    assert recognised(call) == [guess]


@pytest.mark.parametrize(
    ("session", "name", "certain"),
    [
        ({"object": "realtime.session", "type": "realtime"}, "ga", True),
        ({"output_modalities": ["audio"], "id": "sess_1"}, "ga", True),
        ({"id": "sess_1"}, "ga", False),
        ({"modalities": ["text", "audio"]}, "beta", True),
        ({"object": "realtime.session", "input_audio_format": "pcm16"}, "beta", True),
        ({"type": "realtime", "id": "session_1"}, "s2s-1.1", False),
        ({}, "ga", False),
    ],
)
def test_the_first_session_tells_the_kind_of_service(session, name, certain):
    dialect, sure = dialects.recognised(session)
    assert (dialect.name, sure) == (name, certain)


def test_a_service_of_unknown_kind_that_uses_old_names_is_from_before_ga():
    interpreter = Interpreter({"id": "s"}, Numbers().next)
    assert not interpreter.certain
    interpreter.decode('{"type": "response.text.delta", "response_id": "r", "item_id": "i", "delta": "Yes."}')
    assert (interpreter.dialect.name, interpreter.certain) == ("beta", True)


def test_what_an_answer_that_was_asked_for_tells_leaves_two_generations_possible():
    interpreter = Interpreter({"id": "session_1"}, Numbers().next)
    interpreter.encode('{"type": "response.create", "response": {}}')
    interpreter.decode(json.dumps(ga.created("r")))
    delta = {"type": f"{TRANSCRIPT}.delta", "response_id": "r", "item_id": "i", "delta": "Yes."}
    interpreter.decode(json.dumps(delta))
    assert not interpreter.certain
    interpreter.decode(json.dumps({**delta, "response_id": "of its own"}))
    assert (interpreter.dialect.name, interpreter.certain) == ("s2s-2026-08a", True)


# ---- told as GA


@every_dialect
@in_virtual_time
async def test_an_answer_to_speech_is_told_whole_and_in_ga_s_order(speech_dialect):
    async with LiveCall(MemoryService(), oxygen_source()) as call:
        line = await call.ready()
        call.speaks(line, QUESTION)
        call.answers(line, Says(ANSWER))
        done = await call.shown("response.done")
        kinds = [kind for kind in call.kinds() if kind.startswith("response.")]
        assert once(kinds) == WHOLE
        assert [kinds.count(kind) for kind in WHOLE if not kind.endswith(".delta")] == [1] * 8
        assert (call.text(), call.shown_of(f"{TRANSCRIPT}.done")[0]["transcript"]) == (ANSWER, ANSWER)
        (item,) = done["response"]["output"]
        assert (item["content"][0]["type"], item["content"][0]["transcript"]) == ("output_audio", ANSWER)
        sounds = call.shown_of("response.output_audio.delta")
        assert {(frame["item_id"], frame["content_index"]) for frame in sounds} == {(item["id"], 0)}


@every_dialect
@in_virtual_time
async def test_a_written_answer_is_told_as_text(speech_dialect):
    async with LiveCall(MemoryService(Says(ANSWER)), page={"output_modalities": ["text"]}) as call:
        line = await call.ready()
        call.types(QUESTION)
        assert (await call.shown("response.output_text.done"))["text"] == ANSWER
        (item,) = (await call.shown("response.done"))["response"]["output"]
        assert item["content"] == [{"type": "output_text", "text": ANSWER}]
        asked = line.sent_of("response.create")[0]["response"]
        obeys = dialects.ALL[speech_dialect].obeys_modalities
        assert asked == ({} if obeys else {"output_modalities": ["text"]})


@every_dialect
@in_virtual_time
async def test_a_browser_s_own_call_is_told_whole(speech_dialect):
    service = MemoryService(Calls.one("web_search", {"query": "sea lice"}, narration="Let me look."))
    async with LiveCall(service, browser_tools=frozenset({"web_search"})) as call:
        await call.ready()
        call.types(QUESTION)
        arguments = await call.shown("response.function_call_arguments.done")
        done = await call.shown("response.done")
        items = [frame["item"] for frame in call.shown_of("response.output_item.done")]
        called = [item for item in items if item["type"] == "function_call"]
        assert [item["id"] for item in called] == [arguments["item_id"]]
        listed = {item["type"]: item["id"] for item in done["response"]["output"]}
        assert listed["function_call"] == arguments["item_id"] != listed["message"]


@every_dialect
@in_virtual_time
async def test_a_server_s_call_leaves_no_trace_in_what_is_completed():
    narrated = Calls((("get_metric_history", ASKS),), "Let me look.")
    async with LiveCall(MemoryService(narrated, Says(ANSWER)), oxygen_source()) as call:
        await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        await call.shown("response.done")
        assert call.text() == f"Let me look.{ANSWER}"
        assert_nothing_leaked(call)
        assert "call_1" not in call.everything()


@every_dialect
@in_virtual_time
async def test_an_answer_that_is_talked_over_is_announced_and_ended_once():
    async with LiveCall(MemoryService()) as call:
        line = await call.ready()
        call.speaks(line, QUESTION)
        call.answers(line, Says("A long story. It goes on", ends=False))
        await call.shown("response.output_audio.delta")
        call.interrupts(line)
        await line.quiet()
        line.say(ga.done("resp_1", status="cancelled"))
        await line.quiet()
        ends = [frame["response"]["status"] for frame in call.shown_of("response.done")]
        assert ends == ["cancelled"]
        assert len(call.shown_of("response.created")) == 1


def test_a_call_that_is_cut_off_before_its_arguments_is_no_call():
    interpreter = Interpreter({"id": "session_1"}, Numbers().next)
    place = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
    sound = {"type": "response.output_audio.delta", **place, "delta": ga.sound(20)}
    begun = ga.called("resp_1", ga.call_item("item_2", "call_1", "get_report", "{}"))[0]
    told = [sound, begun, ga.done("resp_1", status="cancelled")]
    found = [event for frame in told for event in interpreter.decode(json.dumps(frame))]
    assert [event.calls + event.told for event in found if isinstance(event, e.ResponseDone)] == [()]
    assert not any(isinstance(event, e.FunctionCall) for event in found)


@every_dialect
@in_virtual_time
async def test_what_the_browser_writes_is_an_item_added_and_done():
    async with LiveCall(MemoryService(Says(ANSWER))) as call:
        await call.ready()
        call.types(QUESTION)
        added = await call.shown("conversation.item.added")
        done = await call.shown("conversation.item.done")
        assert added["item"]["content"] == done["item"]["content"]
        assert call.shown_of("conversation.item.created") == []


@every_dialect
@in_virtual_time
async def test_a_failure_is_told_once_case_026(speech_dialect):
    async with LiveCall(MemoryService(Fails("rate_limit_exceeded"))) as call:
        await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        assert [frame["error"]["code"] for frame in call.shown_of("error")] == ["response_failed"]
    (turn,) = call.closed_turns()
    assert turn.code == ("response_failed" if speech_dialect in PIPELINES else "rate_limit_exceeded")


# ---- spoken to in kind


@pytest.mark.parametrize("kind", ["input_audio_buffer.clear", "conversation.item.retrieve"])
@every_dialect
@in_virtual_time
async def test_what_a_service_lacks_is_answered_in_its_place(speech_dialect, kind):
    async with LiveCall(MemoryService()) as call:
        line = await call.ready()
        call.send(kind, item_id="item_7")
        await line.quiet()
        lacks = kind in dialects.ALL[speech_dialect].lacks
        assert bool(line.sent_of(kind)) is not lacks
        answers = {"input_audio_buffer.cleared", "conversation.item.retrieved"} & set(call.kinds())
        assert bool(answers) is lacks
        assert call.shown_of("error") == []


def test_a_service_from_before_ga_is_told_flat_settings_and_reads_back_the_same():
    audio = {"format": beta._PCM, "transcription": {"model": "whisper-1"}, "turn_detection": None}
    output = {"format": beta._PCM, "voice": "marin", "speed": 1.1}
    session = {"type": "realtime", "output_modalities": ["audio"], "instructions": "Be brief."}
    session |= {"tools": [], "max_output_tokens": 200, "audio": {"input": audio, "output": output}}
    told = beta.from_ga({"type": "session.update", "session": session})["session"]
    assert told == {
        "modalities": ["text", "audio"],
        "instructions": "Be brief.",
        "tools": [],
        "max_response_output_tokens": 200,
        "input_audio_format": "pcm16",
        "input_audio_transcription": {"model": "whisper-1"},
        "turn_detection": None,
        "output_audio_format": "pcm16",
        "voice": "marin",
        "speed": 1.1,
    }
    again = beta.to_ga({"type": "session.updated", "session": told})["session"]
    assert again == {key: value for key, value in session.items() if key != "type"}


def test_what_the_assistant_said_is_told_under_the_old_name_of_its_part():
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
    told = beta.from_ga({"type": "conversation.item.create", "item": item})
    assert told["item"]["content"] == [{"type": "text", "text": "Yes."}]
    asked = {"type": "response.create", "response": {"output_modalities": ["text"]}}
    assert beta.from_ga(asked)["response"] == {"modalities": ["text"]}


@pytest.mark.parametrize("name", BARE)
def test_a_complaint_about_settings_that_names_no_event_is_about_the_last_update(name):
    interpreter = Interpreter({"id": "session_1"}, Numbers().next)
    interpreter.dialect = dialects.ALL[name]
    update = {"type": "session.update", "event_id": "ours", "session": {}}
    interpreter.encode(json.dumps(update))
    error = {"type": "unknown_or_invalid_event", "code": None, "event_id": None, "message": "No."}
    (found,) = interpreter.decode(json.dumps({"type": "error", "error": error}))
    assert found == e.ServiceError("unknown_or_invalid_event", "No.", "ours", found.frame)


@in_virtual_time
async def test_a_service_that_is_full_says_so_instead_of_greeting():
    service = MemoryService()
    service.greets = False
    line = await service.dial()
    line.say({"type": "error", "error": {"type": "session_limit_reached", "message": "All slots are taken."}})
    with pytest.raises(SpeechUnavailable, match="session_limit_reached"):
        await open_session(line, declaration(), Numbers().next)
