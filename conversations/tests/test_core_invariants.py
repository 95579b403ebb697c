"""The invariants that the core holds, whatever callers, services, tools and clocks do, in any order."""

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from conversations.core import events as e
from conversations.tests import speech_events as ga
from conversations.tests.core_play import LABEL, PROFILE, SEARCH, SECRET, TOOLS, marker
from conversations.tests.core_service import ACTIVE, FakeService
from conversations.tests.core_sheets import DELETE
from conversations.tests.core_watch import ALL, LIMITS, Watched

SECRET_ARGUMENTS = json.dumps({"request": SECRET})

TEXTS = st.sampled_from(
    [
        "It is eight.",
        "One moment. <<<VOCERO_MCP",
        "Is 2 < 3? Yes. ",
        "<think>plan</think>Seven.",
        "One moment. " + marker(arguments=SECRET_ARGUMENTS),
        marker(arguments='{"n":1}') + marker(arguments='{"n":2}'),
        marker("drop_all", SECRET_ARGUMENTS),
        "Please tap. " + marker(DELETE, '{"item":3}'),
        marker(arguments='{"a":1,"a":2}'),
        "Wait. MCP_CALL: get_report " + SECRET_ARGUMENTS,
        "One moment. <<<VOCERO_MCP_CALL:NAME=get",
    ]
)
CALLS = st.sampled_from(
    [
        ("get_report", SECRET_ARGUMENTS),
        ("get_report", '{"n":1}'),
        ("list_reports", ""),
        ("list_reports", "{"),
        ("drop_all", SECRET_ARGUMENTS),
        (DELETE, '{"item":1}'),
        (DELETE, '{"item":2}'),
        (SEARCH, '{"query":"lice"}'),
    ]
)
SAYS = st.builds(ga.Says, TEXTS, st.integers(1, 60), st.sampled_from([0, 400]))
PICKS = st.builds(
    ga.Calls, st.lists(CALLS, min_size=1, max_size=3).map(tuple), st.sampled_from(["", "Let me look."])
)
REPLIES = st.one_of(PICKS, PICKS, SAYS, SAYS, st.sampled_from([ga.Fails(), ga.Says("")]))
LATE = st.sampled_from([0, 3, 20])  # frames of the service that were on their way when the caller went on
HEARD = st.sampled_from([9, 1_000, 3, 30])
ENDS = st.sampled_from(["", "", "", "timeout", "unavailable", "forbidden", "cancelled"])
OUTPUTS = st.sampled_from([LABEL + SECRET, LABEL + marker("delete_account"), LABEL + "x" * 2_500, ""])


class LiveCall(RuleBasedStateMachine):
    """One call; every rule is something that one of the five sides may do next."""

    watched = ALL

    @initialize(acknowledges=st.booleans(), announces=st.booleans(), confirms=st.booleans())
    def begin(self, acknowledges, announces, confirms):
        self.manners = {"acknowledges": acknowledges, "announces": announces, "confirms": confirms}
        self.play = Watched(FakeService({*TOOLS, DELETE}, **self.manners), self.watched)
        self.utterances = 0
        self.speaking = False
        self.owes_answer = False
        self.untranscribed = []
        self.finished_tools = []
        self.idle_service = 0

    @property
    def fake(self):
        return self.play.service_side

    # ---- the caller

    @precondition(lambda self: not self.speaking)
    @rule(ended_first=st.booleans(), straggler=st.booleans())
    def caller_begins_to_speak(self, ended_first, straggler):
        self.utterances += 1
        self.speaking, self.owes_answer = True, False
        ended = self.fake.ends("cancelled", straggler) if self.fake.speaking else []
        if ended_first:
            self.play.say(ended)
        over_sheet = bool(self.play.open_sheets)
        if not over_sheet:
            self.play.supersede()
        self.play.begins_to_speak(f"utterance_{self.utterances}")
        if not over_sheet:
            self.play.was_superseded()
        if not ended_first:
            self.play.say(ended)

    @precondition(lambda self: self.speaking)
    @rule()
    def caller_stops_speaking(self):
        self.speaking, self.owes_answer = False, True
        self.play.stops_speaking(f"utterance_{self.utterances}")
        self.untranscribed.append(f"utterance_{self.utterances}")

    @precondition(lambda self: self.untranscribed)
    @rule(text=st.sampled_from(["What about cage four?", ""]), data=st.data())
    def service_understands(self, text, data):
        item_id = data.draw(st.sampled_from(self.untranscribed))
        self.untranscribed.remove(item_id)
        self.play.is_understood(text, item_id)

    @precondition(lambda self: self.play.shown_sheets)
    @rule(answer=st.sampled_from(["yes", "no"]), data=st.data())
    def caller_taps(self, answer, data):
        """On a sheet that is open, or on one that is long gone."""
        sheets = self.play.open_sheets or self.play.shown_sheets
        self.play.taps(sheets[data.draw(st.sampled_from(sorted(sheets)))], answer)

    @rule(ask=st.booleans(), late=LATE)
    def caller_types(self, ask, late=0):
        self.play.supersede()
        self.owes_answer = False
        self.play.types("And cage five?", ask=False)
        self.play.was_superseded()
        self.play.unasked |= set(self.play.open_turns)
        self.play.say(self.fake.speaks(late))
        if ask:
            self.play.happens(e.CreateAsked())

    # ---- the service

    @precondition(lambda self: self.fake.inbox)
    @rule(reply=REPLIES, straggler=st.booleans())
    def service_reads(self, reply, straggler):
        self.play.say(self.fake.reads(reply, straggler))

    @rule(replies=st.lists(REPLIES, min_size=1, max_size=3), code=ENDS, output=OUTPUTS, heard=HEARD)
    def a_question_is_worked_on(self, replies, code, output, heard):
        """Nobody disturbs it until so much of the last answer was heard."""
        self.caller_types(ask=True)
        for left, reply in zip(range(len(replies))[::-1], replies, strict=True):
            for sheet in list(self.play.open_sheets.values()):
                self.play.taps(sheet)
            for call_id in list(self.play.running):
                self.ends_tool(call_id, code, output)
            for _ in range(9):
                if self.fake.inbox:
                    self.play.say(self.fake.reads(reply))
            self.play.say(self.fake.speaks(1_000 if left else heard))

    @precondition(lambda self: self.fake.script)
    @rule(count=st.sampled_from([1, 2, 5, 30, 200]))
    def service_speaks(self, count):
        self.play.say(self.fake.speaks(count))

    @precondition(lambda self: self.owes_answer and not self.fake.speaking and not self.fake.inbox)
    @rule(reply=REPLIES)
    def service_answers_speech(self, reply):
        self.owes_answer = False
        self.play.say(self.fake.begins(reply))

    @precondition(lambda self: self.fake.speaking)
    @rule(status=st.sampled_from(["failed", "incomplete"]), straggler=st.booleans())
    def service_gives_up(self, status, straggler):
        self.play.say(self.fake.ends(status, straggler))

    # ---- tools, browser, clock

    @precondition(lambda self: self.play.running)
    @rule(code=ENDS, output=OUTPUTS, data=st.data())
    def tool_ends(self, code, output, data):
        self.ends_tool(data.draw(st.sampled_from(sorted(self.play.running))), code, output)

    def ends_tool(self, call_id, code, output):
        room = self.play.running[call_id].room
        self.play.happens(e.ToolProgressed(call_id, 1, 2, "Reading"))
        self.play.tool_ends(output[:room], code, call_id)
        self.finished_tools.append(call_id)

    @precondition(lambda self: self.finished_tools)
    @rule()
    def tool_ends_again(self):
        self.play.happens(e.ToolEnded(self.finished_tools[-1], "completed", "", LABEL + "again", 1))

    @rule(item=st.integers(1, 6), milliseconds=st.integers(0, 500), cut=st.booleans())
    def browser_plays(self, item, milliseconds, cut):
        self.play.happens(e.Played(f"item_{item}", milliseconds))
        if cut:
            self.play.happens(e.TruncateAsked(f"item_{item}", 0, milliseconds))

    @rule(asks=st.booleans(), data=st.data())
    def browser_answers(self, asks, data):
        call_id = data.draw(st.sampled_from(sorted(self.fake.answers) or ["nonsense"]))
        self.play.happens(e.BrowserOutput(call_id, "Found."))
        if asks:
            self.play.happens(e.CreateAsked())

    @rule(seconds=st.sampled_from([0.3, 1.1, 2.5, 21]))
    def clock_goes_on(self, seconds):
        self.time_passes(seconds)

    def time_passes(self, seconds):
        until = self.play.now + seconds
        while self.play.now < until:
            next_timer = min([until, *self.play.timers.values()])
            step = min(next_timer - self.play.now, 0.9) if self.fake.inbox else next_timer - self.play.now
            self.idle_service = self.idle_service + step if self.fake.inbox else 0
            if self.idle_service > 1.5:
                self.service_catches_up()
            self.play.wait(max(step, 0.001))

    @rule(
        what=st.sampled_from(["ask", "push", "look", "complain", "stop", "lose"]),
        code=st.sampled_from(["server_error", "response_cancel_not_active", ACTIVE]),
        item=st.integers(1, 6),
        late=LATE,
    )
    def something_else_happens(self, what, code, item, late):
        if what == "ask":
            self.play.happens(e.CreateAsked())
        elif what == "push":
            self.play.happens(e.CommitAsked(), e.CreateAsked())
        elif what == "look":
            self.play.happens(e.RetrieveAsked(f"item_{item}"))
        elif what == "complain":
            # A service that answers speech by itself complains about itself, without naming an event of ours.
            self.play.complains(code if self.fake.speaking or code != ACTIVE else "server_error")
        elif what == "stop":
            self.caller_stops()
            self.play.say(self.fake.speaks(late))
        else:
            self.service_is_lost()

    def caller_stops(self):
        self.play.supersede()
        self.owes_answer = False
        self.play.stops()
        self.play.was_superseded()

    def service_is_lost(self):
        self.play.supersede()
        self.play.happens(e.UpstreamLost())
        self.play.meets(FakeService({*TOOLS, DELETE}, **self.manners))
        self.speaking, self.owes_answer, self.untranscribed = False, False, []
        for effect in self.play.machine.recall(self.play.machine.history):
            self.play.perform(effect)

    # ---- what always holds

    @invariant()
    def the_record_is_what_was_heard(self):
        self.play.check_record()

    def teardown(self):
        if not hasattr(self, "play"):
            return
        self.time_passes(2 * LIMITS.silence + LIMITS.browser_output)
        self.play.check_silence()
        for _ in range(12):
            self.settle()
        self.play.check_rest()
        self.play.happens(e.Ended("disconnect"))
        for call_id in list(self.play.running):
            self.play.tool_ends("", "cancelled", call_id)
        self.play.check_end()

    def service_catches_up(self):
        """A service takes less than two seconds to begin what it is asked."""
        self.idle_service = 0
        while self.fake.inbox:
            self.play.say(self.fake.reads(ga.Says("Eight.")))

    def settle(self):
        """Everybody does what is left to do."""
        self.service_catches_up()
        self.play.say(self.fake.speaks(1_000))
        for call_id in list(self.play.running):
            self.play.tool_ends(LABEL, call_id=call_id)
        self.time_passes(LIMITS.browser_output + 1)


def check(*numbers):
    """Plays calls of every kind and holds them against these invariants."""
    machine = type("LiveCall", (LiveCall,), {"watched": frozenset(numbers)})
    run_state_machine_as_test(machine, settings=settings(PROFILE, max_examples=PROFILE.max_examples // 3))


def test_invariant_01_what_needs_a_tap_runs_only_as_it_was_approved():
    check(1)


def test_invariant_02_nothing_secret_is_shown():
    check(2)


def test_invariant_03_stale_is_dropped_and_its_calls_are_answered_at_once():
    check(3)


def test_invariant_04_cancelled_means_cancelled():
    check(4)


def test_invariant_05_every_call_is_answered_once_and_every_turn_ends():
    check(5)


def test_invariant_06_one_response_at_a_time():
    check(6)


def test_invariant_07_bounds_hold():
    check(7)


def test_invariant_09_the_audit_is_complete():
    check(9)


def test_invariant_10_the_record_is_what_was_heard():
    check(10)


def test_all_invariants_hold_together():
    check(*ALL)
