"""What is said or written while a sheet is open: words decline it, noise does not."""

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.tests.core_play import (
    R,
    assert_answered,
    assert_asked,
    assert_call_closed,
    assert_no_tool_ran,
    assert_not_asked,
    assert_tool_ran,
    assert_turn_ended,
)
from conversations.tests.core_sheets import DELETE, AskingPlay, a_sheet, asking
from conversations.tests.speech_dialects import BARE, PIPELINES, SENTENCES

pytestmark = pytest.mark.every_dialect


@pytest.mark.parametrize("text", ["Yes, do it.", "Yes.", "No, wait."])
def test_words_over_a_sheet_decline_it_whatever_they_say(text):
    play, sheet = a_sheet()
    play.begins_to_speak()
    play.stops_speaking()
    assert play.withdrawn == []
    play.is_understood(text)
    assert play.withdrawn == [(sheet["nonce"], "declined")]
    assert_answered(play, "call_1", "confirmation_declined")
    assert_no_tool_ran(play)
    assert_not_asked(play)
    assert [end.outcome for end in play.ended_turns] == ["interrupted"]
    play.responds("All right, I leave it.")
    assert "All right" in play.words
    assert_turn_ended(play, "done", caller_text=text, heard_text="All right, I leave it.")
    play.taps(sheet)
    assert_no_tool_ran(play)


def test_noise_over_a_sheet_changes_nothing():
    play, sheet = a_sheet()
    play.says("", "noise_1")
    play.begins_to_speak("noise_2")
    play.stops_speaking("noise_2")
    play.service(
        {"type": "conversation.item.input_audio_transcription.failed", "item_id": "noise_2", "error": {}}
    )
    assert play.withdrawn == []
    play.taps(sheet)
    assert_tool_ran(play, DELETE)


def test_noise_that_the_service_answers_by_itself_is_not_answered():
    play, sheet = a_sheet()
    play.begins_to_speak()
    play.stops_speaking()
    play.begins_response("hm")
    play.writes("hm", "Yes?")
    assert [one.response_id for one in play.of(fx.CancelResponse)] == ["hm"]
    play.ends_response("hm", "cancelled")
    play.is_understood("")
    assert play.words == ""
    assert play.withdrawn == []
    assert_not_asked(play)
    play.taps(sheet)
    assert_tool_ran(play, DELETE)


@pytest.mark.except_in("s2s-2026-08a", *SENTENCES, because="these services announce no answers")
def test_words_that_are_known_after_their_answer_began_are_answered_all_the_same():
    play, sheet = a_sheet()
    play.begins_to_speak()
    play.stops_speaking()
    play.begins_response("early")
    play.is_understood("No, rather item eight.")
    assert play.withdrawn == [(sheet["nonce"], "declined")]
    play.acknowledges()
    play.ends_response("early", "cancelled")
    assert_asked(play)
    play.responds("Item eight, then.")
    assert_turn_ended(play, "done", caller_text="No, rather item eight.", heard_text="Item eight, then.")


@pytest.mark.except_in(*BARE, because="these services tell no commits")
def test_an_answer_asked_for_by_hand_waits_for_the_words():
    play, sheet = a_sheet()
    play.service({"type": "input_audio_buffer.committed", "item_id": "u", "previous_item_id": None})
    play.happens(e.CreateAsked({"output_modalities": ["text"]}))
    assert_not_asked(play)
    play.is_understood("Stop that.", "u")
    assert play.withdrawn == [(sheet["nonce"], "declined")]
    assert [one.options for one in play.asked] == [{"output_modalities": ["text"]}]


def test_the_transcript_that_led_to_the_sheet_may_come_after_it():
    play = AskingPlay()
    play.begins_to_speak()
    play.stops_speaking()
    play.begins_response(R)
    sheet = play.picks_deletion()
    play.is_understood("Delete item seven.")
    assert play.withdrawn == []
    play.taps(sheet)
    assert_tool_ran(play, DELETE)


@pytest.mark.except_in(*PIPELINES, because="these services silence themselves")
def test_speech_over_a_sheet_silences_the_answer_that_is_still_being_read():
    play = asking()
    play.writes(R, "Please tap yes.", item_id="words")
    sheet = play.picks_deletion()
    play.look_away()
    play.begins_to_speak()
    play.sounds(R, item_id="words")
    assert [one.response_id for one in play.of(fx.CancelResponse)] == [R]
    assert play.sound_pieces == 0
    play.ends_response(R, "cancelled")
    play.says("", "noise")
    assert play.withdrawn == []
    play.taps(sheet)
    assert_tool_ran(play, DELETE)


def test_a_service_that_stops_itself_for_noise_takes_no_sheet_away():
    play = asking()
    play.writes(R, "Please tap yes.", item_id="words")
    sheet = play.picks_deletion()
    play.ends_response(R, "cancelled", code="turn_detected")
    play.begins_to_speak()
    assert play.withdrawn == []
    play.taps(sheet)
    assert_tool_ran(play, DELETE)


def test_a_typed_message_declines_too():
    play, sheet = a_sheet()
    play.types("No, rather item eight.")
    assert play.withdrawn == [(sheet["nonce"], "declined")]
    assert_answered(play, "call_1", "confirmation_declined")
    assert "instead of tapping" in play.outputs[0][1]
    assert_asked(play)
    assert_call_closed(play, "failed", "confirmation_declined")
