"""A brain's first words: said once, to a caller who has not spoken, in a turn of their own."""

import pytest

from conversations.core import events as e
from conversations.tests import speech_events as ga
from conversations.tests.core_play import Play, assert_asked, assert_turn_ended

pytestmark = pytest.mark.every_dialect

HELLO = "Good morning, Ada."


@pytest.fixture
def play():
    return Play()


def test_it_is_said_and_is_a_whole_turn(play):
    play.happens(e.Greeting(HELLO))
    assert [asked.line for asked in play.asked] == [HELLO]
    play.responds(HELLO)
    assert play.words == HELLO
    assert_turn_ended(play, "done")
    play.look_away()
    play.types("Who is there?")
    assert_asked(play)


def test_a_caller_who_has_begun_to_speak_is_not_greeted(play):
    play.types("Who is there?")
    play.look_away()
    play.happens(e.Greeting(HELLO))
    assert play.asked == []


def test_a_caller_who_waits_for_an_answer_is_not_greeted(play):
    play.begins_to_speak()
    play.stops_speaking()
    play.look_away()
    play.happens(e.Greeting(HELLO))
    assert play.asked == []


def test_nobody_is_greeted_in_the_middle_of_a_call(play):
    play.types("Who is there?")
    play.responds("It is me.")
    play.look_away()
    play.happens(e.Greeting(HELLO))
    assert play.asked == []


def test_a_browser_that_is_away_is_not_greeted(play):
    play.happens(e.BrowserLost(), e.Greeting(HELLO))
    assert play.asked == []


def test_who_speaks_over_it_ends_it(play):
    play.happens(e.Greeting(HELLO))
    play.responds(ga.Says(HELLO, ends=False))
    play.begins_to_speak("utterance_1")
    assert_turn_ended(play, "interrupted")
