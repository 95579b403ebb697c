"""A turn from its beginning to its one end: spoken, typed, talked over, stopped."""

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    LABEL,
    Play,
    R,
    an_answer,
    assert_answered,
    assert_asked,
    assert_call_closed,
    assert_not_asked,
    assert_nothing_sent,
    assert_nothing_shown,
    assert_turn_ended,
    marker,
)
from conversations.tests.speech_dialects import BARE

pytestmark = pytest.mark.every_dialect


@pytest.fixture
def play():
    return Play()


@pytest.fixture
def answering():
    return an_answer()


def outcomes(play):
    return [(end.outcome, end.caller_text, end.heard_text) for end in play.ended_turns]


# ---- one turn


def test_a_spoken_question_is_one_turn(play):
    play.says("What about cage four?")
    play.responds("Eight.")
    assert outcomes(play) == [("done", "What about cage four?", "Eight.")]
    assert_nothing_sent(play)
    (opened,), (end,) = play.rows.turns.values(), play.ended_turns
    assert (opened.origin, opened.index) == ("voice", 1)
    assert opened.at < end.caller_done_at < end.answered_at < end.at


def test_a_typed_question_is_one_turn(play):
    play.types(" And cage five? ")
    assert_asked(play)
    play.responds("Seven.")
    assert outcomes(play) == [("done", "And cage five?", "Seven.")]
    assert next(iter(play.rows.turns.values())).origin == "text"


def test_a_typed_item_without_an_id_gets_one_and_is_shown_when_the_service_repeats_it(play):
    play.types("Hello.")
    (item,) = play.of(fx.SendItem)
    play.acknowledges(item)
    assert [frame["item"]["id"] for frame in play.seen if "item" in frame] == [item.item["id"]] * 2


def test_a_turn_that_narrates_calls_and_reports_is_heard_as_a_whole(play):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report", narration="Let me look."))
    play.tool_ends()
    play.responds("Eight.")
    assert outcomes(play) == [("done", "What about cage four?", "Let me look. Eight.")]


def test_the_browser_can_ask_for_an_answer_where_the_service_gives_none_by_itself(play):
    play.says("Hello.")
    play.happens(e.CreateAsked({"max_output_tokens": 9}), e.CreateAsked())
    assert_asked(play)
    assert play.asked[0].options == {"max_output_tokens": 9}
    play.responds("Hello.")
    assert [turn.origin for turn in play.rows.turns.values()] == ["voice"]
    assert play.open_turns == []


def test_the_browser_can_ask_for_a_greeting(play):
    play.happens(e.CreateAsked())
    play.responds("Good morning.")
    assert outcomes(play) == [("done", "", "Good morning.")]


@pytest.mark.except_in(*BARE, because="these services tell no commits")
def test_speech_that_is_committed_by_hand_is_a_turn_and_ends_what_runs(answering):
    answering.service({"type": "input_audio_buffer.committed", "item_id": "u1", "previous_item_id": None})
    assert answering.of(fx.CancelResponse) == [fx.CancelResponse(R)]
    answering.ends_response(R, "cancelled")
    answering.happens(e.CreateAsked())
    assert_asked(answering)
    answering.is_understood("And cage five?", "u1")
    answering.responds("Seven.")
    assert_turn_ended(answering, "done", caller_text="And cage five?", heard_text="Seven.")
    assert [turn.origin for turn in answering.rows.turns.values()] == ["text", "voice"]


def test_an_answer_that_begins_without_being_announced_is_heard_all_the_same(play):
    play.says("Hello.")
    play.writes("r9", "Yes?")
    play.ends_response("r9")
    assert_turn_ended(play, "done", heard_text="Yes?")


# ---- transcripts that come late


def test_a_transcript_that_comes_after_the_answer_began_belongs_to_it(play):
    play.begins_to_speak()
    play.stops_speaking()
    play.begins_response(R)
    play.is_understood("Hello.")
    play.writes(R, "Yes?")
    play.ends_response(R)
    assert outcomes(play) == [("done", "Hello.", "Yes?")]


def test_a_transcript_that_comes_after_the_turn_ended_belongs_to_it(play):
    play.begins_to_speak()
    play.stops_speaking()
    play.responds("Yes?")
    play.is_understood("Hello.")
    assert outcomes(play) == [("done", "Hello.", "Yes?")]
    play.wait(60)
    assert len(play.rows.turns) == 1
    assert play.told == []


def test_a_late_transcript_of_an_interrupted_utterance_opens_no_turn(play):
    play.begins_to_speak("u1")
    play.stops_speaking("u1")
    play.begins_response(R)
    play.begins_to_speak("u2")
    play.is_understood("List the", "u1")
    play.ends_response(R, "cancelled")
    play.stops_speaking("u2")
    play.begins_response("second")
    play.writes("second", "Two reports.")
    play.is_understood("List the reports", "u2")
    play.ends_response("second")
    assert outcomes(play) == [("interrupted", "List the", ""), ("done", "List the reports", "Two reports.")]
    play.wait(60)
    assert play.told == []


def test_words_that_were_talked_over_before_any_answer_are_kept(play):
    play.begins_to_speak("u1")
    play.stops_speaking("u1")
    play.begins_to_speak("u2")
    play.is_understood("List the", "u1")
    play.stops_speaking("u2")
    play.is_understood("reports", "u2")
    play.responds("Two reports.")
    assert outcomes(play) == [("interrupted", "List the", ""), ("done", "reports", "Two reports.")]


def test_a_service_that_names_no_utterance_is_understood_too(play):
    for number in (1, 2):
        play.service({"type": "input_audio_buffer.speech_started"})
        play.service({"type": "input_audio_buffer.speech_stopped"})
        play.is_understood(f"Question {number}", f"item_{number}")
        play.responds(f"Answer {number}")
    assert outcomes(play) == [("done", f"Question {n}", f"Answer {n}") for n in (1, 2)]


def test_a_service_that_tells_only_transcripts_is_understood_too(play):
    play.responds("Answer 1")
    play.is_understood("Question 1", "item_1")
    play.is_understood("Question 2", "item_2")
    play.responds("Answer 2")
    play.is_understood("Question 3", "item_3")
    play.is_understood("Question 4", "item_4")
    play.responds("Answer 4")
    assert outcomes(play) == [
        ("done", "Question 1", "Answer 1"),
        ("done", "Question 2", "Answer 2"),
        ("interrupted", "Question 3", ""),
        ("done", "Question 4", "Answer 4"),
    ]


@pytest.mark.parametrize("text", ["", "  "])
def test_noise_is_no_turn_and_no_apology(play, text):
    play.says(text)
    play.wait(60)
    assert play.rows.turns == {}
    assert play.told == []
    play.types("Hello.")
    play.responds("Yes?")
    assert outcomes(play) == [("done", "Hello.", "Yes?")]


def test_the_answer_to_a_greeting_does_not_begin_with_the_noise_before_it(play):
    play.says("")
    play.wait(30)
    play.happens(e.CreateAsked())
    (opened,) = play.rows.turns.values()
    assert opened.at == pytest.approx(play.now, abs=1)


# ---- the caller goes on


def test_noise_over_an_answer_ends_it_cleanly_case_019(answering):
    answering.begins_to_speak()
    answering.ends_response(R, "cancelled")
    answering.stops_speaking()
    answering.is_understood("")
    answering.wait(60)
    assert_turn_ended(answering, "interrupted", heard_text="The oxygen is eight.")
    assert_not_asked(answering)
    assert answering.told == []


def test_a_typed_message_over_an_answer_is_asked_once_after_its_end_case_001(answering):
    answering.types("And cage five?")
    assert answering.of(fx.CancelResponse) == [fx.CancelResponse(R)]
    assert_not_asked(answering)
    answering.writes(R, " More.")
    answering.ends_response(R, "cancelled")
    assert_asked(answering)
    answering.responds("Seven.")
    assert outcomes(answering) == [
        ("interrupted", "What about cage four?", "The oxygen is eight."),
        ("done", "And cage five?", "Seven."),
    ]
    assert answering.told == []


def test_typed_input_stops_the_answer_as_speech_does_case_021(answering):
    answering.types("And cage five?")
    answering.look_away()
    answering.sounds(R)
    answering.writes(R, " More.")
    assert_nothing_shown(answering)


def test_words_spoken_while_the_caller_types_do_not_disturb_the_typed_turn(play):
    play.begins_to_speak("u1")
    play.types("And cage five?")
    play.stops_speaking("u1")
    play.is_understood("Hm hm", "u1")
    play.responds("Seven.")
    assert sorted(outcomes(play)) == [("done", "And cage five?", "Seven."), ("interrupted", "Hm hm", "")]
    play.wait(60)
    assert play.told == []


def test_an_utterance_that_ended_before_the_caller_typed_is_not_waited_for(play):
    play.begins_to_speak("u1")
    play.stops_speaking("u1")
    play.types("And cage five?")
    play.responds("Seven.")
    play.is_understood("Cage four", "u1")
    play.wait(60)
    assert sorted(outcomes(play)) == [("done", "And cage five?", "Seven."), ("interrupted", "Cage four", "")]
    assert play.told == []


def test_everything_that_wants_an_answer_in_one_moment_gets_one_case_022(answering):
    answering.happens(e.CreateAsked())
    answering.types("One.")
    answering.happens(e.CreateAsked())
    assert_not_asked(answering)
    answering.ends_response(R, "cancelled")
    assert_asked(answering)


def test_speech_over_a_running_tool_ends_it_case_009(play):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report"))
    play.look_away()
    play.begins_to_speak()
    assert play.cancelled == list(play.running)
    assert_answered(play, "call_1", "cancelled")
    assert [fields["code"] for name, fields in play.told if name == "vocero.tool.failed"] == ["cancelled"]
    play.tool_ends("", "cancelled")
    assert_call_closed(play, "failed", "cancelled")
    play.stops_speaking()
    play.is_understood("And cage five?")
    play.responds("Seven.")
    assert_turn_ended(play, "done", caller_text="And cage five?")


@pytest.mark.parametrize("code", ["", "outcome_unknown"])
def test_a_tool_that_ends_after_stop_is_recorded_and_nobody_speaks_case_012(play, code):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report"))
    play.stops()
    play.look_away()
    play.tool_ends(LABEL + "{}", code)
    play.wait(60)
    assert_nothing_sent(play)
    assert play.seen == []
    assert_call_closed(play, "failed" if code else "completed", code)
    assert_turn_ended(play, "cancelled")


def test_a_marker_s_tool_that_ends_after_stop_is_never_sent_case_012(play):
    play.types("What about cage four?")
    play.begins_response(R)
    play.writes(R, marker())
    play.stops()
    play.look_away()
    play.ends_response(R, "cancelled")
    play.tool_ends()
    assert_nothing_sent(play)


def test_an_answer_that_is_stopped_before_it_is_announced_is_never_heard_case_006(play):
    play.types("What about cage four?")
    play.begins_to_speak()
    play.look_away()
    play.begins_response(R)
    assert play.of(fx.CancelResponse) == [fx.CancelResponse(R)]
    play.writes(R, "Eight.")
    play.sounds(R)
    play.wrote(R, "Eight.")
    play.ends_response(R, "cancelled", [ga.message(f"item_of_{R}", "Eight.")])
    assert_nothing_shown(play)
    play.stops_speaking()
    play.is_understood("And cage five?")
    play.responds("Seven.")
    assert_turn_ended(play, "done", caller_text="And cage five?", heard_text="Seven.")


@pytest.mark.parametrize("typed", [True, False], ids=["by-typing", "by-stop"])
def test_an_answer_to_speech_that_is_given_up_before_it_is_announced_is_never_heard_case_006(play, typed):
    play.says("What about cage four?")
    if typed:
        play.types("Never mind.", ask=False)
    else:
        play.stops()
    play.look_away()
    play.begins_response(R)
    play.writes(R, "Eight.")
    assert play.of(fx.CancelResponse) == [fx.CancelResponse(R)]
    assert_nothing_shown(play)
    play.ends_response(R, "cancelled")
    play.says("And cage five?", "u2")
    play.responds("Seven.")
    assert_turn_ended(play, "done", caller_text="And cage five?", heard_text="Seven.")


def test_a_service_that_hears_the_caller_first_says_so_by_ending_its_response(answering):
    """Its end comes before the word that the caller speaks."""
    answering.picks(R, call_id="c1")
    call_id = next(iter(answering.running))
    answering.ends_response(R, "cancelled")
    assert_answered(answering, "c1", "cancelled")
    assert answering.cancelled == [call_id]
    assert_turn_ended(answering, "interrupted")
    answering.tool_ends("", "cancelled")
    answering.begins_to_speak()
    assert_not_asked(answering)


def test_both_of_two_responses_are_cancelled_by_id_case_007(answering):
    answering.begins_response("second")
    answering.begins_to_speak()
    assert answering.of(fx.CancelResponse) == [fx.CancelResponse(R), fx.CancelResponse("second")]


def test_a_turn_ends_when_the_last_of_two_responses_does(answering):
    answering.begins_response("second")
    answering.ends_response("second")
    assert len(answering.open_turns) == 1
    answering.ends_response(R)
    assert_turn_ended(answering, "done")


def test_stop_cancels_the_answer_by_its_id_and_the_next_turn_works_case_004(answering):
    answering.stops()
    assert answering.of(fx.CancelResponse) == [fx.CancelResponse(R)]
    assert_turn_ended(answering, "cancelled")
    answering.ends_response(R, "cancelled")
    answering.types("And cage five?")
    answering.responds("Seven.")
    assert_turn_ended(answering, "done", heard_text="Seven.")


def test_a_stop_while_nothing_runs_changes_nothing(play):
    play.stops()
    assert_nothing_sent(play)
    assert play.seen == []
