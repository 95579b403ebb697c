"""No dead air: what the assistant says besides its answers, once, and never in their way."""

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.policy import Limits
from conversations.realtime.words import SPOKEN
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    LABEL,
    Play,
    assert_apologised,
    assert_asked,
    assert_call_closed,
    assert_not_asked,
    assert_turn_ended,
    marker,
)

pytestmark = pytest.mark.every_dialect

QUESTION = "What about cage four?"
WORDS = SPOKEN["en"]
SLOW = 4.0


@pytest.fixture
def play():
    """A service that speaks beside a waiting call."""
    return a_play(beside_call=True)


def a_play(beside_call, **options):
    play = Play(limits=Limits(slow_tool=SLOW), spoken=WORDS, **options)
    play.happens(e.ServiceKnown(beside_call))
    return play


def a_running_tool(play, narration=""):
    play.types(QUESTION)
    play.responds(ga.Calls.one("get_report", narration=narration))
    return play.look_away()


def lines(play):
    return [one.line for one in play.asked if one.line]


def cues(play):
    return [fields for name, fields in play.told if name == "vocero.tool.progress"]


# ---- a slow tool


def test_a_slow_tool_gets_one_short_line_beside_its_call(play):
    a_running_tool(play)
    play.wait(SLOW - 0.1)
    assert lines(play) == []
    play.wait(0.2)
    assert lines(play) == ["One moment."]
    play.responds("One moment.")
    assert play.words == "One moment."
    play.wait(15)
    assert lines(play) == ["One moment."]
    assert cues(play) == []
    play.look_away()
    play.tool_ends()
    assert_asked(play)
    play.responds("Eight.")
    assert_turn_ended(play, "done", heard_text="One moment. Eight.")


def test_a_tool_that_ends_while_the_line_is_said_waits_for_its_end(play):
    a_running_tool(play)
    play.wait(SLOW + 0.1)
    play.begins_response("line")
    play.writes("line", "One moment.")
    play.look_away()
    play.tool_ends()
    assert_not_asked(play)
    play.ends_response("line")
    assert play.outputs == [("call_1", LABEL + "{}")]
    assert_asked(play)


def test_a_tool_that_ends_before_the_line_begins_asks_for_the_answer_after_it(play):
    a_running_tool(play)
    play.wait(SLOW + 0.1)
    play.look_away()
    play.tool_ends()
    assert_not_asked(play)
    play.responds("One moment.")
    assert_asked(play)
    assert lines(play) == []
    play.responds("Eight.")
    assert_turn_ended(play, "done")


def test_a_line_that_the_service_refuses_is_let_go_and_the_answer_comes(play):
    a_running_tool(play)
    play.wait(SLOW + 0.1)
    (asked,) = play.asked
    play.complains("function_call_output_pending", asked)
    play.look_away()
    play.tool_ends()
    assert_asked(play)
    assert lines(play) == []
    play.responds("Eight.")
    assert_turn_ended(play, "done", heard_text="Eight.")


def test_a_line_that_fails_does_not_fail_the_turn(play):
    a_running_tool(play)
    play.wait(SLOW + 0.1)
    play.responds(ga.Fails())
    assert play.told == []
    play.tool_ends()
    play.responds("Eight.")
    assert_turn_ended(play, "done", heard_text="Eight.")


def test_where_nothing_can_be_said_beside_a_call_the_page_is_given_a_cue():
    play = a_running_tool(a_play(beside_call=False))
    play.wait(SLOW + 0.1)
    assert lines(play) == []
    assert cues(play) == [
        {"call_id": "our_call_1", "progress": None, "total": None, "message": "One moment."}
    ]
    play.wait(15)
    assert len(cues(play)) == 1


def test_a_tool_that_was_picked_in_text_leaves_no_call_that_waits():
    play = a_play(beside_call=False)
    play.types(QUESTION)
    play.responds(marker())
    play.look_away().wait(SLOW + 0.1)
    assert lines(play) == ["One moment."]


def test_a_turn_that_has_spoken_needs_no_line(play):
    a_running_tool(play, narration="Let me look.")
    play.wait(15)
    assert lines(play) == []
    assert cues(play) == []


def test_a_second_slow_tool_of_a_turn_gets_no_second_line(play):
    a_running_tool(play)
    play.wait(SLOW + 0.1)
    play.responds("One moment.")
    play.tool_ends()
    play.responds(ga.Calls.one("list_reports"))
    play.look_away().wait(15)
    assert lines(play) == []
    assert cues(play) == []


def test_a_quick_tool_gets_no_line(play):
    a_running_tool(play)
    play.wait(SLOW - 1)
    play.tool_ends()
    play.responds("Eight.")
    play.wait(15)
    assert lines(play) == []


def test_a_caller_who_speaks_over_the_line_ends_it_with_all_else(play):
    a_running_tool(play)
    play.wait(SLOW + 0.1)
    play.begins_response("line")
    play.writes("line", "One mo")
    play.look_away().begins_to_speak()
    assert [one.response_id for one in play.of(fx.CancelResponse)] == ["line"]
    play.tool_ends("", "cancelled")
    assert_turn_ended(play, "interrupted")
    assert_call_closed(play, "failed", "cancelled")


def test_nobody_is_told_of_a_slow_tool_while_the_browser_is_away(play):
    a_running_tool(play)
    play.happens(e.BrowserLost())
    play.wait(15)
    assert lines(play) == []
    assert cues(play) == []


def test_no_line_at_all_where_none_is_wanted():
    play = Play(limits=Limits(slow_tool=0.0), spoken=WORDS)
    play.happens(e.ServiceKnown(True))
    a_running_tool(play).wait(29)
    assert lines(play) == []
    assert cues(play) == []


# ---- apologies


def test_silence_is_measured_and_its_apology_is_said_aloud(play):
    play.types(QUESTION)
    play.look_away().wait(20.5)
    assert_turn_ended(play, "failed", "no_answer")
    assert_apologised(play, "no_answer")
    assert 20_000 <= play.ended_turns[-1].silent_ms <= 20_200
    play.wait(3)
    assert lines(play) == [WORDS["no_answer"]]
    play.responds(WORDS["no_answer"])
    assert play.words == WORDS["no_answer"]
    assert_turn_ended(play, "failed", "no_answer", heard_text=WORDS["no_answer"])


def test_silence_counts_from_the_last_sign_of_life(play):
    a_running_tool(play)
    play.wait(10)
    play.responds("One moment.")
    play.wait(5)
    play.tool_ends()
    play.wait(21)
    assert 20_000 <= play.ended_turns[-1].silent_ms <= 20_200


def test_a_failed_answer_is_apologised_for_aloud_once(play):
    play.types(QUESTION)
    play.look_away().responds(ga.Fails("rate_limit_exceeded"))
    assert_turn_ended(play, "failed", play.voice.failure("rate_limit_exceeded"))
    assert lines(play) == [WORDS["response_failed"]]
    play.responds(ga.Fails("rate_limit_exceeded"))
    play.wait(60)
    assert lines(play) == [WORDS["response_failed"]]
    assert [name for name, _ in play.told] == ["error"]


def test_a_caller_who_goes_on_is_not_apologised_to_any_more(play):
    play.types(QUESTION)
    play.wait(20.5)
    play.look_away().types("Hello?")
    play.wait(3)
    assert lines(play) == []
    assert len(play.asked) == 1


def test_a_caller_who_speaks_is_not_talked_over(play):
    play.types(QUESTION)
    play.begins_response("first")
    play.begins_to_speak()
    play.look_away()
    play.happens(e.UpstreamLost())
    for effect in play.machine.recall(play.machine.history):
        play.perform(effect)
    assert lines(play) == [WORDS["speech_lost"]]


def test_an_apology_for_a_lost_session_comes_from_the_next_one(play):
    play.begins_to_speak()
    play.look_away().happens(e.UpstreamLost())
    play.sent.clear()
    for effect in play.machine.recall(play.machine.history):
        play.perform(effect)
    assert lines(play) == [WORDS["speech_lost"]]


def test_without_sentences_apologies_are_in_writing_only():
    play = Play()
    play.types(QUESTION)
    play.look_away().responds(ga.Fails())
    assert_apologised(play, "response_failed")
    assert_not_asked(play)


# ---- answers that break off


def test_half_an_answer_that_the_service_broke_off_is_told_with_its_reason(play):
    play.types(QUESTION)
    play.begins_response("first")
    play.writes("first", "The oxygen is")
    play.ends_response("first", "incomplete", code="content_filter")
    (told,) = [fields for name, fields in play.told if name == "error"]
    assert (told["code"], told["message"]) == ("content_filter", "Sorry, the answer was broken off.")
    assert_turn_ended(play, "done", heard_text="The oxygen is")
    assert play.rows.troubled == {told["ref"]: "content_filter"}


def test_an_answer_that_was_broken_off_before_its_first_word_is_a_failure(play):
    play.types(QUESTION)
    play.begins_response("first")
    play.ends_response("first", "incomplete", code="content_filter")
    assert_turn_ended(play, "failed", "content_filter")
    assert_apologised(play, "response_failed")
