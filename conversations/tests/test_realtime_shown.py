"""What the browser is shown: effects as frames, and the session without anything of the server's."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.core import effects as fx
from conversations.realtime import endings, shown
from conversations.tests import speech_events as ga

PROPERTY = settings(max_examples=80, deadline=None)
SECRET = "only-for-the-model"
NOTHING_HIDDEN: frozenset = frozenset()


def frame(effect):
    return json.loads(shown.frame(effect, "event_1"))


def cut(event, kept, hidden=NOTHING_HIDDEN):
    return frame(fx.ShowCut(json.dumps(event), kept, hidden))


def session(declared, page, name="session.updated"):
    return json.loads(shown.session(name, declared, page, "event_1"))["session"]


def test_what_passes_passes_untouched():
    original = '{"type":"response.created",  "response":{"id":"r"}}'
    assert shown.frame(fx.Show(original), "event_1") is original


def test_a_delta_is_replaced():
    event = {"type": "response.output_text.delta", "item_id": "i", "delta": "It <<<", "event_id": "s1"}
    assert frame(fx.ShowDelta(json.dumps(event), "It ")) == {**event, "delta": "It "}


def test_speech_that_only_the_whole_text_brought_is_shown_as_a_delta():
    event = {"type": "response.output_audio_transcript.done", "item_id": "i", "transcript": "It is warm."}
    assert frame(fx.ShowDelta(json.dumps(event), "It is warm.")) == {
        "type": "response.output_audio_transcript.delta",
        "item_id": "i",
        "delta": "It is warm.",
    }


@pytest.mark.parametrize(
    ("field", "kind"), [("text", "output_text"), ("transcript", "output_audio_transcript")]
)
def test_every_whole_text_equals_what_passed(field, kind):
    place = {"item_id": "i", "content_index": 1}
    event = {"type": f"response.{kind}.done", **place, field: "It is <<<CALL"}
    assert cut(event, {("i", 1): "It is "})[field] == "It is "
    assert cut(event, {("i", 0): "other"})[field] == ""
    part = {"type": "response.content_part.done", **place, "part": {"type": "text", field: "It is <<<CALL"}}
    assert cut(part, {("i", 1): "It is "})["part"] == {"type": "text", field: "It is "}


def test_an_item_is_cut_to_what_passed_and_loses_empty_parts():
    item = ga.message("i", "It is <<<CALL")
    item["content"].append({"type": "output_audio", "transcript": "and <<<more"})
    event = {"type": "response.output_item.done", "item": item}
    parts = cut(event, {("i", 0): "It is "})["item"]["content"]
    assert [part["transcript"] for part in parts] == ["It is "]


def test_the_end_of_a_response_holds_what_passed_and_no_hidden_item():
    output = [
        ga.message("i1", "Let me look. <<<CALL"),
        ga.message("i2", "<<<CALL"),
        ga.call_item("i3", "call_1", "get_report", SECRET),
    ]
    shown_end = cut(ga.done("r", output), {("i1", 0): "Let me look. "}, frozenset({"i3"}))
    assert [item["id"] for item in shown_end["response"]["output"]] == ["i1"]
    assert SECRET not in json.dumps(shown_end)
    assert "<<<" not in json.dumps(shown_end)


def test_a_hidden_item_without_an_id_is_hidden_too():
    nameless = {
        key: value for key, value in ga.call_item("", "c", "get_report", SECRET).items() if key != "id"
    }
    assert cut(ga.done("r", [nameless]), {}, frozenset({""}))["response"]["output"] == []


def test_vocero_s_own_events_carry_their_fields_and_an_id():
    told = frame(fx.Tell("vocero.tool.started", {"call_id": "c", "turn": 2}))
    assert told == {"type": "vocero.tool.started", "event_id": "event_1", "call_id": "c", "turn": 2}


def test_an_error_has_the_shape_of_ga_s():
    told = frame(fx.Tell("error", {"code": "no_answer", "message": "Sorry.", "ref": "ABCDEFG"}))
    assert told["error"] == {
        "type": "vocero_error",
        "code": "no_answer",
        "message": "Sorry.",
        "param": None,
        "event_id": None,
        "ref": "ABCDEFG",
    }


def test_what_is_not_for_the_browser_is_a_fault_of_ours():
    with pytest.raises(TypeError):
        shown.frame(fx.SendItem({}), "event_1")


# ---- endings


def test_an_ending_says_why_before_the_close():
    told = json.loads(endings.frame(endings.busy(7), "event_1"))
    assert (told["error"]["code"], told["error"]["retry_after_ms"]) == ("rate_limited", 7000)
    assert "retry_after_ms" not in json.loads(endings.frame(endings.NOT_FOUND, "event_1"))["error"]


@pytest.mark.parametrize(
    "reason", ["caller_cleanup", "superseded", "expired", "idle", "auth_expired", "operator", "error"]
)
def test_a_closed_conversation_ends_with_its_reason_and_a_sentence_of_its_own(reason):
    ending = endings.closed(reason)
    assert (ending.code, ending.error) == (4410, reason)
    others = {endings.closed(other).message for other in endings._CLOSED if other != reason}
    assert ending.message not in others


def test_a_refusal_has_the_ending_of_its_close_code():
    assert endings.refused(4401, "unauthorized") == endings.NOT_ADMITTED
    assert endings.refused(4404, "not_found") == endings.NOT_FOUND
    assert endings.refused(4410, "idle") == endings.closed("idle")


# ---- the session


DECLARED = {
    "id": "sess_1",
    "object": "realtime.session",
    "type": "realtime",
    "model": "whatever",
    "expires_at": 17,
    "output_modalities": ["audio"],
    "instructions": SECRET,
    "tools": [{"type": "function", "name": "get_report", "description": SECRET}],
    "tool_choice": "auto",
    "prompt": {"id": SECRET},
    "client_secret": {"value": SECRET},
    "include": [SECRET],
    "audio": {
        "input": {
            "format": {"type": "audio/pcm", "rate": 24000},
            "transcription": {"model": "whisper-1", "prompt": SECRET},
            "turn_detection": {"type": "server_vad"},
        },
        "output": {"voice": "alloy", "format": {"type": "audio/pcm", "rate": 24000}},
    },
}


@pytest.mark.parametrize("name", ["session.created", "session.updated"])
def test_the_session_shows_the_page_its_own_words_only(name):
    page = {
        "instructions": "The page shows cage four.",
        "tools": [{"type": "function", "name": "web_search"}],
        "tool_choice": "none",
    }
    seen = session(DECLARED, page, name)
    assert (seen["instructions"], seen["tools"], seen["tool_choice"]) == tuple(page.values())
    assert seen["id"] == "sess_1"
    assert seen["audio"]["output"] == DECLARED["audio"]["output"]
    assert SECRET not in json.dumps(seen)


def test_the_page_sees_the_vocabulary_that_it_gave_itself():
    page = {"audio": {"input": {"transcription": {"prompt": "sea lice"}}}}
    assert session(DECLARED, page)["audio"]["input"]["transcription"] == {
        "model": "whisper-1",
        "prompt": "sea lice",
    }


SCALARS = st.none() | st.booleans() | st.integers(0, 9) | st.just(SECRET)
SESSIONS = st.dictionaries(
    st.sampled_from(["instructions", "tools", "tool_choice", "prompt", "tracing", "include", "secret"]),
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
)
SIDES = st.dictionaries(st.sampled_from(["prompt", "instructions", "keywords"]), SCALARS, max_size=3)


@PROPERTY
@given(SESSIONS, SIDES, SIDES)
def test_no_session_of_any_service_tells_what_is_only_for_the_model(declared, audio, transcription):
    sides = {"input": {**audio, "transcription": transcription}, "output": audio, "more": audio}
    assert SECRET not in json.dumps(session({**declared, "audio": sides}, {}))
