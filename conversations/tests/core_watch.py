"""A play in which every effect is held against the invariants at once, each under its number.

The numbers are the design's: 1 what needs a tap of the caller's runs as approved, 2 nothing secret is shown,
3 stale is dropped, 4 cancelled means cancelled, 5 every call is answered and every turn ends, 6 one response
at a time, 7 bounds hold, 9 the audit is complete, 10 the record is what was heard.
"""

import json
from collections import Counter

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.policy import REPEATABLE, Limits
from conversations.core.responses import CANCEL_TIMER
from conversations.core.sheets import summary
from conversations.tests.core_play import SECRET
from conversations.tests.core_sheets import DELETE, AskingPlay

LIMITS = Limits(attempts=3, result_chars=4_000, turn_result_chars=6_000, confirm=15)
SECRETS = ("<<", "MCP_CALL", "NAME=", "ARGUMENTS", "think", "plan", SECRET, "delete_account")
ALL = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 10})


class Watched(AskingPlay):
    """What happens between the core and a service, of which only what is `watched` must hold."""

    def __init__(self, service, watched=ALL):
        super().__init__(limits=LIMITS)
        self.watched = watched
        self.meets(service)
        self.tools_at_work = []
        self.turn_runs, self.turn_outputs, self.last_turns = {}, Counter(), set()
        self.words_of, self.said_of_calls = {}, {}
        self.unasked = set()
        self.shown_sheets, self.open_sheets, self.tapped = {}, {}, {}

    def hold(self, number, condition, words):
        assert condition or number not in self.watched, words

    def meets(self, service):
        """A session with this service begins; nothing is known of the one before."""
        self.service_side = service
        self.stale, self.stale_wishes = set(), set()
        self.cancelled_responses, self.given_up = set(), set()
        self.running_at_service, self.over = set(), set()
        self.outstanding = None

    # ---- the caller goes on

    def supersede(self):
        """The caller does something: whatever there is of answers by now must not be heard."""
        self.stale |= set(self.service_side.created_for)
        wishes = [effect for effect in self.service_side.inbox if isinstance(effect, fx.CreateResponse)]
        self.stale_wishes |= {wish.event_id for wish in wishes}
        self.tools_at_work = list(self.running)

    def was_superseded(self):
        """After it: tools are ended, and the service waits for none of them."""
        self.hold(4, set(self.tools_at_work) <= set(self.cancelled), "cancelled means cancelled")
        on_the_way = [
            one.item.get("call_id") for one in self.service_side.inbox if isinstance(one, fx.SendItem)
        ]
        unanswered = set(self.service_side.unanswered) - set(on_the_way)
        self.hold(3, not unanswered, "every call is answered at once when the caller goes on")

    # ---- the service

    def say(self, frames):
        """The service's frames reach the core."""
        for frame in frames:
            response_id = frame.get("response_id") or frame.get("response", {}).get("id")
            wish = self.service_side.created_for.get(response_id)
            if wish is not None and wish.event_id in self.stale_wishes:
                self.stale.add(response_id)
            if frame["type"] == "response.done":
                self.running_at_service.discard(response_id)
                self.over.add(response_id)
            elif response_id and response_id not in self.over:
                self.running_at_service.add(response_id)
            if self.outstanding is not None and self._is_settled_by(frame, wish):
                self.outstanding = None
            self.service(frame)

    def _is_settled_by(self, frame, wish):
        about = frame.get("error", {}).get("event_id")
        return about == self.outstanding.event_id or (wish is not None and wish == self.outstanding)

    # ---- what the core does about it

    def happens(self, *events):
        for event in events:
            if event == e.TimerFired(CANCEL_TIMER):
                self.given_up |= self.cancelled_responses
            if isinstance(event, e.CreateAsked):
                self.unasked -= set(self.open_turns)
            super().happens(event)
            self.hold(5, len(self.open_turns) <= 1, "one turn has the floor")

    def perform(self, effect):
        seen = len(self.seen)
        match effect:
            case fx.CreateResponse():
                self._check_request(effect)
            case fx.CancelResponse(response_id):
                self.cancelled_responses.add(response_id)
            case fx.RunTool():
                self._check_run(effect)
            case fx.SendItem(item):
                self._check_item(item)
            case fx.Command(command, payload):
                self._check_sheet(command, payload)
            case fx.Tell(name, fields) if name.startswith("vocero.tool."):
                self._check_told(name.removeprefix("vocero.tool."), fields["call_id"])
        super().perform(effect)
        for frame in self.seen[seen:]:
            self._check_frame(frame)
        if effect in self.sent:
            self.service_side.receives(self.sent.pop())
        for ends in (*self.rows.turn_ends.values(), *self.rows.call_ends.values()):
            self.hold(9, len(ends) == 1, "a row is closed once")

    def _check_request(self, effect):
        self.hold(3, self.open_turns, "nobody is answered who has not said anything since")
        self.hold(6, self.outstanding is None, "one request is outstanding")
        self.hold(6, self.running_at_service <= self.given_up, "no request while a response runs")
        self.outstanding = effect
        if effect.last and self.open_turns:
            self.last_turns.add(self.open_turns[-1])

    def _check_run(self, effect):
        turn_id = self.turn_of(effect)
        approved = effect.name != DELETE or self.tapped.get(effect.call_id) == effect.arguments
        self.hold(1, approved, "what needs a tap runs after a yes, as it was shown")
        self.hold(3, turn_id in self.open_turns, "no tool runs for a turn that is over")
        self.hold(7, turn_id not in self.last_turns, "after the last attempt no tool runs")
        runs = self.turn_runs.setdefault(turn_id, [])
        runs.append(effect)
        self.hold(7, len(runs) <= LIMITS.attempts, "a turn has so many attempts")
        same = [one for one in runs if (one.name, one.arguments) == (effect.name, effect.arguments)]
        codes = [end.code for one in same[:-1] for end in self.rows.call_ends.get(one.call_id, [])]
        repeatable = len(same) <= 2 and len(codes) == len(same) - 1 and set(codes) <= REPEATABLE
        self.hold(7, repeatable, "the same call runs once, and once more after a failure of the line")

    def turn_of(self, run):
        """The turn for which a tool is started: a row that was there before is approved."""
        opened = run.opened if hasattr(run.opened, "turn_id") else self.rows.calls[run.call_id]
        return opened.turn_id

    def _check_sheet(self, command, payload):
        nonce = payload["nonce"]
        if command == "close_confirm":
            self.open_sheets.pop(nonce, None)
            return
        self.hold(1, nonce not in self.shown_sheets, "each sheet has a nonce of its own")
        row = self.rows.calls[payload["call_id"]]
        self.hold(
            1, summary(row.arguments) == pairs(payload["summary"]), "a sheet shows its call's arguments"
        )
        self.shown_sheets[nonce] = self.open_sheets[nonce] = payload

    def taps(self, sheet, answer="yes"):
        """The caller taps on a sheet that is open or was."""
        if self.open_sheets.pop(sheet["nonce"], None) is not None and answer == "yes":
            self.tapped[sheet["call_id"]] = self.rows.calls[sheet["call_id"]].arguments
        super().taps(sheet, answer)

    def _check_item(self, item):
        text = item.get("output") or "".join(part.get("text", "") for part in item.get("content", ()))
        self.hold(2, "<<" not in text and "MCP_CALL" not in text, "data for the model is disarmed")
        if self.open_turns:
            self.turn_outputs[self.open_turns[-1]] += len(text)
        fits = all(chars <= LIMITS.turn_result_chars + 2_000 for chars in self.turn_outputs.values())
        self.hold(7, fits, "a turn has so many code points of results")

    def _check_told(self, what, call_id):
        told = self.said_of_calls.setdefault(call_id, [])
        told.append(what)
        ends = [one for one in told if one in ("completed", "failed")]
        self.hold(5, len(ends) <= 1, "a call ends once for the caller")
        self.hold(3, told[-1] in ("completed", "failed") or not ends, "nothing is told of a call that ended")

    def _check_frame(self, frame):
        text = json.dumps(frame, ensure_ascii=False)
        self.hold(2, not any(trace in text for trace in SECRETS), text)
        hidden = set(strings(frame)) & self.service_side.hidden_ids
        self.hold(2, not hidden, "no trace of a server's call")
        self.hold(3, frame.get("response_id") not in self.stale, "nothing stale is shown")
        if frame["type"].endswith("transcript.delta") and self.open_turns:
            turn_id = self.open_turns[0]
            self.words_of[turn_id] = self.words_of.get(turn_id, "") + frame["delta"]

    # ---- at any time, and at the end

    def check_record(self):
        """The words of every turn that ended are words that were shown."""
        for turn_id, ends in self.rows.turn_ends.items():
            heard, said = ends[0].heard_text.replace(" ", ""), self.words_of.get(turn_id, "")
            self.hold(10, is_subsequence(heard, said), "what was heard was said")

    def check_silence(self):
        """Nobody has said anything for long: a turn is over, unless a tool runs or nobody asked."""
        self.hold(5, self.running or set(self.open_turns) <= self.unasked, "no dead air")

    def check_rest(self):
        """Everybody has done what was left to do: nothing is left open but what nobody asked for."""
        answers = self.service_side.answers.values()
        self.hold(5, all(len(outputs) == 1 for outputs in answers), "every call is answered, and once")
        self.hold(5, set(self.open_turns) <= self.unasked, "every turn ends")

    def check_end(self):
        """The call is over and its tools have ended."""
        self.hold(5, not self.open_turns, "every turn ends")
        self.hold(9, set(self.rows.calls) == set(self.rows.call_ends), "every row is closed")


def pairs(listed):
    """A sheet's summary as (label, value)."""
    return [(one["label"], one["value"]) for one in listed]


def strings(value):
    """All strings in a frame."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def is_subsequence(some, whole):
    letters = iter(whole)
    return all(letter in letters for letter in some)
