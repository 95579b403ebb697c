"""The whole machine: callers, service, tools, database, clock and operators together."""

import asyncio

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from conversations.core import events as e
from conversations.realtime import endings
from conversations.tests.machine import portal
from conversations.tests.machine.caller_rules import TURNS, CallerRules, talks
from conversations.tests.machine.conversation import LIMITS, TOOL_TIMEOUT
from conversations.tests.machine.replies import REPLIES
from conversations.tests.machine.service_rules import ServiceRules, reads_all
from conversations.tests.machine.stage import NAMES

OUTCOMES = st.sampled_from(portal.OUTCOMES)
ENDINGS = st.sampled_from(["left", "expired", "idle", "caller_cleanup", "operator", "superseded"])


class CallMachine(CallerRules, ServiceRules):
    """Every rule is something that one of them may do next."""

    # ---- tools and the database

    @precondition(lambda self: self.call.portal.waiting)
    @rule(outcome=OUTCOMES, which=st.integers(0, 3), turns=TURNS)
    def tool_ends(self, outcome, which, turns):
        waiting = self.call.portal.waiting
        self.does(lambda: portal.answer(waiting[which % len(waiting)], outcome), turns)

    @precondition(lambda self: self.call.portal.waiting)
    @rule(count=st.integers(1, 9), turns=TURNS)
    def tool_goes_on(self, count, turns):
        self.does(lambda: portal.progress(self.call.portal.waiting[0], count), turns)

    @precondition(lambda self: self.call.portal.lingering)
    @rule(turns=TURNS)
    def tool_lets_go(self, turns):
        self.does(lambda: [run.let_go.set() for run in self.call.portal.lingering], turns)

    @precondition(lambda self: self.call.portal.runs)
    @rule(turns=TURNS)
    def tool_ends_again(self, turns):
        again = e.ToolEnded(self.call.portal.runs[0].call_id, "completed", "", "again", 1)
        self.does(lambda: self.call.session.feed(again) if self.call.portal.runs[0].over else None, turns)

    @rule(mood=st.sampled_from(portal.MOODS))
    def tools_change(self, mood):
        self.call.portal.mood = mood

    @precondition(talks)
    @rule(works=st.booleans(), refuses=st.booleans())
    def database_stalls_or_not(self, works, refuses):
        self.call.refuses_rows = refuses and not works
        self.does(self.call.database_on.set if works else self.call.database_on.clear)

    # ---- the conversation

    @rule()
    def attention_moves_to_the_other_caller(self):
        self.who = NAMES[1 - NAMES.index(self.who)]

    @precondition(lambda self: not self.call.over and self.call.ending is None)
    @rule(how=ENDINGS, turns=TURNS)
    def conversation_ends(self, how, turns):
        ending = endings.LEFT if how == "left" else endings.closed(how)
        self.does(lambda: self.call.end(ending), turns)

    @precondition(lambda self: self.call.over or self.call.ending)
    @rule(turns=TURNS)
    def browser_connects_anew(self, turns):
        self.does(self.connect, turns)

    @precondition(lambda self: not (self.call.over or self.call.ending))
    @rule(turns=TURNS)
    def browser_connects_elsewhere(self, turns):
        """In another process, so that the call here loses the conversation."""
        self.does(self.connect, turns)

    @precondition(lambda self: talks(self) and self.conversations[self.who].grace)
    @rule(turns=TURNS)
    def browser_is_lost(self, turns):
        self.does(self.call.leave, turns)

    @precondition(lambda self: not self.call.over and self.call.ending is None)
    @rule(turns=TURNS)
    def browser_comes_back(self, turns):
        """Into its call that waits for it, or as a newer socket that takes it over."""
        self.does(self.call.come, turns)

    @rule(seconds=st.sampled_from([0.3, 0.6, 1.1, 2.5, 6.0, 21.0]))
    def time_goes_on(self, seconds):
        self.passes(seconds)

    @precondition(lambda self: talks(self) and self.line is not None)
    @rule(replies=st.lists(REPLIES, min_size=1, max_size=3), outcome=OUTCOMES)
    def a_question_is_worked_on(self, replies, outcome):
        """Nobody disturbs it for so many answers."""
        self.does(self.types)
        for reply in replies:
            for run in self.call.portal.waiting:
                self.does(lambda run=run: portal.answer(run, outcome))
            for _ in range(3):
                if (line := self.line) is not None:
                    self.does(lambda line=line, reply=reply: reads_all(line, reply))

    # ---- the end

    def come_to_rest(self):
        """Everybody does what is left to do, and has more time for it than anything may take."""
        for seconds in (0.1, TOOL_TIMEOUT + 1, LIMITS.browser_output + 2 * LIMITS.silence):
            for who in NAMES:
                self.who = who
                self.does(self._open_everything)
            self.passes(seconds)
        self.look(last=True)
        for who in NAMES:
            self.who = who
            self.does(lambda: self.call.end(endings.LEFT))
        self.passes(20.0)
        self.look()
        left = asyncio.all_tasks(self.loop)
        assert not left, f"no task is left: {left}"
        timers = [timer for timer in self.loop._scheduled if not timer.cancelled()]
        assert not timers, f"no timer is left: {timers}"

    def _open_everything(self):
        if self.call.away and not self.call.over:
            self.call.come()
        self.call.reads_on.set()
        self.call.database_on.set()
        if self.line is not None:
            self.line.reads_on.set()
        for run in self.call.portal.lingering:
            run.let_go.set()
        for run in self.call.portal.waiting:
            if run.cancelled_at is not None:
                portal.answer(run, "found")
