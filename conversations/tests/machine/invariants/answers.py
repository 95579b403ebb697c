"""Invariants 5 and 6: every call is answered, every turn ends, and one response is asked for at a time."""

from collections import Counter

from conversations.core import events as e
from conversations.core.records import CallClosed, CallOpened, TurnClosed, TurnOpened, UpstreamOpened
from conversations.core.responses import BENIGN, CANCEL_TIMER
from conversations.tests.machine.conversation import LIMITS, TOOL_TIMEOUT
from conversations.tests.machine.portal import STUBBORN
from conversations.tests.machine.story import (
    Begun,
    Delivered,
    Fed,
    Glance,
    Handled,
    Logged,
    Missed,
    Over,
    Put,
    Ran,
    Shown,
    Wrote,
)
from conversations.tests.machine.tracking import Calls, Turns


def invariant_05_every_call_is_answered_and_every_turn_ends(story):
    """Every call is answered once, every turn ends in words or in an error, and there is no dead air."""
    turns, calls, air = Turns(), Calls(), Air()
    refs, spoken = {}, Counter()
    while True:
        at, thing = yield
        turns.see(thing)
        calls.see(thing)
        air.see(at, thing, turns)
        match thing:
            case Put():
                assert set(calls.outputs) <= set(calls.told), "only a call that was told is answered"
                assert all(times == 1 for times in calls.outputs.values()), "and once"
            case Shown(_, frame) | Missed(_, frame):
                refs.pop(frame.get("error", {}).get("ref"), None)
                spoken[turns.current] += isinstance(thing, Shown) and frame["type"].endswith(".delta")
            case Wrote(TurnClosed(turn_id, outcome) as record):
                assert outcome != "done" or spoken[turn_id], "a turn that is done was answered"
                if outcome == "failed" and record.code != "unauthorized":
                    assert record.ref, "one that failed has a reference"
                    refs[record.ref] = turn_id
            case Handled() | Glance():
                assert len(turns.open) <= 1, "one turn has the floor"
                assert not refs, f"the caller was told: {refs}"
                assert not air.is_dead(at, turns), "no dead air"
            case Over():
                assert not turns.open, "every turn ends"
        if isinstance(thing, Glance) and thing.last:
            assert not calls.unanswered, f"every call is answered: {calls.unanswered}"


class Air:
    """How long there has been silence without cause in the open turn."""

    def __init__(self):
        self._moved, self._working, self._browsers = 0.0, {}, {}
        self._asked = self._alone = False

    def see(self, at, thing, turns):
        match thing:
            case Wrote(TurnOpened(origin=origin)):
                self._moved, self._asked, self._browsers = at, origin == "voice", {}
            case Wrote(CallOpened(call_id, source="browser")):
                self._browsers[call_id] = at
            case Wrote(CallOpened(call_id)):
                self._working[call_id] = at, False
            case Ran(run):
                self._working[run.call_id] = at, run.mood in STUBBORN
            case Wrote(CallClosed(call_id)):
                self._working.pop(call_id, None)
                self._browsers.pop(call_id, None)
                self._moved = at
            case Fed(e.CreateAsked()):
                self._moved, self._asked = at, True
            case Shown(_, {"type": kind}) if kind.startswith("response.") and kind != "response.done":
                self._moved, self._asked = at, True
            case Delivered({"type": "response.created"}):
                self._moved = at
            case Fed(e.BrowserLost() | e.BrowserBack() as event):
                self._moved, self._alone = at, isinstance(event, e.BrowserLost)

    def is_dead(self, at, turns):
        """Neither the database nor a tool nor the browser is waited for, each within its limit."""
        for_browser = any(at - since <= LIMITS.browser_output for since in self._browsers.values())
        at_work = any(stubborn or at - since <= TOOL_TIMEOUT for since, stubborn in self._working.values())
        due = self._asked and turns.current and not (at_work or for_browser or self._alone)
        return due and at - self._moved > LIMITS.silence + 0.5


def invariant_06_one_response_at_a_time(story):
    """One request is outstanding, none while a response runs, and a race is neither told nor fatal."""
    outstanding, begun, running, cancelled, late = "", {}, set(), set(), False
    while True:
        _, thing = yield
        match thing:
            case Wrote(UpstreamOpened()):
                outstanding, begun, running, cancelled, late = "", {}, set(), set(), False
            case Begun(response_id, wish):
                begun[response_id] = wish
            case Delivered(frame):
                response_id = frame.get("response_id") or frame.get("response", {}).get("id")
                about = frame["error"].get("event_id") if frame["type"] == "error" else ""
                if outstanding in (begun.get(response_id), about) or is_unnamed_race(frame):
                    outstanding = ""
                if frame["type"] == "response.done":
                    running.discard(response_id)
                    begun.pop(response_id, None)
                elif response_id in begun:
                    running.add(response_id)
            case Put(_, {"type": "response.create", "event_id": event_id}):
                assert late or not outstanding, f"one request is outstanding: {outstanding}"
                assert late or not running, f"no request while a response runs: {running}"
                outstanding = event_id
            case Put(_, {"type": "response.cancel", "response_id": response_id}):
                cancelled.add(response_id)
            case Fed(e.TimerFired(name)) if name == CANCEL_TIMER:
                # A service that never says so has ended them long ago; one that is later may say anything.
                running -= cancelled
                begun = {
                    response_id: wish for response_id, wish in begun.items() if response_id not in cancelled
                }
                late, outstanding = late or bool(outstanding), ""
            case Shown(_, {"type": "error", "error": {"code": code}}):
                assert code not in BENIGN, "a race is nobody's business"
            case Logged(level, text):
                assert level < 30 or not any(code in text for code in BENIGN), "and logged low"


def is_unnamed_race(frame):
    return frame["type"] == "error" and not frame["error"].get("event_id")
