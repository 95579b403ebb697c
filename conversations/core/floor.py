"""Who has the floor: the turn that runs, those just before it, and what happens when it changes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from conversations.core.effects import (
    ClearTimer,
    DropSound,
    Effect,
    Keep,
    Redeclare,
    SendItem,
    StopBrain,
    Tell,
)
from conversations.core.events import ToolsOffered
from conversations.core.generation import Generation
from conversations.core.hearing import HEARING, Hearing
from conversations.core.output import Output
from conversations.core.policy import Setup
from conversations.core.records import TurnTroubled
from conversations.core.responses import CANCEL_TIMER, Responses
from conversations.core.toolcalls import ToolCalls
from conversations.core.transcript import Key, Said
from conversations.core.turns import Turn, open_turn
from conversations.core.utterances import Utterance, Utterances

BROWSER_OUTPUT = "browser-output"
PAST = 12
# Who can be absent, besides the BROWSER.
SERVICE = "service"
# The code of what is said while a tool takes long.
SLOW_TOOL = "slow_tool"
# Outcomes of a turn that the caller ended, who then hears no more of it.
BY_CALLER = frozenset({"interrupted", "cancelled"})


class Floor:
    """What both sides of a call share. Old work is recognised by its generation: every change raises it.

    `absent` names who is lost for now, of `SERVICE` and `BROWSER`. While a brain `thinks` for the turn it may
    be at work with a tool, or wait for a tap.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.absent: set[str] = set()
        self._generation = Generation()
        self.responses = Responses(self._new_event_id, self._generation, self.absent)
        self.tools = ToolCalls(setup, self._generation)
        self.output = Output(setup, self.absent)
        self.utterances = Utterances()
        self.hearing = Hearing(self._new_event_id)
        self.turn: Turn | None = None
        self.past: deque[Turn] = deque(maxlen=PAST)
        self.moved_at = 0.0
        self.thinks = self.thinks_at_work = False
        self._next_index = setup.next_turn
        self._recalled: list[Said] = []
        self._offered: ToolsOffered | None = None

    @property
    def generation(self) -> int:
        """The number of the newest work."""
        return self._generation.number

    @property
    def history(self) -> list[Said]:
        """What was said and heard in the last turns, oldest first, as far as is known by now."""
        said = list(self._recalled)
        for turn in (*self.past, *((self.turn,) if self.turn is not None else ())):
            said.append(Said("caller", turn.caller_text))
            said.append(Said("assistant", turn.heard()))
        return [one for one in said if one.text][-2 * PAST :]

    def recall(self, history: Sequence[Said]) -> None:
        """The call goes on from this history."""
        self._recalled = list(history)[-2 * PAST :]

    def found_service(self) -> list[Effect]:
        """There is a session again: it is told what finished meanwhile, and asked for what is due."""
        self.absent.discard(SERVICE)
        return [*self.hand_in(), *self.advance(), *self.responses.go_on()]

    def open(self, origin: str, now: float) -> tuple[Turn, list[Effect]]:
        """A new turn has the floor; none may have it. A `voice` turn is that of the open utterance."""
        turn, opened = self._open(origin, self.utterances.open if origin == "voice" else None, now)
        self.turn, self.moved_at, self.utterances.announced = turn, now, False
        return turn, opened

    def note_aside(
        self, utterance: Utterance | None, outcome: str, text: str, now: float
    ) -> tuple[Turn, list[Effect]]:
        """A turn that never had the floor: said, but talked over before anything came of it."""
        turn, opened = self._open("voice", utterance, now, aside=True)
        turn.caller_text = text
        self.past.append(turn)
        return turn, [*opened, Keep(turn.closed(outcome, now))]

    def interrupt(self, outcome: str, now: float, code: str = "", ref: str = "") -> list[Effect]:
        """Everything that runs becomes old: stopped, answered, unheard."""
        self._generation.rise()
        self.utterances.announced = False
        turn = self.turn
        wordless = turn is not None and turn.origin == "voice" and not turn.responded
        unanswered = wordless or self.utterances.unanswered
        cancelled = self.responses.cancel(unanswered)
        effects = [*cancelled, *self.output.shut(), *self.tools.cancel(turn, now), *self.stop_brain()]
        effects.extend(self.tools.note_beyond(self.generation, now))
        if self.utterances.unanswered:
            self.utterances.give_up(outcome)
        effects.extend(self._cut_playback(turn, outcome in BY_CALLER, now))
        return [*effects, *self.close(outcome, now, code, ref)]

    def stop_brain(self) -> list[Effect]:
        """What a brain does for the turn is old now."""
        was, self.thinks, self.thinks_at_work = self.thinks, False, False
        return [StopBrain()] if was else []

    def hush(self, now: float) -> list[Effect]:
        """The answer falls silent, and its turn goes on."""
        cut = [self.turn] if self.turn is not None and self.turn.cut(now) else []
        if self.turn is not None:
            self.turn.begin_again()
        return [*self.responses.cancel(), *self.output.shut(), DropSound(), *self.hearing.cut(cut)]

    def _cut_playback(self, turn: Turn | None, by_caller: bool, now: float) -> list[Effect]:
        """A caller who goes on stops playback, which runs behind the service; else what was sent is heard."""
        playing = [turn] if turn is not None else []
        if by_caller and self.past:
            playing.append(self.past[-1])
        cut = [one for one in playing if one.cut(now if by_caller else math.inf)]
        if not by_caller:
            return []
        return [DropSound(), *self.hearing.cut([one for one in cut if one.unheard()])]

    def close(self, outcome: str, now: float, code: str = "", ref: str = "") -> list[Effect]:
        """The turn, if one has the floor, ends."""
        turn, self.turn = self.turn, None
        if turn is None:
            return []
        self.past.append(turn)
        closed: list[Effect] = [Keep(turn.closed(outcome, now, code, ref)), ClearTimer(BROWSER_OUTPUT)]
        return [*closed, *self._take_offer(), *self.hand_in()]

    def offer(self, offered: ToolsOffered) -> list[Effect]:
        """What may be called changes between two turns: now, or when the turn that runs has ended."""
        self._offered = offered
        return [] if self.turn is not None else self._take_offer()

    def _take_offer(self) -> list[Effect]:
        offered, self._offered = self._offered, None
        if offered is None:
            return []
        self.setup = replace(
            self.setup,
            server_tools=offered.server_tools,
            browser_tools=offered.browser_tools,
            aliases=offered.aliases,
        )
        self.tools.setup = self.output.setup = self.setup
        return [Redeclare()]

    def hand_in(self) -> list[Effect]:
        """What is to be known of past turns enters the history before the next; nobody is to answer it."""
        if self.turn is not None or SERVICE in self.absent:
            return []
        notes = [
            self.tools.note(self.setup.for_model[code] + text) for code, text in self.hearing.take_notes()
        ]
        return [*notes, *self.tools.take_finished()]

    def fail(self, code: str, now: float, cause: str = "") -> list[Effect]:
        """The turn ends with an apology, under a reference that the operator finds."""
        ref = self._reference(self.turn)
        if self.turn is not None and code == "no_answer":
            self.turn.silent_ms = int((now - self.moved_at) * 1000)
        fields = {"code": code, "message": self.setup.for_caller[code], "ref": ref}
        ended = self.interrupt("failed", now, cause or code, ref)
        return [*ended, Tell("error", fields), *self.regret(code)]

    def regret(self, code: str) -> list[Effect]:
        """The same aloud, where that is wanted; a caller who speaks now is not talked over."""
        line = self.setup.spoken.get(code, "")
        return [] if not line or self.utterances.speaking else self.responses.want_line(line)

    def trouble(self, code: str, cause: str) -> list[Effect]:
        """The caller is told of trouble that ends no turn; the reference is that of the turn it came in."""
        turn = self.turn or (self.past[-1] if self.past else None)
        fields = {"code": cause, "message": self.setup.for_caller[code]}
        if turn is None:
            return [Tell("error", fields)]
        ref = self._reference(turn)
        return [Keep(TurnTroubled(turn.turn_id, cause, ref)), Tell("error", {**fields, "ref": ref})]

    def _reference(self, turn: Turn | None) -> str:
        """One reference a turn, whatever is told of it."""
        if turn is None:
            return self.setup.new_id("ref")
        turn.ref = turn.ref or self.setup.new_id("ref")
        return turn.ref

    def advance(self, of: Turn | None = None) -> list[Effect]:
        """Last result in: all outputs in the order of the picks, then one request for the answer.

        `of` names the turn where that may be an older one.
        """
        turn = of or self.turn
        if turn is None or not turn.batch or self.responses.audible or SERVICE in self.absent:
            return []
        if any(picked.output is None and not picked.browser_owned for picked in turn.batch):
            return []
        effects = self.tools.outputs(turn)
        if turn is not self.turn or turn.awaits_browser:
            return effects
        options, turn.wished = turn.wished, None
        turn.told.extend(turn.batch)
        turn.batch.clear()
        turn.owed, turn.last = True, turn.allowance.spent
        return [*effects, *self.responses.want(options, turn.last), ClearTimer(BROWSER_OUTPUT)]

    def sent(self, effect: SendItem) -> list[Effect]:
        """An item goes to the service; what follows from that."""
        self.output.sent(effect.item, effect.shown)
        return self.responses.item_sent(effect.item["id"], effect.item["type"])

    def turn_with(self, key: Key) -> Turn | None:
        """The turn whose answer holds that part, as far back as is known."""
        for turn in (self.turn, *reversed(self.past)):
            if turn is not None and turn.answer_with(key) is not None:
                return turn
        return None

    def turn_of_call(self, call_id: str) -> Turn | None:
        """The turn in which a tool runs, as far back as is known."""
        turn_id = self.tools.turn_of(call_id)
        known = (turn for turn in (self.turn, *reversed(self.past)) if turn is not None)
        return next((turn for turn in known if turn.turn_id == turn_id), None)

    def lose_service(self) -> list[Effect]:
        """The service's session is gone, with every response, item and utterance in it."""
        self.absent.add(SERVICE)
        self.responses = Responses(self._new_event_id, self._generation, self.absent)
        self.output = Output(self.setup, self.absent)
        self.utterances = Utterances()
        self.hearing = Hearing(self._new_event_id)
        self.tools.forget_service()
        return [ClearTimer(CANCEL_TIMER), ClearTimer(HEARING), *self.stop_brain()]

    def _open(
        self, origin: str, utterance: Utterance | None, now: float, aside: bool = False
    ) -> tuple[Turn, list[Effect]]:
        turn = open_turn(self.setup, self._next_index, origin, utterance.began_at if utterance else now)
        self._next_index += 1
        if utterance is not None:
            utterance.turn, turn.caller_done_at = turn, utterance.ended_at
        return turn, [Keep(turn.opened(self.setup, aside))]

    def _new_event_id(self) -> str:
        return self.setup.new_id("event")
