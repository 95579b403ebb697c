"""What the speech service may do next, as slowly and as badly as it likes."""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from conversations.core.responses import TOO_EARLY
from conversations.tests.machine import hostile
from conversations.tests.machine.caller_rules import TURNS
from conversations.tests.machine.replies import AUDIO_DELTA, REPLIES, sound
from conversations.tests.machine.service import ACTIVE, PENDING
from conversations.tests.machine.stage import Stage

COUNTS = st.sampled_from([1_000, 1_000, 1, 2, 5, 30])
CODES = st.sampled_from(
    [ACTIVE, PENDING, "response_cancel_not_active", "server_error", "rate_limit_exceeded"]
)


def has_line(machine):
    """The call has a session at the service."""
    return machine.line is not None


def reads_all(line, reply, count=1_000, speaks=1_000):
    """Acts on what it was sent, and says so much of what it is asked for."""
    for _ in range(count):
        if line.inbox:
            line.act(reply)
    line.speak(speaks)


class ServiceRules(Stage):
    """One line at a time, that of the caller who has the attention."""

    @precondition(lambda self: has_line(self) and not self.line.utterance)
    @rule(ended_first=st.booleans(), stragglers=st.sampled_from([0, 0, 1, 3]), turns=TURNS)
    def caller_begins_to_speak(self, ended_first, stragglers, turns):
        line = self.line
        self.does(lambda: line.hear_speech(ended_first, stragglers), turns)

    @precondition(lambda self: has_line(self) and self.line.utterance)
    @rule(turns=TURNS)
    def caller_stops_speaking(self, turns):
        line = self.line
        self.does(line.hear_end, turns)

    @precondition(lambda self: has_line(self) and self.line.untranscribed)
    @rule(text=st.sampled_from(hostile.SPOKEN), which=st.integers(0, 3), turns=TURNS)
    def service_understands(self, text, which, turns):
        line = self.line
        untranscribed = line.untranscribed
        self.does(lambda: line.understand(untranscribed[which % len(untranscribed)], text), turns)

    @precondition(lambda self: has_line(self) and self.line.owes and not self.line.speaking)
    @rule(reply=REPLIES, count=COUNTS, turns=TURNS)
    def service_answers_speech(self, reply, count, turns):
        line = self.line

        def answer():
            line.begin(reply, utterance=line.owes)
            line.speak(count)

        self.does(answer, turns)

    @precondition(lambda self: has_line(self) and self.line.inbox)
    @rule(reply=REPLIES, reads=COUNTS, speaks=st.one_of(COUNTS, st.just(0)), turns=TURNS)
    def service_reads(self, reply, reads, speaks, turns):
        line = self.line
        self.does(lambda: reads_all(line, reply, reads, speaks), turns)

    @precondition(lambda self: has_line(self) and self.line.script)
    @rule(count=COUNTS, turns=TURNS)
    def service_speaks(self, count, turns):
        line = self.line
        self.does(lambda: line.speak(count), turns)

    @precondition(lambda self: has_line(self) and self.line.speaking)
    @rule(
        status=st.sampled_from(["failed", "incomplete", "completed"]),
        stragglers=st.sampled_from([0, 2]),
        turns=TURNS,
    )
    def service_gives_up(self, status, stragglers, turns):
        line = self.line
        self.does(lambda: line.end(status, stragglers), turns)

    @precondition(has_line)
    @rule(code=CODES, turns=TURNS)
    def service_complains(self, code, turns):
        """About what it tried by itself; it does not complain of a request that it will grant."""
        line = self.line
        asked = any(event["type"] == "response.create" for event in line.inbox)
        if not (asked and code in TOO_EARLY):
            self.does(lambda: line.complain(code), turns)

    @precondition(has_line)
    @rule(text=st.sampled_from(hostile.FROM_SERVICES), turns=TURNS)
    def service_talks_nonsense(self, text, turns):
        line = self.line
        self.does(lambda: line.say_text(text), turns)

    @precondition(lambda self: has_line(self) and self.line.speaking)
    @rule(times=st.sampled_from([40, 40, 5]), unread=st.booleans(), turns=TURNS)
    def service_sends_sound_faster_than_it_is_played(self, times, unread, turns):
        line, reads_on = self.line, self.call.reads_on
        place = {"response_id": line.speaking, "item_id": "item_of_sound", "output_index": 0}
        delta = {"type": AUDIO_DELTA, **place, "content_index": 0, "delta": sound(450, False)}

        def flood():
            if unread:
                reads_on.clear()
            line.say(*[delta] * times)

        self.does(flood, turns)

    @precondition(has_line)
    @rule(expired=st.booleans(), refusals=st.sampled_from([0, 0, 0, 1, 3, 4, 9]), turns=TURNS)
    def service_is_lost(self, expired, refusals, turns):
        line = self.line

        def lose():
            self.call.service.refusals = refusals
            if expired:
                line.complain("session_expired")
            line.drop()

        self.does(lose, turns)

    @precondition(has_line)
    @rule(reads=st.booleans(), turns=TURNS)
    def service_reads_on_or_not(self, reads, turns):
        line = self.line
        self.does(line.reads_on.set if reads else line.reads_on.clear, turns)
