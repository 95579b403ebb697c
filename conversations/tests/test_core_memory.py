"""A long call costs no more memory than a short one."""

import gc

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core import output, responses, toolcalls, utterances
from conversations.tests import speech_events as ga
from conversations.tests.core_play import LABEL, Play, marker

pytestmark = pytest.mark.every_dialect

LIMITS = [
    (output, "ITEMS"),
    (output, "RESPONSES"),
    (responses, "REMEMBERED"),
    (toolcalls, "REMEMBERED"),
    (utterances, "REMEMBERED"),
]


class Forgetful(Play):
    """A play that remembers nothing itself."""

    def perform(self, effect):
        match effect:
            case fx.RunTool(call_id):
                self.running[call_id] = effect
            case fx.SendItem():
                self.sent.append(effect)


def reachable(thing):
    """How many objects the thing holds, directly or not."""
    seen, waiting = {}, [thing]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen and not isinstance(one, type) and not callable(one):
            seen[id(one)] = one
            waiting.extend(gc.get_referents(one))
    return len(seen)


def lives_through(play, number):
    """One piece of a call in which every kind of thing is remembered for a while."""
    play.begins_to_speak(f"u{number}")
    play.stops_speaking(f"u{number}")
    play.begins_response(f"talked over {number}")
    play.writes(f"talked over {number}", "Some words", " and more")
    play.picks(f"talked over {number}", call_id=f"cut {number}")
    play.types("And cage five?")
    play.picks(f"talked over {number}", call_id=f"stale {number}")
    play.is_understood("What about cage four?", f"u{number}")
    play.ends_response(f"talked over {number}", "cancelled")
    play.begins_response(f"picks {number}")
    play.writes(f"picks {number}", "Wait. ", marker())
    play.ends_response(f"picks {number}", "cancelled")
    while play.running:
        play.tool_ends(LABEL + "{}")
    play.acknowledges()
    play.responds(ga.Calls.one("web_search"))
    play.happens(e.RetrieveAsked(f"item_{number}"), e.Played(f"item_{number}", 10))
    play.complains("invalid_value")
    play.look_away()


def test_a_long_call_holds_no_more_than_a_short_one(monkeypatch):
    """With limits so small that a short call meets them all."""
    for module, name in LIMITS:
        monkeypatch.setattr(module, name, 40)
    play, sizes = Forgetful(), []
    for number in range(100, 220):
        lives_through(play, number)
        if number % 20 == 19:
            sizes.append(reachable(play.machine._floor) + reachable(play.machine._caller))
    assert sizes[-1] == sizes[-2], sizes
