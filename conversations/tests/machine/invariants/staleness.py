"""Invariants 3 and 4: what is stale is dropped, and what is cancelled is cancelled on the wire."""

from conversations.core import events as e
from conversations.core.records import CallOpened, UpstreamClosed
from conversations.core.responses import TOO_EARLY
from conversations.tests.machine.conversation import FINISHES, TOOL_TIMEOUT
from conversations.tests.machine.portal import STUBBORN
from conversations.tests.machine.story import (
    Delivered,
    Fed,
    Glance,
    Handled,
    Put,
    Ran,
    Shown,
    Stopped,
    Unwritten,
    Wrote,
)
from conversations.tests.machine.tracking import Calls, Sheets, Staleness, Turns, goes_on, is_speech

TOLD_BY_VOCERO = "vocero.tool."


def invariant_03_stale_is_dropped(story):
    """When the caller goes on, results are not sent, not asked for, not told, and answers are not heard."""
    turns, calls, answers, sheets = Turns(), Calls(), Staleness(), Sheets()
    told = set()
    runs, stale_runs, due, cause, wish = {}, {}, False, False, ""
    while True:
        _, thing = yield
        ended = turns.see(thing)
        calls.see(thing)
        answers.see(thing)
        sheets.see(thing)
        if goes_on(thing) or ended:
            answers.goes_on(thing)
        if (goes_on(thing) or ended) and not (is_speech(thing) and sheets.open):
            stale_runs |= {call_id: run for call_id, run in runs.items() if run.name != FINISHES}
            due, cause = calls.listening, False
        match thing:
            case Ran(run):
                runs[run.call_id] = run
            case Fed(e.ToolEnded(call_id)):
                # A result that came in time belongs to the history, whatever the caller does next.
                runs.pop(call_id, None)
            case Put(text, frame):
                traces = [run.trace for run in stale_runs.values() if run.trace in text]
                assert not traces, f"a stale result is not sent: {traces}"
                if frame["type"] == "response.create":
                    assert cause, "nobody is answered who has not said anything since"
                    cause, wish = False, frame["event_id"]
            case Fed(e.CreateAsked()) | Wrote(CallOpened()) | Unwritten():
                cause = True
            case Wrote(UpstreamClosed()) if turns.current:
                # Its turn may be answered in the next session.
                cause = True
            case Fed(e.BrowserBack()) if turns.current:
                # An answer that nobody was there to hear is asked for again.
                cause = True
            case Delivered({"type": "error", "error": {"type": code}}) if code in TOO_EARLY:
                cause = cause or not answers.is_stale_wish(wish)
            case Shown(_, frame):
                assert_not_stale(frame, answers.stale, stale_runs)
                assert_told_once(frame, told)
            case Handled():
                assert not (due and calls.unanswered), f"answered at once: {calls.unanswered}"
                due = False


def assert_not_stale(frame, stale_responses, stale_runs):
    assert frame.get("response_id") not in stale_responses, f"nothing stale is shown: {frame}"
    if frame["type"] in (f"{TOLD_BY_VOCERO}completed", f"{TOLD_BY_VOCERO}progress"):
        assert frame["call_id"] not in stale_runs, "what became of a stale call is not told"


def assert_told_once(frame, told):
    if frame["type"] in (f"{TOLD_BY_VOCERO}completed", f"{TOLD_BY_VOCERO}failed"):
        assert frame["call_id"] not in told, "the end of a call is told once"
        told.add(frame["call_id"])


def invariant_04_cancelled_means_cancelled(story):
    """A tool whose caller went on is told to stop at once, and its row says what is known."""
    turns, sheets, working, owed = Turns(), Sheets(), {}, {}
    while True:
        _, thing = yield
        sheets.see(thing)
        if turns.see(thing) or (goes_on(thing) and not (is_speech(thing) and sheets.open)):
            owed |= {call_id: run for call_id, run in working.items() if run.name != FINISHES}
        match thing:
            case Ran(run):
                working[run.call_id] = run
            case Stopped(run):
                working.pop(run.call_id, None)
            case Fed(e.ToolEnded(call_id, code=code)) if call_id in owed:
                assert_honest(owed.pop(call_id), code)
            case Glance(settled=True):
                unheard = [run for run in owed.values() if run.cancelled_at is None and not run.over]
                assert not unheard, f"cancelled means cancelled: {unheard}"
                stuck = [run for run in owed.values() if run.mood not in STUBBORN and not run.over]
                assert not stuck, f"and ended at once: {stuck}"


def assert_honest(run, code):
    if run.cancelled_at is None or run.cancelled_at - run.began_at >= TOOL_TIMEOUT:
        return
    honest = {"ends": "cancelled", "lingers": "cancelled", "untold": "outcome_unknown"}
    assert code == honest.get(run.mood, code), f"{run.mood}: {code}"
