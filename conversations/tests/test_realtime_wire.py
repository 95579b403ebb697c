"""The speech service's frames become core events, and effects become its frames."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.realtime import beta, deltas, shapes, wire
from conversations.realtime.interpreter import Interpreter
from conversations.tests import speech_events as ga
from conversations.tests.speech_events import Calls, Numbers, Says

PLACE = {"response_id": "resp_1", "item_id": "item_1", "content_index": 0}
EVERY_KIND = sorted({*wire._READERS, *wire.PASSING, *beta.NAMES, deltas.AUDIO, "conversation.item.created"})
FIELDS = sorted(
    {
        "response",
        "response_id",
        "item",
        "item_id",
        "id",
        "type",
        "role",
        "name",
        "call_id",
        "arguments",
        "delta",
    }
    | {
        "transcript",
        "text",
        "content_index",
        "status",
        "status_details",
        "output",
        "error",
        "code",
        "session",
    }
)
SCALARS = (
    st.none() | st.booleans() | st.integers(-9, 10**20) | st.floats(allow_nan=False) | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS.filter(lambda value: value != float("inf") and value != float("-inf")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=6,
)
PROPERTY = settings(max_examples=80, deadline=None)


def read(frame):
    """One event on its own, as the wire reads it."""
    return wire.decode(*shapes.fitted(wire.whole(frame), frame))


def heard(frame):
    """The same at the beginning of a session, where a frame may be anything."""
    return Interpreter({}, lambda kind: f"{kind}_1").decode(frame)


def decoded(**event):
    return read(json.dumps(event))


def only(**event):
    (found,) = decoded(**event)
    return found


def encoded(effect, **options):
    return json.loads(wire.encode(effect, "event_1", **options))


def test_speech_is_told_with_the_frame_itself():
    frame = json.dumps({"type": "input_audio_buffer.speech_started", "item_id": None, "audio_start_ms": 5})
    assert read(frame) == (e.SpeechStarted(frame),)
    stopped = json.dumps({"type": "input_audio_buffer.speech_stopped"})
    assert read(stopped) == (e.SpeechStopped(stopped),)


@pytest.mark.parametrize(
    ("text", "heard"), [("Hello.", "Hello."), ("", ""), (None, None), (["no", "text"], None)]
)
def test_what_the_caller_said_is_heard_or_not(text, heard):
    kind = "conversation.item.input_audio_transcription.completed"
    assert only(type=kind, item_id="item_1", transcript=text).text == heard


def test_a_transcription_that_failed_is_heard_as_nothing():
    kind = "conversation.item.input_audio_transcription.failed"
    assert only(type=kind, item_id="item_1", error={"message": "no"}).text is None


@pytest.mark.parametrize("kind", ["response.output_text", "response.output_audio_transcript"])
def test_text_comes_in_deltas_and_as_a_whole(kind):
    delta = only(type=f"{kind}.delta", **PLACE, delta="It is")
    assert (delta.response_id, delta.item_id, delta.content_index, delta.text) == (
        "resp_1",
        "item_1",
        0,
        "It is",
    )
    field = "text" if kind.endswith("text") else "transcript"
    whole = only(type=f"{kind}.done", **PLACE, **{field: "It is warm."})
    assert isinstance(whole, e.TextDone)
    assert whole.text == "It is warm."


@pytest.mark.parametrize("milliseconds", [1, 20, 100, 333])
def test_audio_is_counted_in_milliseconds(milliseconds):
    event = only(type="response.output_audio.delta", **PLACE, delta=ga.sound(milliseconds))
    assert event.milliseconds == pytest.approx(milliseconds, abs=0.05)
    assert event.item_id == "item_1"


def test_audio_without_a_place_is_audio_still():
    event = only(type="response.output_audio.delta", response_id=None, item_id=None, delta=ga.sound(20))
    assert (event.response_id, event.item_id, event.content_index) == ("", "", 0)


def test_a_call_is_told_in_every_form_that_services_use_case_018():
    item = ga.call_item("item_1", "call_1", "get_report", '{"request":{}}')
    events = [found for event in ga.called("resp_1", item) for found in decoded(**event)]
    calls = [found for found in events if isinstance(found, e.FunctionCall)]
    assert calls == [e.FunctionCall("resp_1", "item_1", "call_1", "get_report", '{"request":{}}')] * 2
    shapes = [found for found in events if isinstance(found, e.Structure)]
    assert len(shapes) == 4
    assert all(shape.of_call for shape in shapes)


def test_the_end_of_a_response_names_its_calls():
    item = ga.call_item("item_1", "call_1", "get_report", "{}")
    event = only(**ga.done("resp_1", [item]))
    assert event.calls == event.told == (e.FunctionCall("resp_1", "item_1", "call_1", "get_report", "{}"),)


@pytest.mark.parametrize("status", ["cancelled", "failed", "incomplete"])
def test_calls_of_a_response_that_did_not_complete_are_told_but_not_made(status):
    event = only(**ga.done("resp_1", [ga.call_item("item_1", "call_1", "get_report", "{}")], status))
    assert event.status == status
    assert event.calls == ()
    assert [call.item_id for call in event.told] == ["item_1"]


def test_a_failed_response_says_why_case_026():
    assert only(**ga.done("resp_1", status="failed", code="rate_limit_exceeded")).code == (
        "rate_limit_exceeded"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "session_expired", "type": "invalid_request_error"}, "session_expired"),
        ({"type": "conversation_already_has_active_response"}, "conversation_already_has_active_response"),
        ({}, "service_error"),
        ({"code": "<script>alert(1)</script>"}, "service_error"),
    ],
)
def test_the_code_of_a_complaint_sits_where_the_service_puts_it(error, code):
    found = only(type="error", error={**error, "message": "No.", "event_id": "event_9"})
    assert (found.code, found.event_id) == (code, "event_9")


@pytest.mark.parametrize("kind", sorted(wire.PASSING))
def test_harmless_events_pass_as_they_are(kind):
    frame = json.dumps({"type": kind, "event_id": "event_1"})
    assert heard(frame) == (e.Passing(frame),)


@pytest.mark.parametrize("kind", ["mcp_list_tools.completed", "response.mcp_call.completed", "nonsense", ""])
def test_what_nobody_may_see_is_nothing(kind):
    assert heard(json.dumps({"type": kind, "arguments": "{}", "output": "secret"})) == ()


@pytest.mark.parametrize("kind", ["response.created", "response.done"])
def test_a_response_that_repeats_the_instructions_is_shown_without_them(kind):
    told = {"id": "resp_1", "status": "completed", "output": [], "conversation_id": "conv_1"}
    frame = json.dumps({"type": kind, "response": {**told, "instructions": "SECRET", "tools": ["SECRET"]}})
    (event,) = read(frame)
    assert json.loads(event.frame) == {"type": kind, "response": told}
    untouched = json.dumps({"type": kind, "response": told})
    assert read(untouched)[0].frame is untouched


def test_a_whole_response_is_read_event_by_event():
    numbers = Numbers()
    replies = (Says("It is warm."), Calls.one("get_report", narration="Let me look."))
    for event in (event for reply in replies for event in ga.response(reply, numbers)):
        assert len(decoded(**event)) >= 1, event["type"]


@pytest.mark.parametrize("kind", ["response.output_text.delta", "response.output_audio_transcript.delta"])
def test_a_delta_without_words_is_none(kind):
    place = '"response_id":"resp_1","item_id":"item_1"'
    assert heard(f'{{"type":"{kind}",{place},"delta":{{"a":1}}}}') == ()
    assert heard(f'{{"type":"{kind}",{place}}}') == ()


def test_a_response_without_an_id_is_not_announced():
    assert decoded(type="response.created", response={"id": None}) == ()


DEEP = "[" * 5_000 + "]" * 5_000


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize(
    "rest",
    [
        f'"item":{DEEP}',
        f'"response":{DEEP},"delta":{DEEP}',
        '"response":"text","item":7,"session":[],"error":"e","delta":{}',
        '"content_index":1e308,"text":"x","delta":"x","item_id":{}',
        '"content_index":"many","text":"x","delta":"x"',
        '"response":{"output":[1,null,"x"]},"item":{}',
    ],
    ids=["deep-item", "deep-response", "kinds", "huge-index", "text-index", "output"],
)
def test_a_misshapen_event_is_no_fault_of_ours(kind, rest):
    assert isinstance(heard(f'{{"type":"{kind}",{rest}}}'), tuple)


@PROPERTY
@given(st.text(max_size=40))
def test_any_text_is_read_without_a_fault(text):
    assert heard(text) == ()
    assert wire.kind(text) == ""


@PROPERTY
@given(st.sampled_from(EVERY_KIND), st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6))
def test_any_event_is_read_without_a_fault(kind, fields):
    found = heard(json.dumps({**fields, "type": kind}))
    assert all(isinstance(event, e.Event | wire.SessionUpdated) for event in found)


def test_an_item_goes_out_under_our_id():
    item = {"id": "item_1", "type": "function_call_output", "call_id": "call_1", "output": "{}"}
    assert encoded(fx.SendItem(item)) == {
        "type": "conversation.item.create",
        "item": item,
        "event_id": "event_1",
    }


def test_a_response_is_asked_for_with_its_options():
    asked = encoded(fx.CreateResponse({"output_modalities": ["text"]}))
    assert asked["response"] == {"output_modalities": ["text"]}


def test_the_last_response_may_pick_no_tool_and_reads_no_marker_rules():
    assert encoded(fx.CreateResponse(last=True))["response"] == {"tool_choice": "none"}
    marked = encoded(fx.CreateResponse(last=True), plain_instructions="Plain.")["response"]
    assert marked == {"tool_choice": "none", "instructions": "Plain."}
    assert encoded(fx.CreateResponse(), plain_instructions="Plain.")["response"] == {}


def test_a_cancel_names_its_response_case_007():
    assert encoded(fx.CancelResponse("resp_1")) == {
        "type": "response.cancel",
        "response_id": "resp_1",
        "event_id": "event_1",
    }


def test_a_truncate_says_what_was_heard():
    assert encoded(fx.Truncate("item_1", 0, 740))["audio_end_ms"] == 740


def test_a_question_for_an_item_keeps_its_own_event_id():
    assert encoded(fx.Retrieve("item_1", "event_7"))["event_id"] == "event_7"


@pytest.mark.parametrize("effect", [fx.Show("{}"), fx.CancelTool("call_1"), fx.Tell("error", {})])
def test_what_is_not_for_the_service_is_a_fault_of_ours(effect):
    with pytest.raises(TypeError):
        wire.encode(effect, "event_1")


def test_a_session_is_declared_in_ga_shape():
    assert json.loads(wire.session_update({"tools": []}, "event_1")) == {
        "type": "session.update",
        "event_id": "event_1",
        "session": {"type": "realtime", "tools": []},
    }


@pytest.mark.parametrize(
    ("session", "names"),
    [
        ({"tools": [{"name": "a"}, {"name": "b"}, {"name": 7}, {}, "c"]}, {"a", "b"}),
        ({"tools": None}, set()),
        ({"tools": {"name": "a"}}, set()),
        ({}, set()),
    ],
)
def test_declared_tools_are_read_whatever_the_service_repeats(session, names):
    assert wire.declared_names(session) == names
