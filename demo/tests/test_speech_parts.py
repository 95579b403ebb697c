"""The speech service's pure parts: schemas, days, turns, the buffer, a response, the conversation."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.speech import pcm
from demo.speech.client_events import KINDS, Detection, SessionUpdate, checked
from demo.speech.conversation import MOST_ITEMS, Conversation
from demo.speech.events import Refused
from demo.speech.items import accepted
from demo.speech.listening import Listener, Paused, Resumed, Started, Stopped
from demo.speech.outbox import Outbox, Overrun
from demo.speech.planner.dates import Days, mentioned
from demo.speech.planner.schema import Slot, read
from demo.speech.planner.tools import Call
from demo.speech.response import Response, ResponseShape
from demo.speech.sentences import deltas, sentences
from demo.speech.settings import Settings, merged
from demo.speech.turns import LONGEST_TURN_MS, Edge, TurnDetector
from demo.tests.speech_caller import kinds, quiet, tone

TODAY = date(2026, 8, 5)
LOUD, QUIET = 0.9, 0.0


class LoudEar:
    """Takes any sound for speech."""

    def probability(self, frame):
        return LOUD if any(frame) else QUIET

    def reset(self):
        pass


def edges(detector, *runs):
    """The edges of a run of probabilities, written as (probability, frames)."""
    heard = [detector.hear(probability) for probability, count in runs for _ in range(count)]
    return [edge for edge in heard if edge]


def message(text="Hello."):
    return accepted({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})


# Schemas and days


def test_a_schema_gives_its_scalars_through_references_alternatives_and_nesting():
    schema = {
        "type": "object",
        "required": ["request"],
        "properties": {
            "request": {
                "allOf": [{"$ref": "#/$defs/Base"}],
                "properties": {
                    "cages": {"type": "array", "items": {"type": "integer", "maximum": 8}},
                    "day": {
                        "anyOf": [{"type": "string", "format": "date"}, {"enum": ["today"]}, {"type": "null"}]
                    },
                    "limit": {"type": ["integer", "null"]},
                },
                "required": ["kind"],
            }
        },
        "$defs": {"Base": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}}},
    }
    shape = read(schema)
    assert shape.objects == (("request",),)
    assert {slot.name: (slot.kind, slot.values, slot.required, slot.many) for slot in shape.slots} == {
        "kind": ("string", ("a", "b"), True, False),
        "cages": ("integer", (), False, True),
        "day": ("date", ("today",), False, False),
        "limit": ("integer", (), False, False),
    }
    assert shape.slots[0].path == ("request", "kind") or shape.slots[0].path[0] == "request"


def test_a_schema_that_refers_to_itself_or_to_nothing_ends():
    endless = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"properties": {"again": {"$ref": "#/$defs/A"}, "n": {"type": "integer"}}}},
    }
    assert Slot(("n",), "integer") in read(endless).slots
    assert read({"$ref": "https://example.org/schema"}).slots == ()
    assert read({"properties": {"x": {"$ref": "#/$defs/missing"}}}).slots == ()


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("what happened today", Days(TODAY, TODAY, "today")),
        ("since yesterday", Days(date(2026, 8, 4), date(2026, 8, 4), "yesterday")),
        ("on july 20th", Days(date(2026, 7, 20), date(2026, 7, 20))),
        ("on the 20th of december", Days(date(2025, 12, 20), date(2025, 12, 20))),
        ("after 2026-07-01", Days(start=date(2026, 7, 1))),
        ("until july 1", Days(end=date(2026, 7, 1))),
        ("last week", Days(start=date(2026, 7, 29))),
        ("the last ten days", Days(start=date(2026, 7, 26))),
        ("2026-02-31", None),
        ("cage four", None),
    ],
)
def test_the_days_of_a_sentence(text, days):
    assert mentioned(text, TODAY) == days


# Turns and the buffer


def test_two_loud_frames_begin_a_turn_and_the_set_silence_ends_it():
    detector = TurnDetector(Detection(silence_duration_ms=500))
    assert edges(detector, (LOUD, 1), (QUIET, 3), (LOUD, 1)) == []
    assert edges(detector, (LOUD, 1)) == [Edge.STARTED]
    assert edges(detector, (QUIET, 6)) == []
    assert edges(detector, (QUIET, 1)) == [Edge.PAUSED]
    assert edges(detector, (LOUD, 1)) == [Edge.RESUMED]
    assert edges(detector, (QUIET, 16)) == [Edge.PAUSED, Edge.STOPPED]
    assert not detector.speaking


def test_a_voice_that_never_stops_is_cut_at_the_longest_turn():
    detector = TurnDetector(Detection())
    frames = LONGEST_TURN_MS // pcm.FRAME_MS
    assert edges(detector, (LOUD, frames)) == [Edge.STARTED, Edge.STOPPED]


@given(st.lists(st.floats(0, 1), max_size=300))
def test_edges_always_come_in_turn(probabilities):
    detector = TurnDetector(Detection())
    speaking = paused = False
    for edge in edges(detector, *((probability, 1) for probability in probabilities)):
        assert (edge is Edge.STARTED) != speaking
        assert edge is not Edge.RESUMED or paused
        speaking = edge is not Edge.STOPPED
        paused = edge is Edge.PAUSED
    assert detector.speaking == speaking


@pytest.mark.parametrize("rate", pcm.RATES)
@pytest.mark.parametrize("piece", [7, 20, 333])
def test_a_turn_is_cut_out_the_same_however_the_sound_comes(rate, piece):
    sound = quiet(1000, rate) + tone(640, rate) + quiet(2000, rate)
    listener = Listener(lambda rate: LoudEar(), rate, Detection())
    size = pcm.byte_count(piece, rate)
    signals = [
        signal
        for start in range(0, len(sound), size)
        for signal in listener.append(sound[start : start + size])
    ]
    assert [type(signal) for signal in signals] == [Started, Paused, Stopped]
    started, paused, stopped = signals
    assert started.at_ms == 1000 // 32 * 32 - 300
    assert stopped.utterance.item_id == started.item_id
    length = pcm.duration_ms(len(stopped.utterance.pcm), rate)
    assert started.at_ms + length == stopped.utterance.end_ms
    assert stopped.utterance.pcm.startswith(paused.utterance.pcm)
    assert tone(640, rate) in stopped.utterance.pcm


def test_a_turn_does_not_begin_before_the_one_before_it_ended():
    listener = Listener(
        lambda rate: LoudEar(), 24000, Detection(prefix_padding_ms=2000, silence_duration_ms=100)
    )
    signals = list(listener.append((tone(320) + quiet(200)) * 2))
    ends = [signal.utterance.end_ms for signal in signals if isinstance(signal, Stopped)]
    starts = [signal.at_ms for signal in signals if isinstance(signal, Started)]
    assert len(starts) == len(ends) == 2
    assert starts[1] >= ends[0]


def test_the_buffer_keeps_no_more_silence_than_a_turn_may_begin_with():
    listener = Listener(lambda rate: LoudEar(), 24000, Detection())
    assert list(listener.append(quiet(30_000))) == []
    assert pcm.duration_ms(len(listener.commit().pcm), 24000) < 500


def test_a_pause_that_ends_is_told():
    listener = Listener(lambda rate: LoudEar(), 24000, Detection())
    signals = list(listener.append(tone(320) + quiet(320) + tone(320)))
    assert [type(signal) for signal in signals] == [Started, Paused, Resumed]


def test_settings_that_change_during_a_turn_leave_it_going():
    listener = Listener(lambda rate: LoudEar(), 24000, Detection())
    (started,) = listener.append(tone(320))
    listener.configure(24000, Detection(silence_duration_ms=200))
    (stopped,) = listener.append(quiet(320))
    assert stopped.utterance.item_id == started.item_id


def test_a_turn_that_becomes_manual_is_committed_whole_by_the_client():
    listener = Listener(lambda rate: LoudEar(), 24000, Detection())
    (started,) = listener.append(quiet(320) + tone(320))
    listener.configure(24000, None)
    assert list(listener.append(tone(320))) == []
    utterance = listener.commit()
    assert utterance.item_id == started.item_id
    assert tone(320) + tone(320) in utterance.pcm


# One response


def spoken_response(conversation=None):
    return Response(ResponseShape("audio", "a note", 24000), conversation)


STEPS = ("begin", "open_message", "words", "sound", "words", "sound", "close_message")


@pytest.mark.parametrize("length", range(1, len(STEPS) + 1))
def test_a_response_that_is_cut_anywhere_closes_all_that_it_opened(length):
    response = spoken_response(Conversation())
    arguments = {"words": (" some words",), "sound": (tone(100),)}
    events = [event for step in STEPS[:length] for event in getattr(response, step)(*arguments.get(step, ()))]
    events += response.finish("cancelled", reason="turn_detected")
    found = [event["type"] for event in events]
    for opening, closing in [
        ("response.created", "response.done"),
        ("response.output_item.added", "response.output_item.done"),
        ("conversation.item.added", "conversation.item.done"),
        ("response.content_part.added", "response.content_part.done"),
    ]:
        assert found.count(opening) == found.count(closing)
    text = "".join(event["delta"] for event in events if event["type"].endswith("transcript.delta"))
    for item in events[-1]["response"]["output"]:
        assert item["content"][0]["transcript"] == text
        assert item["status"] == ("completed" if length == len(STEPS) else "incomplete")


def test_a_call_s_deltas_are_its_arguments():
    response = spoken_response()
    events = response.call(Call("get_report", {"request": {"center": "north center", "n": 1}}))
    (done,) = [event for event in events if event["type"].endswith("arguments.done")]
    deltas_sent = [event["delta"] for event in events if event["type"].endswith("arguments.delta")]
    assert "".join(deltas_sent) == done["arguments"] == '{"request": {"center": "north center", "n": 1}}'


def test_calls_of_one_response_have_their_own_places():
    response = spoken_response(Conversation())
    events = response.call(Call("a", {})) + response.call(Call("b", {})) + response.finish("completed")
    added = [event["output_index"] for event in events if event["type"] == "response.output_item.added"]
    assert added == [0, 1]
    assert [item["name"] for item in events[-1]["response"]["output"]] == ["a", "b"]
    assert kinds(events)[-1] == "response.done"


# The conversation


def test_items_can_be_put_first_last_and_between():
    conversation = Conversation()
    first, last, between, root = (message(text) for text in ("1", "2", "3", "4"))
    assert conversation.add(first) is None
    assert conversation.add(last) == first["id"]
    assert conversation.add(between, first["id"]) == first["id"]
    assert conversation.add(root, "root") is None
    assert conversation.items == [root, first, between, last]
    with pytest.raises(Refused):
        conversation.add(message(), "nowhere")
    with pytest.raises(Refused):
        conversation.add(first)


def test_a_long_conversation_forgets_its_beginning():
    conversation = Conversation()
    items = [message(str(number)) for number in range(MOST_ITEMS + 3)]
    for item in items:
        conversation.add(item)
    assert conversation.items == items[3:]


def test_only_an_assistant_s_sound_can_be_truncated():
    conversation = Conversation()
    item = message()
    conversation.add(item)
    with pytest.raises(Refused):
        conversation.truncate(item["id"], 0, 0)


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"type": "message", "role": "user", "content": []},
        {"type": "message", "role": "robot", "content": [{"type": "input_text", "text": "x"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "input_text", "text": "x"}]},
        {"type": "function_call", "name": "x"},
        {"type": "function_call_output", "output": "x"},
        {"type": "message", "id": "x" * 33, "role": "user", "content": [{"type": "input_text", "text": "x"}]},
    ],
)
def test_a_malformed_item_is_refused(item):
    with pytest.raises(Refused) as refused:
        accepted(item)
    assert refused.value.param.startswith("item")


def test_a_restored_call_keeps_its_ids():
    item = accepted(
        {"type": "function_call", "id": "i", "call_id": "c", "name": "x", "arguments": "{}", "extra": 1}
    )
    assert item == {
        "id": "i",
        "object": "realtime.item",
        "type": "function_call",
        "status": "completed",
        "name": "x",
        "call_id": "c",
        "arguments": "{}",
    }


# Settings, text, sound


def updated(**session):
    update = checked(SessionUpdate, {"session": {"type": "realtime", **session}})
    return merged(Settings(instructions="Be kind."), update.session)


def test_a_semantic_detection_becomes_a_silence_of_fitting_length():
    settings = updated(audio={"input": {"turn_detection": {"type": "semantic_vad", "eagerness": "low"}}})
    assert settings.detection.type == "server_vad"
    assert settings.detection.silence_duration_ms == 1000
    assert settings.instructions == "Be kind."


def test_turn_detection_can_be_switched_off_and_on_again():
    assert updated(audio={"input": {"turn_detection": None}}).detection is None
    assert updated(audio={"input": {}}).detection is not None


def test_every_client_event_of_ga_that_a_relay_sends_is_known():
    assert len(KINDS) == 10
    assert all(kind.count(".") >= 1 for kind in KINDS)


@given(st.text())
def test_pieces_joined_are_the_text(text):
    assert "".join(sentences(text)) == text
    assert "".join(deltas(text)) == text


def test_a_run_of_characters_without_blanks_is_cut_into_pieces():
    marker = '<<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS={"request":{"report_id":"rep-east-074"}}>>>'
    assert len(sentences(marker)) > 3
    assert max(map(len, deltas(marker))) <= 12


@pytest.mark.parametrize(
    ("rate", "to_rate"), [(22050, 24000), (24000, 16000), (16000, 24000), (24000, 24000)]
)
def test_stretched_sound_keeps_its_length_and_loudness(rate, to_rate):
    sound = pcm.tone(200, 500, rate)
    stretched = pcm.stretched(sound, rate, to_rate)
    assert pcm.duration_ms(len(stretched), to_rate) == pytest.approx(500, abs=1)
    assert pcm.loudness(stretched) == pytest.approx(pcm.loudness(sound), rel=0.02)
    assert pcm.stretched(b"", rate, to_rate) == b""


async def test_a_client_that_never_reads_overruns_its_outbox():
    outbox = Outbox(send=None)
    outbox.put(*({"type": "piece"} for _ in range(4000)))
    with pytest.raises(Overrun):
        outbox.put({"type": "one too many"})
