"""The machine has teeth: with any of these faults in the product it fails, and says what does not hold."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RULE_MARKER, initialize, run_state_machine_as_test

from conversations.core import effects as fx
from conversations.core import gate
from conversations.core.generation import Generation
from conversations.core.markers import MarkerParser, Speech
from conversations.core.records import CallClosed, TurnClosed
from conversations.core.responses import Responses
from conversations.realtime import waiting
from conversations.realtime.outbox import Outbox
from conversations.realtime.session import Session
from conversations.tests.machine.calls import CallMachine
from conversations.tests.machine.conversation import Plan
from conversations.tests.machine.queues import make_small
from conversations.tests.machine.service import Manners

HUNT = settings(
    max_examples=300,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)
# A hunt plays these rules only, which is the machine with its weight where the fault is.
QUESTIONS = {
    "browser_connects_anew",
    "caller_types",
    "service_reads",
    "service_speaks",
    "a_question_is_worked_on",
}
SECOND_THOUGHTS = QUESTIONS | {"caller_stops", "caller_changes_their_mind", "tool_ends", "tool_lets_go"}
FLOODS = {
    "caller_types",
    "service_reads",
    "service_sends_sound_faster_than_it_is_played",
    "caller_sends_sound",
}
STREAMS = FLOODS - {"caller_sends_sound"}
LOSSES = {"caller_sends_sound", "service_is_lost", "time_goes_on"}
HUGE = 10**12


def unchecked(point):
    """Whatever is asked at this point, it may go on."""
    return lambda patch: patch.setattr(Generation, point, lambda _self, _begun_in: True)


def sequencer_bypassed(patch):
    patch.setattr(Responses, "busy", property(lambda _self: False))


def never_written(is_it):
    """These records never reach the journal."""

    def plant(patch):
        perform = Session._perform_here

        def forgetful(self, effect):
            if not (isinstance(effect, fx.Keep) and is_it(effect.record)):
                perform(self, effect)

        patch.setattr(Session, "_perform_here", forgetful)

    return plant


def refusal(record):
    return isinstance(record, CallClosed) and record.code in (
        "unknown_tool",
        "invalid_arguments",
        "duplicate_call",
    )


def cancelled_call(record):
    return isinstance(record, CallClosed) and record.code == "cancelled"


def cancelled_turn(record):
    return isinstance(record, TurnClosed) and record.outcome == "cancelled"


def marker_flushed_at_the_end(patch):
    def finish(self):
        held, self._held, self._before = self._held, "", ""
        return [Speech(held)] if held and not self.shut else []

    patch.setattr(MarkerParser, "finish", finish)


def outbox_unbounded(patch):
    make = Outbox.__init__
    patch.setattr(Outbox, "__init__", lambda self, _limit, *more, **named: make(self, HUGE, *more, **named))


def waiting_unbounded(patch):
    patch.setattr(waiting, "AUDIO_LIMIT", HUGE)


def gate_unbounded(patch):
    patch.setattr(gate, "HELD_BYTES", HUGE)


CLOSED = "every row is closed"
FAULTS = {
    "a stale output is sent": (unchecked("may_send"), SECOND_THOUGHTS, "and once|a stale result is not sent"),
    "a stale response is asked for": (
        unchecked("may_ask"),
        SECOND_THOUGHTS,
        "nobody is answered who has not",
    ),
    "the browser is told what is stale": (unchecked("may_tell"), SECOND_THOUGHTS, "is told once|is not told"),
    "two responses are asked for": (sequencer_bypassed, SECOND_THOUGHTS, "one request is outstanding"),
    "the row of a refusal stays open": (never_written(refusal), QUESTIONS, CLOSED),
    "the row of a cancelled call stays open": (never_written(cancelled_call), SECOND_THOUGHTS, CLOSED),
    "the row of a turn stays open": (
        never_written(cancelled_turn),
        SECOND_THOUGHTS,
        "has the floor|is closed",
    ),
    "an unfinished marker is flushed": (marker_flushed_at_the_end, QUESTIONS, "the browser does not see"),
    "the queues to browser and service are unbounded": (outbox_unbounded, FLOODS, "memory is bounded"),
    "what waits for the service is unbounded": (waiting_unbounded, LOSSES, "memory is bounded"),
    "what is held back is unbounded": (gate_unbounded, STREAMS, "memory is bounded"),
}


def hunt(focus):
    """The machine with these rules only, and a service of good manners."""
    rules = [name for name in dir(CallMachine) if hasattr(getattr(CallMachine, name), RULE_MARKER)]
    begin = initialize()(lambda self: self.begins(Manners(), Plan()))
    hunter = type("Hunt", (CallMachine,), {**dict.fromkeys(set(rules) - focus), "begin": begin})
    run_state_machine_as_test(hunter, settings=HUNT)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault, monkeypatch):
    plant, focus, words = FAULTS[fault]
    make_small(monkeypatch)
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=words):
        hunt(focus)
