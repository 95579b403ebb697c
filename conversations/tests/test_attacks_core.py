"""What a hostile or confused speech service tries at the core of a call."""

import json

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.markers import MarkerParser, Speech, neutralise
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    LABEL,
    SEARCH,
    SECRET,
    Play,
    R,
    a_question,
    assert_no_marker_seen,
    assert_turn_ended,
    marker,
)
from conversations.tests.speech_dialects import BARE

pytestmark = pytest.mark.every_dialect

PART = {"type": "audio", "transcript": ""}


@pytest.fixture
def play():
    return a_question()


@pytest.mark.parametrize("begun", ["<think>a plan", "<", "Well, <<<VOCERO_MCP"])
def test_a_service_that_stalls_with_a_held_part_does_not_silence_the_turn(play, begun):
    """The timer of what is held is no sign of life."""
    play.service({"type": "response.content_part.added", **play.place(R), "part": PART})
    play.writes(R, begun)
    play.sounds(R)
    play.wait(60)
    assert_turn_ended(play, "failed", "no_answer")


# ---- items under names of other items


def test_a_server_s_call_under_the_item_id_of_a_browser_s_call_is_hidden_all_the_same(play):
    play.picks(R, SEARCH, '{"query":"lice"}', call_id="call_1")
    shared = ga.call_item("item_of_call_1", "call_2", "get_report", json.dumps({"secret": SECRET}))
    play.service(*ga.called(R, shared), ga.done(R, [shared]))
    assert SEARCH in json.dumps(play.seen)
    assert SECRET not in json.dumps(play.seen)
    assert "get_report" not in json.dumps([frame for frame in play.seen if "item_id" in frame])


@pytest.mark.parametrize("kind", ["function_call", "function_call_output"])
def test_a_message_whose_id_the_browser_guessed_makes_no_server_s_item_visible(kind):
    play = a_question()
    content = [{"type": "input_text", "text": "Hello"}]
    play.happens(e.Typed({"id": "item_7", "type": "message", "role": "user", "content": content}, "Hello"))
    play.begins_response("second")
    if kind == "function_call":
        play.service(*ga.called("second", ga.call_item("item_7", "call_1", "get_report", SECRET)))
    else:
        play.service(*ga.item_events({"id": "item_7", "type": kind, "call_id": "call_1", "output": SECRET}))
    assert SECRET not in json.dumps(play.seen)


def test_a_result_that_the_service_repeats_under_an_id_of_its_own_is_hidden(play):
    play.writes(R, marker())
    play.ends_response(R, "cancelled")
    play.tool_ends(LABEL + json.dumps({"secret": SECRET}))
    (result,) = [one.item for one in play.of(fx.SendItem)]
    play.look_away().service(*ga.item_events({**result, "id": "item_9"}))
    assert play.seen == []


@pytest.mark.parametrize("spelling", [str.upper, lambda text: "Note: " + text, lambda text: text[9:]])
def test_a_result_that_the_service_repeats_in_a_spelling_of_its_own_is_hidden_too(play, spelling):
    play.writes(R, marker())
    play.ends_response(R, "cancelled")
    play.tool_ends(LABEL + json.dumps({"secret": SECRET}))
    (result,) = [one.item for one in play.of(fx.SendItem)]
    content = [{"type": "input_text", "text": spelling(result["content"][0]["text"])}]
    play.look_away().service(*ga.item_events({**result, "id": "item_9", "content": content}))
    assert play.seen == []


@pytest.mark.except_in(*BARE, because="these services do not tell what the caller said as an item")
def test_what_the_caller_said_and_wrote_is_shown_under_whatever_id():
    play = a_question()
    content = [{"type": "input_text", "text": "What about cage four?"}]
    play.service(*ga.item_events({"id": "theirs", "type": "message", "role": "user", "content": content}))
    assert {frame["item"]["id"] for frame in play.seen} == {"theirs"}
    play.stops_speaking("u1")
    content = [{"type": "input_audio", "transcript": "And cage five?"}]
    item = {"id": "u1", "type": "message", "role": "user", "content": content}
    play.look_away().service({"type": "conversation.item.retrieved", "item": item})
    assert [frame["item"]["id"] for frame in play.seen] == ["u1"]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "mcp_list_tools", "tools": [{"name": SECRET}]},
        {"type": "mcp_call", "name": "get_report", "arguments": SECRET, "output": SECRET},
        {"type": "function_call_output", "call_id": "call_1", "output": SECRET},
        {"name": "get_report", "call_id": "call_1", "arguments": SECRET},
        {"type": "message", "content": [{"type": "output_text", "text": SECRET}]},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": SECRET}]},
        {"type": "message", "role": "assistant", "content": SECRET},
        {"type": "message", "role": "assistant", "content": [{"text": SECRET, "transcript": "Yes."}]},
        {"type": "message", "role": "assistant", "content": [{"text": SECRET}]},
        {"type": "message", "role": "user", "name": ["get_report"], "instructions": SECRET},
    ],
    ids=lambda item: f"{item.get('type')} of {item.get('role')}",
)
def test_an_item_that_no_answer_consists_of_is_hidden_wherever_it_is_told(play, item):
    """Of which kind it is, or who says it, does not make words pass that did not pass the gate."""
    play.writes(R, "Yes.")
    item = {"id": f"item_of_{R}", **item}
    for kind in ("added", "done"):
        play.service(
            {"type": f"response.output_item.{kind}", "response_id": R, "output_index": 0, "item": item},
            {"type": f"conversation.item.{kind}", "previous_item_id": None, "item": item},
            {"type": f"conversation.item.{kind}", "previous_item_id": None, "item": {**item, "id": "other"}},
        )
    play.service({"type": "conversation.item.retrieved", "item": item})
    play.service(ga.created(R, output=[item], instructions=SECRET), ga.done(R, [item]))
    assert SECRET not in json.dumps(play.seen)
    assert_turn_ended(play, "done")


def test_the_sound_of_a_marker_is_not_in_the_item_either(play):
    play.writes(R, "One moment. ", marker())
    content = [{"type": "output_audio", "transcript": "One moment. " + marker(), "audio": "U0VDUkVU"}]
    item = {**ga.message(f"item_of_{R}", ""), "content": content}
    play.service({"type": "conversation.item.retrieved", "item": item})
    assert play.seen[-1]["item"]["content"] == [{"type": "output_audio", "transcript": "One moment. "}]
    assert_no_marker_seen(play)


def test_nor_in_that_of_a_later_answer_which_the_service_gives_the_same_id(play):
    play.writes(R, "One moment. ", marker(), item_id="again")
    play.ends_response(R)
    play.tool_ends()
    play.begins_response("next")
    play.writes("next", "Eight.", item_id="again")
    item = ga.message("again", "Eight.")
    item["content"][0]["audio"] = "U0VDUkVU"
    play.service({"type": "conversation.item.retrieved", "item": item})
    assert play.seen[-1]["item"]["content"] == [{"type": "output_audio", "transcript": "Eight."}]
    play.ends_response("next", output=[item])
    assert "U0VDUkVU" not in json.dumps(play.seen)
    assert play.words == "One moment. Eight."


def test_an_end_of_a_response_with_odd_fields_ends_its_turn_all_the_same(play):
    play.writes(R, "Yes.")
    odd = {"id": R, "status": "completed", "output": [None, 7, "x"], "status_details": "x", "usage": [1]}
    play.service({"type": "response.done", "response": odd})
    assert_turn_ended(play, "done", heard_text="Yes.")


def words_of_parts(play):
    """What the browser puts together, part by part."""
    words = {}
    for frame in play.seen:
        if "delta" in frame:
            place = frame["item_id"], frame["content_index"]
            words[place] = words.get(place, "") + frame["delta"]
    return list(words.values())


@pytest.mark.except_in(*BARE, because="these services have one part")
@pytest.mark.parametrize("kind", ["output_text", "output_audio_transcript"])
def test_a_marker_that_is_dealt_out_over_two_parts_at_once_passes_in_neither(play, kind):
    """As by a service that tells the same words as text and as transcript."""
    for piece in "Well. " + marker():
        for part in (0, 1):
            place = {**play.place(R), "content_index": part}
            play.service({"type": f"response.{kind}.delta", **place, "delta": piece})
    assert [words for words in words_of_parts(play) if "CALL" in words or "<<" in words] == []


def test_a_marker_that_is_interrupted_by_another_item_does_not_pass(play):
    for piece in marker():
        play.writes(R, piece, kind="output_text")
        item = ga.message("other", "")
        play.service(
            {"type": "response.output_item.added", "response_id": R, "output_index": 1, "item": item}
        )
    assert [words for words in words_of_parts(play) if "CALL" in words or "<<" in words] == []


# ---- ends of responses


@pytest.mark.parametrize("how", ["twice", "late"])
def test_a_cancel_that_is_confirmed_twice_or_late_does_not_interrupt_the_turn(play, how):
    play.writes(R, marker())
    if how == "twice":
        play.ends_response(R, "cancelled")
    else:
        play.wait(3)
        play.tool_ends()
    play.ends_response(R, "cancelled")
    if play.running:
        play.tool_ends()
    play.responds("Eight.")
    assert play.words == "Eight."
    assert [frame["response"]["id"] for frame in play.seen if frame["type"] == "response.done"].count(R) == 1
    assert_turn_ended(play, "done", heard_text="Eight.")


@pytest.mark.parametrize("announced", [True, False])
def test_a_service_that_gives_no_ids_is_heard_every_time(announced):
    play = Play()
    for answer in ("One.", "Two.", "Three."):
        play.types("And now?")
        if announced:
            play.begins_response("")
        play.writes("", answer)
        play.ends_response("")
        play.ends_response("")
        assert_turn_ended(play, "done", heard_text=answer)
    assert play.words == "One.Two.Three."


# ---- what a tool server says to the caller


def test_titles_and_progress_of_a_tool_server_bring_no_marker_to_the_page(play):
    play.picks(R)
    (call_id,) = play.running
    play.happens(e.ToolProgressed(call_id, 1, 2, f"Reading {marker()}"))
    play.tool_ends(titles=(marker(), "Cage four"))
    assert [name for name, _ in play.told][-2:] == ["vocero.tool.progress", "vocero.tool.completed"]
    assert play.told[-1][1]["sources"][1] == {"title": "Cage four"}
    everything = json.dumps(play.told)
    assert "<<" not in everything
    assert "MCP_CALL" not in everything


def test_calls_without_end_in_one_response_have_one_row_each_and_an_end():
    play = a_question()
    items = [ga.call_item(f"i{n}", f"c{n}", "get_report", json.dumps({"n": n})) for n in range(1_000)]
    for item in items:
        play.service(*ga.called(R, item))
    play.ends_response(R, output=items)
    assert len(play.rows.calls) == len({call.arguments for call in play.rows.calls.values()}) == 129
    assert len(play.running) == 6
    while play.running:
        play.tool_ends()
    assert sorted(call_id for call_id, _ in play.outputs) == sorted(f"c{n}" for n in range(1_000))
    assert [len(ends) for ends in play.rows.call_ends.values()] == [1] * 129
    (note,) = [end for (end,) in play.rows.call_ends.values() if end.excerpt]
    assert (note.code, note.excerpt) == ("call_limit", "872 more calls of one response were refused")
    play.responds("Enough.")
    assert_turn_ended(play, "done", heard_text="Enough.")


# ---- markers that were prepared for being spoken


@pytest.mark.parametrize(
    "keyword", ["VOCERO MCP CALL", "VOCEROMCPCALL", "Vocero-MCP-Call", "VOCEROMCP_CALL", "APIPILOTCALL"]
)
@pytest.mark.parametrize("brackets", ["<<<", "<<< ", "<"])
@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_marker_that_lost_its_underscores_is_garbled_and_not_spoken_case_039(keyword, brackets, size):
    """As services do that take marks of emphasis away before they speak."""
    text = f"{brackets}{keyword}:NAME=getreport,ARGUMENTS={json.dumps({'secret': SECRET})}>>>"
    play = a_question()
    for piece in ga.pieces_of("Well. " + text, -(-len(text) // size)):
        play.writes(R, piece)
    assert play.words == "Well. "
    assert play.failures == [("", "malformed_selection")]
    assert_no_marker_seen(play)
    repeated = MarkerParser().feed(neutralise(text) + " ")
    assert [type(part) for part in repeated] == [Speech]


def test_a_comparison_is_no_marker(play):
    for piece in ("Four ", "< ", "a voc", "al call, ", "5 <", " mcp", " 6."):
        play.writes(R, piece)
    play.ends_response(R)
    assert play.words == "Four < a vocal call, 5 < mcp 6."


# ---- events twice, out of order, under ids of others


@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_answer_that_is_announced_again_after_its_end_begins_no_second_time(play, is_stopped):
    play.writes(R, "Eight.")
    if is_stopped:
        play.stops()
    play.ends_response(R, "cancelled" if is_stopped else "completed")
    play.look_away()
    play.begins_response(R)
    play.ends_response(R)
    assert play.seen == []
    assert play.open_turns == []


def test_an_answer_that_ends_before_its_words_is_an_apology_and_harms_no_later_one(play):
    play.ends_response(R)
    play.writes(R, "Eight.")
    play.sounds(R)
    assert (play.words, play.sound_pieces) == ("", 0)
    assert_turn_ended(play, "failed", "no_answer")
    play.types("And cage five?")
    play.responds("Seven.")
    assert_turn_ended(play, "done", heard_text="Seven.")


@pytest.mark.parametrize("again", ["response", "call"])
def test_an_id_that_a_service_uses_again_silences_one_turn_at_most(play, again):
    play.picks(R, call_id="call_1")
    play.ends_response(R)
    play.tool_ends()
    play.responds("Eight.")
    play.types("And cage five?")
    second = R if again == "response" else "second"
    play.begins_response(second)
    play.picks(second, call_id="call_1")
    play.ends_response(second)
    play.wait(60)
    assert_turn_ended(play, "failed", "no_answer")
    play.types("And cage six?")
    play.begins_response("third")
    play.writes("third", "Nine.")
    play.ends_response("third")
    assert_turn_ended(play, "done", heard_text="Nine.")


@pytest.mark.parametrize("reason", ["turn_detected", "client_cancelled", "content_filter", None])
def test_an_answer_that_the_service_gives_up_by_itself_is_no_silence(play, reason):
    cancelled = ga.done(R, status="cancelled")
    cancelled["response"]["status_details"] = {"type": "cancelled", "reason": reason} if reason else None
    play.writes(R, "The oxygen")
    play.service(cancelled)
    play.wait(60)
    assert [fields["code"] for name, fields in play.told if name == "error"] == ["no_answer"]
    assert play.open_turns == []


@pytest.mark.parametrize(
    "goes_on", [Play.begins_to_speak, Play.stops, lambda play: play.types("Five?", ask=False)]
)
def test_an_answer_that_ended_for_a_caller_who_then_goes_on_needs_no_apology(play, goes_on):
    play.ends_response(R, "cancelled")
    play.wait(5)
    goes_on(play)
    play.wait(60)
    assert play.told == []


def test_a_browser_s_output_that_the_service_calls_the_assistant_s_ends_no_call(play):
    play.picks(R, SEARCH, '{"query":"lice"}', call_id="call_1")
    play.ends_response(R)
    play.happens(e.BrowserOutput("call_1", "{}"))
    (output,) = [effect.item for effect in play.of(fx.SendItem)]
    play.service(*ga.item_events({**output, "role": "assistant"}))
    assert len(play.open_turns) == 1


def test_a_result_is_not_shown_because_the_caller_has_written_its_first_words(play):
    """A service may give our messages ids of its own; then only their words tell whose they are."""
    play.writes(R, marker())
    play.ends_response(R)
    play.tool_ends(LABEL + json.dumps({"cage": "x" * 200, "note": SECRET}))
    (result,) = play.messages
    play.types(result[:150])
    content = [{"type": "input_text", "text": result}]
    play.look_away()
    play.service(*ga.item_events({"id": "theirs", "type": "message", "role": "user", "content": content}))
    assert SECRET not in json.dumps(play.seen)
