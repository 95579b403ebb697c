"""What of a response passes, waits or is suppressed, as the browser sees it."""

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.gate import HELD_BYTES, Gate
from conversations.core.markers import MarkerParser
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    Play,
    R,
    a_question,
    assert_call_closed,
    assert_no_marker_seen,
    assert_no_tool_ran,
    assert_nothing_shown,
    assert_tool_ran,
    marker,
)
from conversations.tests.core_texts import pieces_of
from conversations.tests.speech_dialects import BARE, PIPELINES, SENTENCES

pytestmark = pytest.mark.every_dialect


@pytest.fixture
def play():
    return a_question()


def kinds(play):
    return [frame["type"].removeprefix("response.") for frame in play.seen]


def whole_texts(play):
    """The text of every `…done` frame, the response's end included."""
    found = []
    for frame in play.seen:
        contents = [frame.get("part"), *frame.get("item", {}).get("content", [])]
        contents += [part for item in frame.get("response", {}).get("output", []) for part in item["content"]]
        parts = [frame, *[part for part in contents if part]]
        found += [part[key] for part in parts for key in ("transcript", "text") if part.get(key)]
    return found


# ---- passing


@pytest.mark.except_in("beta", *PIPELINES, because="these frames are told in GA's words first")
@pytest.mark.parametrize("modality", ["audio", "text"])
def test_an_ordinary_answer_passes_frame_by_frame_untouched(modality):
    play = Play()
    play.types("Hello.")
    play.look_away()
    events = ga.response(ga.Says("It is warm. 2 < 3 is true.", pieces=4), play.numbers, modality)
    play.service(*events)
    assert play.seen == events


@pytest.mark.except_in(*SENTENCES, because="these services tell whole sentences")
def test_what_could_be_a_marker_waits_no_longer_than_it_could(play):
    play.writes(R, "Is 2 <", " 3? Yes.")
    assert [frame["delta"] for frame in play.seen if "delta" in frame] == ["Is 2 ", "< 3? Yes."]


def test_audio_waits_with_the_text_and_passes_after_it(play):
    play.writes(R, "Is 2 <")
    play.sounds(R)
    assert play.sound_pieces == 0
    play.writes(R, " 3?")
    assert kinds(play)[-2:] == ["output_audio_transcript.delta", "output_audio.delta"]


@pytest.mark.except_in(*SENTENCES, because="these services tell whole sentences")
def test_the_name_of_the_product_holds_no_audio_back(play):
    play.writes(R, "I am Vocero")
    play.sounds(R)
    assert play.sound_pieces == 1
    play.wrote(R, "I am Vocero")
    assert play.words == "I am Vocero"
    play.ends_response(R)
    assert play.rows.calls == {}


def test_audio_that_no_text_comes_with_passes_after_the_hold_limit(play):
    play.sounds(R)
    play.sounds(R)
    assert_nothing_shown(play)
    play.wait(1.1)
    assert play.sound_pieces == 2
    play.sounds(R)
    assert play.sound_pieces == 3


@pytest.mark.except_in(*BARE, because="these services announce no items")
def test_items_that_are_announced_long_before_they_speak_do_not_open_the_gate(play):
    item = ga.message(f"item_of_{R}", "", status="in_progress")
    play.service({"type": "response.output_item.added", "response_id": R, "output_index": 0, "item": item})
    play.wait(1.1)
    assert kinds(play) == ["output_item.added"]
    play.sounds(R)
    play.writes(R, marker())
    assert play.sound_pieces == 0
    assert_no_marker_seen(play)


@pytest.mark.except_in(*PIPELINES, because="these services' items are told in their place")
def test_audio_of_a_short_response_without_text_passes_at_its_end(play):
    play.sounds(R)
    play.ends_response(R)
    assert kinds(play) == ["output_audio.delta", "done"]


def test_what_is_held_is_bounded_in_bytes(play):
    pieces = 2 * HELD_BYTES // 64_000
    for _ in range(pieces):
        play.sounds(R, 1_000)
    assert play.sound_pieces >= pieces // 2


def test_what_is_held_behind_a_half_read_marker_is_bounded_and_dropped():
    gate = Gate(MarkerParser())
    gate.text(e.TextDelta(R, "i", 0, "<<<VOCERO_MCP_CALL:NAME=a", ""))
    frame = "x" * 60_000
    for number in range(40):
        gate.audio(e.AudioDelta(R, "i", 0, 1_000, frame))
        gate.structure(e.Structure(R, f"i{number}", frame))
    assert sum(len(event.frame) for event in gate._held) <= HELD_BYTES
    assert gate.spoken.audio_ms == {}


# ---- suppressing


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_narration_passes_and_the_marker_and_its_audio_do_not(play, size):
    play.writes(R, "Let me look. ")
    play.sounds(R)
    for piece in pieces_of(marker(), size):
        play.writes(R, piece)
        play.sounds(R)
    play.wrote(R, "Let me look. " + marker())
    assert play.words == "Let me look. "
    assert play.sound_pieces == 1
    assert_tool_ran(play, "get_report", {"request": {"report_id": "r1"}})
    assert play.sent == [fx.CancelResponse(R)]
    play.ends_response(R, "cancelled", [ga.message(f"item_of_{R}", "Let me look. " + marker())])
    assert_no_marker_seen(play)
    assert set(whole_texts(play)) == {"Let me look. "}


def test_a_response_that_is_only_a_marker_never_appears_but_for_its_beginning_and_end():
    play = Play()
    play.types("What about cage four?")
    play.look_away()
    play.service(*ga.response(ga.Says(marker(), pieces=9), play.numbers))
    assert kinds(play) == ["created", "vocero.tool.started", "done"]
    assert play.seen[-1]["response"]["output"] == []
    assert play.sound_pieces == 0


def test_what_follows_a_marker_never_appears_case_041(play):
    play.writes(R, "Checking. ", marker() + "\n", marker(), " Done.")
    play.sounds(R)
    assert play.words == "Checking. "
    assert play.sound_pieces == 0
    assert len(play.rows.calls) == 1


def test_what_follows_a_malformed_marker_never_appears_either_case_039(play):
    play.writes(R, "Checking. MCP_CALL: get_report {}\n", "Here it is.")
    play.sounds(R)
    play.wrote(R, "Checking. MCP_CALL: get_report {}\nHere it is.")
    assert play.words == "Checking. "
    assert play.sound_pieces == 0
    assert_no_tool_ran(play)
    assert_call_closed(play, "failed", "malformed_selection")


def test_an_unfinished_marker_at_the_end_is_dropped_and_counted_case_032(play):
    play.writes(R, "One moment. <<<VOCERO_MCP_CA")
    play.sounds(R)
    play.ends_response(R, "incomplete", [ga.message(f"item_of_{R}", "One moment. <<<VOCERO_MCP_CA")])
    assert play.words == "One moment. "
    assert_no_marker_seen(play)
    assert_no_tool_ran(play)
    assert_call_closed(play, "failed", "malformed_selection")


def test_audio_behind_a_half_read_marker_is_dropped_after_the_hold_limit(play):
    play.writes(R, "<<<VOCERO_MCP_CALL:NAME=")
    play.sounds(R)
    play.wait(1.1)
    play.sounds(R)
    play.writes(R, "get_report,ARGUMENTS={}>>>")
    play.ends_response(R)
    assert play.sound_pieces == 0
    assert_tool_ran(play)


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_thinking_never_passes_in_words_or_whole_texts_case_046(play, size):
    said = "<think>secret plan</think>The total is 5."
    for piece in pieces_of(said, size):
        play.writes(R, piece)
    play.wrote(R, said)
    play.service(
        {"type": "response.content_part.done", **play.place(R), "part": {"type": "audio", "transcript": said}}
    )
    play.ends_response(R, output=[ga.message(f"item_of_{R}", said)])
    assert play.words == "The total is 5."
    assert set(whole_texts(play)) == {"The total is 5."}


@pytest.mark.except_in(*SENTENCES, because="these tell a sentence first, and then its sound")
def test_sound_that_waits_behind_the_beginning_of_a_thought_is_dropped_with_it(play):
    play.writes(R, "<thi")
    play.sounds(R)
    play.writes(R, "nk>secret plan</think>The total is 5.")
    assert (play.words, play.sound_pieces) == ("The total is 5.", 0)
    play.sounds(R)
    assert play.sound_pieces == 1


@pytest.mark.except_in("beta", *PIPELINES, because="these frames are told in GA's words first")
def test_in_plain_mode_a_marker_is_text():
    play = Play(plain=True)
    play.types("Hello.")
    play.look_away()
    events = ga.response(ga.Says("<think>a</think> " + marker(), pieces=5), play.numbers)
    play.service(*events)
    assert play.seen == events
    assert_no_tool_ran(play)


# ---- whole texts


@pytest.mark.except_in(*PIPELINES, because="what these services tell whole is told in deltas")
def test_a_whole_text_without_deltas_is_read_and_shown_as_one(play):
    play.wrote(R, "It is warm.")
    assert kinds(play) == ["output_audio_transcript.delta", "output_audio_transcript.done"]
    assert play.words == "It is warm."


@pytest.mark.except_in(*PIPELINES, because="what these services tell whole is told in deltas")
def test_the_rest_that_no_delta_brought_is_read_from_the_whole_text(play):
    play.writes(R, "It is ")
    play.wrote(R, "It is " + marker())
    assert play.words == "It is "
    assert_tool_ran(play)
    assert_no_marker_seen(play)


@pytest.mark.except_in(*PIPELINES, because="what these services tell whole is told in deltas")
def test_sentences_told_one_by_one_are_each_read(play):
    play.wrote(R, "First.")
    play.wrote(R, " Second.")
    play.wrote(R, marker()[:30])
    play.wrote(R, marker()[30:])
    assert play.words == "First. Second."
    assert_tool_ran(play)
    assert_no_marker_seen(play)


@pytest.mark.parametrize("told", [marker(), "It is  warm.", "Something else. <<<MCP_CALL", ""])
def test_a_whole_text_that_is_not_what_the_deltas_said_is_shown_as_they_said_it(play, told):
    play.writes(R, "It is warm.")
    play.wrote(R, told)
    item = ga.message(f"item_of_{R}", told)
    play.service({"type": "response.output_item.done", "response_id": R, "output_index": 0, "item": item})
    play.ends_response(R, output=[item])
    assert play.words == "It is warm."
    assert set(whole_texts(play)) <= {"It is warm."}
    assert_no_marker_seen(play)


def test_text_that_only_the_end_of_a_response_tells_is_not_shown_unread(play):
    play.ends_response(R, output=[ga.message("item_9", marker())])
    assert_no_marker_seen(play)


@pytest.mark.except_in(*PIPELINES, because="these services' items are told in their place")
def test_what_is_held_of_a_part_is_shown_before_that_part_is_done(play):
    play.writes(R, "Is 2 <", item_id="item_a")
    play.wrote(R, "Is 2 <", item_id="item_a")
    play.writes(R, " 3?", item_id="item_b")
    assert [(f["item_id"], f.get("delta", f.get("transcript"))) for f in play.seen] == [
        ("item_a", "Is 2 "),
        ("item_a", "<"),
        ("item_a", "Is 2 <"),
        ("item_b", " 3?"),
    ]


@pytest.mark.except_in(*SENTENCES, because="these services have one item an answer")
def test_a_marker_never_spans_two_items(play):
    play.writes(R, "<<<VOCERO_MCP_CALL:NAME=get_report,", item_id="item_a")
    play.writes(R, "ARGUMENTS={}>>>", item_id="item_b")
    assert_no_tool_ran(play)
    assert_call_closed(play, "failed", "malformed_selection")
    assert_no_marker_seen(play)


@pytest.mark.except_in(*SENTENCES, because="these services tell whole sentences")
def test_nothing_of_a_response_passes_after_its_end(play):
    play.writes(R, "Yes.")
    play.ends_response(R)
    play.look_away()
    play.writes(R, "No.")
    play.sounds(R)
    assert_nothing_shown(play)


def test_nothing_of_a_superseded_response_passes(play):
    play.writes(R, "It is <")
    play.sounds(R)
    play.begins_to_speak()
    play.look_away()
    play.writes(R, " warm.")
    play.sounds(R)
    play.wrote(R, "It is < warm.")
    play.wait(1.5)
    assert_nothing_shown(play)
