"""Tools of the browser's own: the browser answers them, and asks for what follows."""

import json

import pytest

from conversations.core import events as e
from conversations.core.policy import Limits
from conversations.tests.core_play import (
    SEARCH,
    R,
    a_question,
    assert_answered,
    assert_asked,
    assert_call_closed,
    assert_no_tool_ran,
    assert_not_asked,
    assert_nothing_sent,
)

pytestmark = pytest.mark.every_dialect


@pytest.fixture
def play():
    return a_question()


def test_the_relay_never_asks_for_the_answer_to_browser_calls_alone(play):
    item = play.picks(R, SEARCH, '{"query":"lice"}', "b1")
    play.ends_response(R, output=[item])
    assert_no_tool_ran(play)
    assert "lice" in json.dumps(play.seen), "the browser sees its own call"
    play.happens(e.BrowserOutput("b1", "Found."))
    assert play.outputs == [("b1", "Found.")]
    assert_not_asked(play)
    play.happens(e.CreateAsked({"output_modalities": ["text"]}))
    assert_asked(play)
    assert play.asked[0].options == {"output_modalities": ["text"]}
    assert_call_closed(play, "completed", name=SEARCH)


def test_in_a_mixed_response_the_browser_s_request_waits_for_the_server_s_outputs(play):
    play.picks(R, SEARCH, "{}", "b1")
    play.picks(R, "get_report", "{}", "s1")
    play.ends_response(R)
    play.happens(e.BrowserOutput("b1", "Found."), e.CreateAsked())
    assert_not_asked(play)
    play.tool_ends()
    assert [call_id for call_id, _ in play.outputs] == ["b1", "s1"]
    assert_asked(play)
    play.happens(e.CreateAsked())
    assert_asked(play)


def test_in_a_mixed_response_the_server_s_outputs_wait_for_the_browser_s_request(play):
    play.picks(R, SEARCH, "{}", "b1")
    play.picks(R, "get_report", "{}", "s1")
    play.ends_response(R)
    play.tool_ends()
    play.happens(e.BrowserOutput("b1", "Found."))
    assert_not_asked(play)
    play.happens(e.CreateAsked())
    assert_asked(play)


@pytest.mark.parametrize("brought", [True, False])
def test_a_browser_that_falls_silent_is_answered_for(play, brought):
    play.picks(R, SEARCH, "{}", "b1")
    play.ends_response(R)
    if brought:
        play.happens(e.BrowserOutput("b1", "Found."))
    play.wait(19.9)
    assert_not_asked(play)
    play.wait(0.2)
    assert_answered(play, "b1", None if brought else "timeout")
    assert_asked(play)
    play.happens(e.BrowserOutput("b1", "Late."), e.CreateAsked())
    assert len(play.outputs) == 1
    assert_asked(play)


def test_the_browser_answers_only_what_waits_for_it(play):
    play.picks(R, "get_report", "{}", "s1")
    play.look_away().happens(e.BrowserOutput("s1", "Forged."), e.BrowserOutput("nonsense", "x"))
    assert_nothing_sent(play)
    assert [(name, fields["code"]) for name, fields in play.told] == [("error", "forbidden_event")] * 2


def test_an_answer_of_the_browser_s_that_comes_too_late_is_no_error(play):
    play.picks(R, SEARCH, "{}", "b1")
    play.begins_to_speak()
    play.look_away().happens(e.BrowserOutput("b1", "Late."))
    assert_nothing_sent(play)
    assert play.told == []


def test_browser_calls_count_as_attempts():
    play = a_question(limits=Limits(attempts=1))
    play.picks(R, SEARCH, "{}", "b1")
    play.picks(R, SEARCH, '{"q":2}', "b2")
    play.ends_response(R)
    play.happens(e.BrowserOutput("b1", "Found."), e.BrowserOutput("b2", "Found."), e.CreateAsked())
    assert_answered(play, "b1")
    assert_answered(play, "b2", "call_limit")
    assert_asked(play, last=True)


def test_a_browser_s_result_over_the_limit_is_replaced():
    play = a_question(limits=Limits(result_chars=10))
    play.picks(R, SEARCH, "{}", "b1")
    play.happens(e.BrowserOutput("b1", "x" * 11))
    assert_answered(play, "b1", "result_budget")
    assert_call_closed(play, "failed", "result_budget")


def test_a_browser_s_call_that_is_interrupted_is_answered_and_closed_once(play):
    play.picks(R, SEARCH, "{}", "b1")
    play.begins_to_speak()
    play.happens(e.BrowserOutput("b1", "Late."))
    assert_answered(play, "b1", "cancelled")
    assert_call_closed(play, "failed", "cancelled", SEARCH)
    assert_not_asked(play)
