"""What callers and their browsers may do next."""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from conversations.tests.machine import hostile
from conversations.tests.machine.replies import sound
from conversations.tests.machine.stage import Stage

# How often the loop turns after a step: mostly until nothing is left to do.
TURNS = st.sampled_from([None, None, None, None, 0, 1, 2, 3, 5])
ITEMS = st.sampled_from(
    [f"item_{number}_{line}x" for number in range(1, 7) for line in (0, 0, 1)] + ["item-9."]
)
MILLISECONDS = st.sampled_from([0, 30, 120, 400, 100_000, -5])


def talks(machine):
    """The caller has a socket that has not been told to end."""
    return not (machine.call.over or machine.call.ending or machine.call.away)


class CallerRules(Stage):
    """Speech is the service's to tell: see the service's rules."""

    @precondition(talks)
    @rule(text=st.sampled_from(hostile.TYPED), asks=st.booleans(), stops=st.booleans(), turns=TURNS)
    def caller_types(self, text, asks, stops, turns):
        self.does(lambda: self.types(text, asks, stops), turns)

    def types(self, text="And cage five?", asks=True, stops=False):
        content = [{"type": "input_text", "text": text}]
        if stops:
            self.call.send("response.cancel")
        self.call.send(
            "conversation.item.create", item={"type": "message", "role": "user", "content": content}
        )
        if asks:
            self.call.send("response.create")

    @precondition(talks)
    @rule(turns=TURNS)
    def caller_stops(self, turns):
        self.does(lambda: self.call.send("response.cancel"), turns)

    @precondition(talks)
    @rule(
        options=st.sampled_from([{}, {"output_modalities": ["text"]}, {"max_output_tokens": 99}]), turns=TURNS
    )
    def browser_asks(self, options, turns):
        self.does(lambda: self.call.send("response.create", response=options), turns)

    @precondition(talks)
    @rule(item_id=ITEMS, played=MILLISECONDS, cut=st.booleans(), turns=TURNS)
    def browser_plays(self, item_id, played, cut, turns):
        def play():
            self.call.send("vocero.client.played", item_id=item_id, played_ms=played)
            if cut:
                place = {"item_id": item_id, "content_index": 0, "audio_end_ms": played + 10}
                self.call.send("conversation.item.truncate", **place)

        self.does(play, turns)

    @precondition(talks)
    @rule(output=st.sampled_from(hostile.FOUND), asks=st.booleans(), which=st.integers(0, 9), turns=TURNS)
    def browser_answers(self, output, asks, which, turns):
        """A call of its own, as a rule; sometimes one of the server's."""
        known = sorted(self.line.answers) if self.line is not None else []
        call_id = known[which % len(known)] if known else "call_of_nobody"

        def bring():
            item = {"type": "function_call_output", "call_id": call_id, "output": output}
            self.call.send("conversation.item.create", item=item)
            if asks:
                self.call.send("response.create")

        self.does(bring, turns)

    @precondition(talks)
    @rule(answer=st.sampled_from(["yes", "yes", "no", "perhaps"]), which=st.integers(0, 3), turns=TURNS)
    def caller_taps(self, answer, which, turns):
        """On the last sheet or an older one, or on none."""
        sheets = self.call.sheets[::-1]
        nonce = sheets[which % len(sheets)] if sheets else "nonce_of_nobody"
        message = {"t": "confirm_answer", "d": {"nonce": nonce, "answer": answer}}
        self.does(lambda: self.call.send("client-message", label="rtvi-ai", id="1", data=message), turns)

    @precondition(talks)
    @rule(item_id=ITEMS, turns=TURNS)
    def browser_looks_at_an_item(self, item_id, turns):
        self.does(lambda: self.call.send("conversation.item.retrieve", item_id=item_id), turns)

    @precondition(talks)
    @rule(session=st.sampled_from(hostile.PAGE_SESSIONS), turns=TURNS)
    def page_sets_its_session(self, session, turns):
        self.does(lambda: self.call.send("session.update", session=session), turns)

    @precondition(talks)
    @rule(frame=st.sampled_from(hostile.FROM_CLIENTS), turns=TURNS)
    def client_is_hostile(self, frame, turns):
        self.does(lambda: self.call.send_text(frame), turns)

    @precondition(talks)
    @rule(
        milliseconds=st.sampled_from([20, 450]),
        times=st.sampled_from([1, 3, 40]),
        unread=st.booleans(),
        turns=TURNS,
    )
    def caller_sends_sound(self, milliseconds, times, unread, turns):
        line, sounds = self.line, sound(milliseconds, False)

        def send():
            if unread and line is not None:
                line.reads_on.clear()
            for _ in range(times):
                self.call.send("input_audio_buffer.append", audio=sounds)

        self.does(send, turns)

    @precondition(talks)
    @rule(deeds=st.lists(st.sampled_from(["type", "ask", "stop"]), min_size=2, max_size=6), turns=TURNS)
    def caller_changes_their_mind(self, deeds, turns):
        """Several things at once, before anybody can answer."""
        doing = {"type": lambda: self.types(asks=False), "ask": self.asks, "stop": self.stops}
        self.does(lambda: [doing[deed]() for deed in deeds], turns)

    def asks(self):
        self.call.send("response.create")

    def stops(self):
        self.call.send("response.cancel")

    @precondition(talks)
    @rule(reads=st.booleans())
    def browser_reads_or_not(self, reads):
        self.does(self.call.reads_on.set if reads else self.call.reads_on.clear)
