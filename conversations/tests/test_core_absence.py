"""The browser is lost for a while: the call works on, asks for no answer, and counts nothing as heard."""

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.policy import Limits
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    LABEL,
    SEARCH,
    Play,
    R,
    a_question,
    an_answer,
    assert_asked,
    assert_call_closed,
    assert_not_asked,
    assert_tool_ran,
    assert_turn_ended,
    marker,
)

pytestmark = pytest.mark.every_dialect

ITEM = f"item_of_{R}"


@pytest.fixture
def play():
    return Play()


def goes_away(play):
    play.happens(e.BrowserLost())
    return play.look_away()


def comes_back(play):
    play.look_away().happens(e.BrowserBack())
    return play


def cuts(play):
    return [(one.item_id, one.audio_end_ms) for one in play.of(fx.Truncate)]


def test_a_tool_runs_on_and_its_answer_waits_for_the_browser(play):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report"))
    generation = play.machine.generation
    goes_away(play)
    play.tool_ends(LABEL + '{"oxygen": 8}')
    assert play.outputs == [("call_1", LABEL + '{"oxygen": 8}')]
    assert_not_asked(play)
    comes_back(play)
    assert_asked(play)
    play.responds("Eight.")
    assert_turn_ended(play, "done", heard_text="Eight.")
    assert_call_closed(play, "completed")
    assert play.machine.generation == generation


def test_a_browser_that_comes_back_learns_which_tools_run(play):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report"))
    comes_back(goes_away(play))
    assert [(name, fields["name"]) for name, fields in play.told] == [("vocero.tool.started", "get_report")]
    play.tool_ends()
    comes_back(goes_away(play))
    assert play.told == []


def test_a_part_that_nobody_heard_is_neither_shown_nor_in_the_record():
    play = an_answer()
    goes_away(play)
    play.writes(R, " And the temperature is twelve.")
    play.sounds(R, 900)
    comes_back(play)
    play.writes(R, " That is all.")
    play.sounds(R, 300)
    play.ends_response(R)
    assert play.words == ""
    assert play.sound_pieces == 0
    assert_turn_ended(play, "interrupted", "connection_lost", heard_text="The oxygen is eight.")
    assert cuts(play) == [(ITEM, 1200)]


def test_an_answer_that_goes_on_after_a_short_absence_is_heard_whole():
    play = an_answer()
    comes_back(goes_away(play))
    play.writes(R, " That is all.")
    play.ends_response(R)
    assert play.words == " That is all."
    assert_turn_ended(play, "done", heard_text="The oxygen is eight. That is all.")


def test_an_answer_that_ended_in_time_is_heard_whole_though_its_end_is_not_seen():
    play = an_answer()
    goes_away(play)
    play.wrote(R, "The oxygen is eight.")
    play.ends_response(R)
    assert_turn_ended(play, "done", heard_text="The oxygen is eight.")


def test_an_answer_of_which_nothing_was_heard_is_asked_for_again_once():
    play = a_question()
    goes_away(play)
    play.writes(R, "The oxygen is eight.")
    play.sounds(R, 1_200)
    play.ends_response(R)
    assert_not_asked(play)
    assert cuts(play) == [(ITEM, 0)]
    comes_back(play)
    assert_asked(play)
    goes_away(play)
    play.responds("The oxygen is eight.")
    assert_turn_ended(play, "interrupted", "connection_lost", heard_text="")
    comes_back(play)
    assert_not_asked(play)


def test_what_the_model_picks_meanwhile_is_run():
    play = a_question()
    goes_away(play)
    play.writes(R, "One moment. " + marker())
    play.ends_response(R, "cancelled")
    assert_tool_ran(play)
    play.tool_ends()
    assert_not_asked(play)
    comes_back(play)
    assert_asked(play)


def test_nobody_is_silent_to_a_browser_that_is_away(play):
    play.types("What about cage four?")
    goes_away(play)
    play.wait(120)
    assert play.told == []
    comes_back(play)
    play.wait(19)
    assert play.told == []
    play.wait(2)
    assert_turn_ended(play, "failed", "no_answer")


def test_a_browser_s_own_tool_waits_for_its_return_and_then_no_longer_than_ever(play):
    play.types("Search for lice.")
    play.responds(ga.Calls.one(SEARCH, {"query": "lice"}))
    goes_away(play)
    play.wait(120)
    assert play.rows.call_ends == {}
    comes_back(play)
    play.wait(Limits().browser_output + 1)
    assert_call_closed(play, "failed", "timeout", SEARCH)


def test_the_service_and_the_browser_may_be_away_at_a_time(play):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report"))
    goes_away(play)
    play.happens(e.UpstreamLost())
    play.tool_ends()
    for effect in play.machine.recall(play.machine.history):
        play.perform(effect)
    assert play.messages[-1] == LABEL + "{}"
    assert_not_asked(play)
    comes_back(play)
    assert_asked(play)


def test_a_call_that_ends_while_its_browser_is_away_closes_everything():
    play = an_answer()
    play.picks(R, call_id="c1")
    goes_away(play)
    play.happens(e.Ended("end"))
    play.tool_ends("", "cancelled")
    assert_turn_ended(play, "cancelled")
    assert_call_closed(play, "failed", "cancelled")
    assert_turn_ended(play, "cancelled")
    assert_call_closed(play, "failed", "cancelled")


def test_a_sheet_that_is_open_is_shown_to_the_browser_that_comes_back():
    play = Play(confirm_tools=frozenset({"get_report"}), has_sheets=True)
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report"))
    (opened,) = sheets(play)
    play.wait(30)
    comes_back(goes_away(play))
    (again,) = sheets(play)
    assert (again["nonce"], again["summary"]) == (opened["nonce"], opened["summary"])
    assert 55 < again["expires_in"] < 61
    play.wait(61)
    assert_call_closed(play, "failed", "confirmation_timeout")


def sheets(play):
    """What `open_confirm` showed since the test last looked away."""
    commands = [frame["data"] for frame in play.seen if frame["type"] == "ui-command"]
    return [one["payload"] for one in commands if one["command"] == "open_confirm"]
