"""A brain that thinks for a call in the speech service's place: its work ends with its turn."""

import pytest

from conversations.core import events as e
from conversations.tests.core_play import Play


@pytest.fixture
def play():
    return Play()


def opened(play):
    return list(play.rows.turns.values())


def closed(play):
    return [end for ends in play.rows.turn_ends.values() for end in ends]


def asked(play, *events):
    """The service lets the brain think about what was said."""
    play.says("How is cage four?")
    play.happens(e.BrainAsked(), *events)
    return play


def test_it_thinks_for_the_turn_that_runs(play):
    asked(play)
    assert len(opened(play)) == 1
    assert play.machine.turn.caller_text == "How is cage four?"


@pytest.mark.parametrize(("spoken", "origin"), [(True, "voice"), (False, "text")])
def test_where_no_turn_runs_yet_it_begins_one(play, spoken, origin):
    if spoken:
        play.begins_to_speak()
        play.stops_speaking()
    play.happens(e.BrainAsked())
    (turn,) = opened(play)
    assert turn.origin == origin
    play.is_understood("How is cage four?")
    assert len(opened(play)) == 1 + (not spoken)


@pytest.mark.parametrize(
    "goes_on",
    [
        lambda play: play.begins_to_speak("utterance_2"),
        lambda play: play.happens(e.CancelAsked()),
        lambda play: play.happens(e.UpstreamLost()),
        lambda play: play.happens(e.Ended("disconnect")),
    ],
)
def test_it_is_stopped_once_when_the_turn_is_over_or_its_service_is_gone(play, goes_on):
    asked(play)
    goes_on(play)
    assert play.stopped == 1
    play.happens(e.CancelAsked())
    assert play.stopped == 1


def test_one_that_has_answered_is_not_stopped(play):
    asked(play, e.BrainEnded())
    play.begins_to_speak("utterance_2")
    assert play.stopped == 0


def test_the_clock_of_silence_stands_while_it_waits_for_a_tool_and_starts_anew_after_it(play):
    asked(play, e.BrainMoved(at_work=True))
    play.wait(60)
    assert closed(play) == []
    play.happens(e.BrainMoved(at_work=False))
    play.wait(19)
    assert closed(play) == []
    play.wait(2)
    (end,) = closed(play)
    assert (end.outcome, end.code) == ("failed", "no_answer")
    assert play.stopped == 1


def test_a_failure_is_written_down_and_told_under_its_reference(play):
    asked(play, e.BrainEnded("timeout", "REF", "Sorry, this took too long."))
    assert play.rows.troubled == {"REF": "timeout"}
    error = {"code": "timeout", "message": "Sorry, this took too long.", "ref": "REF"}
    assert ("error", error) in play.told


def test_what_fails_after_its_turn_is_told_to_nobody(play):
    asked(play)
    play.begins_to_speak("utterance_2")
    play.look_away()
    play.happens(e.BrainEnded("internal", "REF", "Sorry."))
    assert play.told == []
    assert play.rows.troubled == {}


def test_a_turn_that_only_a_request_began_ends_when_that_is_given_up(play):
    play.happens(e.BrainAsked(), e.BrainEnded("cancelled"))
    (end,) = closed(play)
    assert end.outcome == "cancelled"


def test_a_turn_that_the_caller_began_goes_on_when_a_request_is_given_up(play):
    asked(play, e.BrainEnded("cancelled"))
    assert closed(play) == []
    assert play.stopped == 0
