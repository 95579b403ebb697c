"""What a service may make a call hold, and for how long: nothing grows with what it says."""

import json

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core import responses
from conversations.core.gate import MOST_ITEMS, MOST_TEXT
from conversations.core.service import RESPONSES_A_TURN
from conversations.core.toolcalls import MOST_ANSWERED, MOST_CALLS
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    Play,
    R,
    a_question,
    an_answer,
    assert_apologised,
    assert_call_closed,
    assert_not_asked,
    assert_turn_ended,
    marker,
)
from conversations.tests.speech_dialects import PIPELINES, SENTENCES

pytestmark = pytest.mark.every_dialect


@pytest.fixture
def play():
    return a_question()


# ---- silence that looks like life


def announces_another(play, number):
    play.begins_response(f"empty_{number}")


def tells_of_an_item(play, number):
    item = ga.message(f"item_{number}", "", status="in_progress")
    play.service({"type": "response.output_item.added", "response_id": R, "output_index": 0, "item": item})


def sends_empty_sound(play, number):
    play.sounds(R, 0)


def writes_blanks(play, number):
    play.writes(R, " \n")


def ends_another(play, number):
    play.ends_response(f"unknown_{number}", "incomplete")


@pytest.mark.parametrize(
    "keeps_busy", [announces_another, tells_of_an_item, sends_empty_sound, writes_blanks, ends_another]
)
def test_only_what_a_caller_can_see_or_hear_sets_the_clock_of_silence_back(play, keeps_busy):
    play.writes(R, "Well.")
    play.look_away()
    for number in range(9):
        play.wait(5)
        if play.told:
            break
        keeps_busy(play, number)
    assert number == 3, "after 20 seconds"
    assert_turn_ended(play, "failed", "no_answer")
    assert_apologised(play, "no_answer")


def test_the_clock_of_silence_begins_when_an_answer_is_asked_for():
    play = Play()
    play.types("For your information.", ask=False)
    play.wait(60)
    play.happens(e.CreateAsked())
    play.wait(19)
    assert play.told == []
    play.wait(2)
    assert_apologised(play, "no_answer")


@pytest.mark.parametrize("text", [None, "not transcribed"])
def test_speech_that_is_neither_transcribed_nor_answered_ends_in_one_apology(text):
    play = Play()
    play.begins_to_speak()
    play.stops_speaking()
    if text is None:
        play.is_understood(None)
    play.wait(19)
    assert play.told == []
    play.wait(60)
    assert_apologised(play, "no_answer")
    assert [turn.origin for turn in play.rows.turns.values()] == ["voice"]
    play.says("Hello?", "u2")
    play.responds("Yes?")
    assert_turn_ended(play, "done", caller_text="Hello?")


@pytest.mark.parametrize("is_told_why", [True, False])
def test_noise_that_nobody_answers_puts_the_apology_off_for_a_while_and_no_longer(is_told_why):
    play = Play()
    play.types("Hello?")
    since = play.now
    for number in range(20):
        play.wait(15)
        if play.told:
            break
        play.begins_to_speak(f"u{number}")
        play.stops_speaking(f"u{number}")
        if is_told_why:
            play.is_understood(None, f"u{number}")
    assert play.now - since <= 100
    assert_apologised(play, "no_answer")
    play.look_away().begins_to_speak("last")
    play.stops_speaking("last")
    play.wait(19)
    assert play.told == [], "it begins anew"
    play.wait(2)
    assert_apologised(play, "no_answer")


def test_noise_from_before_an_answer_counts_no_more():
    play = Play()
    for number in range(6):
        play.begins_to_speak(f"noise_{number}")
        play.stops_speaking(f"noise_{number}")
        play.wait(3)
    play.says("Hello?", "words")
    play.responds("Yes?")
    play.wait(60)
    play.begins_to_speak("noise")
    play.stops_speaking("noise")
    play.wait(19)
    assert play.told == []


def test_a_caller_who_is_understood_each_time_has_the_whole_time_for_each():
    play = Play()
    for number in range(20):
        play.says("And one more thing.", f"u{number}")
        play.wait(15)
    assert play.told == []


@pytest.mark.except_in("s2s-2026-08a", *SENTENCES, because="these services announce no answers")
def test_speech_that_is_answered_before_it_is_transcribed_needs_no_apology():
    play = Play()
    play.begins_to_speak()
    play.stops_speaking()
    play.wait(15)
    play.begins_response(R)
    play.wait(15)
    play.writes(R, "Yes?")
    play.ends_response(R)
    play.wait(60)
    assert play.told == []


# ---- memory


def test_a_response_that_does_not_end_is_cut_off_with_an_apology(play):
    for _ in range(MOST_TEXT // 1_000 + 1):
        play.writes(R, "blah " * 200)
    assert_turn_ended(play, "failed", "too_long")
    assert_apologised(play, "response_failed")
    assert play.of(fx.CancelResponse) == [fx.CancelResponse(R)]


@pytest.mark.except_in(*SENTENCES, because="these services tell whole sentences")
@pytest.mark.parametrize("begun", ["", "<think>"])
def test_text_in_endless_crumbs_is_cut_off_too(play, begun):
    play.writes(R, begun)
    for _ in range(MOST_TEXT // 16):
        play.writes(R, "x")
    assert_turn_ended(play, "failed", "too_long")


@pytest.mark.except_in(*SENTENCES, because="these services have one item an answer")
def test_items_without_end_are_cut_off(play):
    for number in range(MOST_ITEMS + 9):
        play.writes(R, "x", item_id=f"item_{number}")
        play.sounds(R, 1, item_id=f"item_{number}")
    assert_turn_ended(play, "failed", "too_long")


def test_one_item_in_responses_without_end_is_cut_off(play):
    for number in range(RESPONSES_A_TURN + 1):
        play.begins_response(f"r{number}")
        play.writes(f"r{number}", "Again. ", item_id="the_same")
        if play.told:
            break
    assert_turn_ended(play, "failed", "too_many_responses")
    assert_apologised(play, "response_failed")


@pytest.mark.except_in("s2s-2026-08a", *SENTENCES, because="these services announce no answers")
def test_responses_at_once_are_bounded_and_those_too_many_are_cancelled_by_id(monkeypatch):
    monkeypatch.setattr(responses, "MOST_RUNNING", 3)
    play = a_question()
    for number in range(2, 9):
        play.begins_response(f"r{number}")
    assert [one.response_id for one in play.of(fx.CancelResponse)] == [f"r{n}" for n in range(4, 9)]
    play.writes("r8", "Unheard.")
    assert play.words == ""


# ---- calls without end


@pytest.mark.except_in(*PIPELINES, because="an answer of these services ends before the interruption")
def test_calls_beyond_those_with_a_row_are_answered_and_counted_once_even_if_interrupted(play):
    for number in range(MOST_CALLS + 3):
        play.picks(R, arguments=f'{{"n":{number}}}', call_id=f"c{number}")
    play.begins_to_speak()
    assert len(play.outputs) == MOST_CALLS + 3
    assert len({call_id for call_id, _ in play.outputs}) == MOST_CALLS + 3
    assert len(play.rows.calls) == MOST_CALLS + 1
    assert_call_closed(play, "failed", "call_limit", name="")
    play.picks(R, arguments="{}", call_id="one more")
    play.ends_response(R, "cancelled")
    assert len(play.rows.calls) == MOST_CALLS + 2, "counted anew in a row of its own"


def test_even_answers_to_calls_without_end_are_bounded(play):
    for number in range(MOST_ANSWERED + 50):
        play.picks(R, arguments=f'{{"n":{number}}}', call_id=f"c{number}")
    play.ends_response(R)
    while play.running:
        play.tool_ends()
    assert len(play.outputs) == MOST_ANSWERED
    assert "call_limit" in json.dumps(play.outputs[-1])


def test_the_calls_of_the_next_response_are_counted_from_the_beginning(play):
    for number in range(MOST_CALLS + 3):
        play.picks(R, arguments=f'{{"n":{number}}}', call_id=f"c{number}")
    play.begins_to_speak()
    play.ends_response(R, "cancelled")
    play.stops_speaking()
    play.look_away()
    play.is_understood("And now?")
    play.begins_response("second")
    play.picks("second", call_id="fresh")
    assert len(play.running) == 7


# ---- a credential that is no longer valid


@pytest.mark.parametrize("by_marker", [True, False])
def test_after_a_refused_credential_the_model_does_not_begin_to_speak(play, by_marker):
    if by_marker:
        play.writes(R, marker())
    else:
        play.picks(R, call_id="c1")
    play.tool_ends('{"error":{}}', "unauthorized")
    play.ends_response(R, "cancelled" if by_marker else "completed")
    assert_not_asked(play)
    assert play.failures == [("get_report", "unauthorized")]
    assert_turn_ended(play, "failed", "unauthorized")
    assert by_marker or [call_id for call_id, _ in play.outputs] == ["c1"]


def test_a_response_that_speaks_on_over_a_refused_credential_is_cancelled():
    play = an_answer()
    play.picks(R, call_id="c1")
    play.tool_ends('{"error":{}}', "unauthorized")
    assert play.of(fx.CancelResponse) == [fx.CancelResponse(R)]
    play.look_away().sounds(R)
    assert play.seen == []
