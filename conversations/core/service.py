"""The speech service's side of a call: its responses, the tools that it picks, its echoes and complaints."""

from __future__ import annotations

from typing import NamedTuple

from conversations.core import events as e
from conversations.core import lines
from conversations.core.absence import unheard
from conversations.core.effects import Effect, SetTimer, Show
from conversations.core.floor import BROWSER_OUTPUT, Floor
from conversations.core.gate import Gate, Passed
from conversations.core.output import OutputEvent
from conversations.core.responses import BENIGN
from conversations.core.toolcalls import Chosen
from conversations.core.turns import Turn

CODE_LIMIT = 40
TURN_DETECTED = "turn_detected"
NOTHING_SAID = "input_audio_buffer_commit_empty"
RESPONSES_A_TURN = 32


class Flow(NamedTuple):
    """A part of an answer that passes as it comes: its response, item and index, its gate and its turn."""

    place: tuple[str, str, int]
    gate: Gate
    turn: Turn


class ServiceSide:
    """One method for each event. A response may come unannounced, and in any order with the others."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._flows: dict[type, Flow | None] = {}

    def answered(self, event: OutputEvent, now: float) -> list[Effect]:
        """Something of a response, announced or not."""
        effects = self._begin(event.response_id, now)
        if self._floor.output.turn_of(event.response_id) is None:
            if isinstance(event, e.Structure):
                self._floor.output.hide(event.item_id)
            return effects
        return [*effects, *self.passed(event.response_id, self._floor.output.take(event), now)]

    def flow(self, event: e.AudioDelta | e.TextDelta, now: float) -> bool:
        """Whether it is more of what is being said, which passes as it is and changes nothing but its length.

        What is of the same kind and part as the piece before is not looked at closely again.
        """
        kind, place = type(event), event[:3]
        flow = self._flows.get(kind)
        if flow is None or flow.place != place:
            flow = self._flows[kind] = self._begun(event)
        if flow is None:
            return False
        if isinstance(event, e.AudioDelta):
            perceived: bool | None = flow.gate.more_audio(event)
        elif flow.gate.overflows or flow.turn.answer.overflows:
            return False
        else:
            perceived = flow.gate.more_text(event)
        if perceived:
            flow.turn.answer.sounds(now)
            self._floor.moved_at = now
        return perceived is not None

    def _begun(self, event: e.AudioDelta | e.TextDelta) -> Flow | None:
        floor, turn = self._floor, self._floor.turn
        if turn is None or turn.owed or turn.answered_at is None or turn.answer.overflows:
            return None
        gate = floor.output.flow(event, turn)
        return None if gate is None else Flow(event[:3], gate, turn)

    def look_closely(self) -> None:
        """Something else happens, after which more of the same may not pass."""
        self._flows.clear()

    def passed(self, response_id: str, passed: Passed, now: float) -> list[Effect]:
        """What of a response may be heard is heard; a marker that it completed is a pick."""
        turn = self._floor.output.turn_of(response_id)
        if turn is None:
            return []
        if self._floor.output.take_perceived(response_id):
            turn.answer.sounds(now)
            self._floor.moved_at, self._floor.utterances.ignored = now, 0
            if not self._floor.responses.is_line(response_id):
                turn.owed, turn.answered_at = False, turn.answered_at or now
        if turn is self._floor.turn and (self._floor.output.overflows(response_id) or turn.answer.overflows):
            return [*passed.effects, *self._floor.fail("response_failed", now, "too_long")]
        if passed.selection is None or turn is not self._floor.turn:
            return list(passed.effects)
        cancelled = self._floor.responses.cancel_one(response_id)
        return [*passed.effects, *cancelled, *self._pick(turn, passed.selection, now)]

    def function_call(self, event: e.FunctionCall, now: float) -> list[Effect]:
        floor = self._floor
        if not floor.tools.first_told(event):
            return self._told_again(event, now)
        effects = self._begin(event.response_id, now)
        is_browsers = floor.output.is_browsers(event.name)
        turn = floor.output.turn_of(event.response_id)
        current = turn is not None and turn is floor.turn
        beyond = floor.tools.is_beyond(event)
        if beyond or not is_browsers or not current:
            floor.output.own(event)
        if turn is None or not current:
            turn, opened = self._turn_of_stale(turn, now)
            effects.extend(opened)
        if beyond:
            return [*effects, *floor.tools.refuse_beyond(turn, event)]
        if not current:
            return [*effects, *floor.tools.refuse_stale(turn, event, floor.generation, now)]
        if is_browsers:
            return [*effects, *self._pick_browsers(turn, event, now)]
        return [*effects, *self._pick(turn, event, now)]

    def response_done(self, event: e.ResponseDone, now: float) -> list[Effect]:
        floor, effects = self._floor, list[Effect]()
        if event.response_id and floor.output.has_ended(event.response_id):
            return []
        if self._is_about_nothing(event):
            return floor.responses.finished(event.response_id)
        for call in event.calls:
            effects.extend(self.function_call(call, now))
        effects.extend(floor.tools.note_beyond(floor.generation, now))
        effects.extend(self._begin(event.response_id, now))
        turn = floor.output.turn_of(event.response_id)
        if turn is None:
            return [*effects, *floor.responses.finished(event.response_id)]
        if event.status == "cancelled" and turn is floor.turn:
            effects.extend(self._cancelled(event, now))
        effects.extend(self.passed(event.response_id, floor.output.finish(event.response_id), now))
        effects.append(floor.output.done(event))
        effects.extend(floor.responses.finished(event.response_id))
        return [*effects, *self._after_response(turn, event, now)]

    def item_echo(self, event: e.ItemEcho, now: float) -> list[Effect]:
        self._floor.responses.item_acknowledged(event.item_id)
        return list(self._floor.output.echo(event).effects)

    def truncated(self, event: e.Truncated, _now: float) -> list[Effect]:
        self._floor.hearing.has_cut(event.item_id, event.content_index)
        return [Show(event.frame)]

    def service_error(self, event: e.ServiceError, now: float) -> list[Effect]:
        failed, effects = self._floor.responses.refused(event.event_id, event.code)
        if event.code == NOTHING_SAID:
            self._floor.utterances.push = None
        if event.code in BENIGN or (not failed and self._floor.hearing.refused(event.event_id)):
            return effects
        if failed and self._floor.turn is not None:
            return [*effects, *self._floor.fail("response_failed", now, _audited(event.code))]
        return [*effects, *self._floor.trouble("service_error", event.code)]

    def _begin(self, response_id: str, now: float) -> list[Effect]:
        """A response that is seen for the first time, announced or not, is heard or stays unheard."""
        floor = self._floor
        if self._is_known(response_id):
            return []
        heard, effects = floor.responses.started(response_id)
        if not heard:
            return effects
        if floor.tools.taps.awaited:
            return [*effects, *self._put_off(response_id)]
        turn = floor.turn
        if turn is None and floor.past and floor.responses.is_line(response_id):
            turn = floor.past[-1]
            turn.begin_again()
        if turn is None:
            turn, opened = floor.open("voice", now)
            turn.greets = floor.responses.is_line(response_id)
            effects.extend(opened)
        if turn.answer.responses >= RESPONSES_A_TURN:
            return [*effects, *floor.fail("response_failed", now, "too_many_responses")]
        turn.responded = True
        floor.hearing.follow(turn)
        floor.output.open(response_id, turn)
        return effects

    def _put_off(self, response_id: str) -> list[Effect]:
        """While the caller is asked nothing else is said; words not known yet get their answer later."""
        floor = self._floor
        if floor.utterances.open is not None:
            floor.utterances.open.wished = {}
        return floor.responses.cancel_one(response_id)

    def _is_about_nothing(self, event: e.ResponseDone) -> bool:
        """The end of a response without anything in it, of which nobody knows and for which nobody waits."""
        floor = self._floor
        waited_for = floor.turn is not None or floor.responses.busy or floor.utterances.open is not None
        known = self._is_known(event.response_id)
        return not (waited_for or known or event.calls or event.status == "failed")

    def _is_known(self, response_id: str) -> bool:
        """Whether it has a gate; where a service gives no ids, each response comes in place of the last."""
        known = self._floor.output.turn_of(response_id) is not None
        return known and (bool(response_id) or self._floor.responses.is_running(response_id))

    def _cancelled(self, event: e.ResponseDone, now: float) -> list[Effect]:
        """Where it was not us who ended it, the service has heard the caller before it says so."""
        responses = self._floor.responses
        ours = responses.is_doomed(event.response_id) or responses.is_over(event.response_id)
        if (ours and event.code != TURN_DETECTED) or self._floor.tools.taps.awaited:
            return []
        effects = self._floor.interrupt("interrupted", now)
        self._floor.utterances.announced = not self._floor.utterances.speaking
        return effects

    def _after_response(self, turn: Turn, event: e.ResponseDone, now: float) -> list[Effect]:
        floor = self._floor
        if floor.responses.is_line(event.response_id):
            return lines.ended(floor, turn, now)
        if turn is not floor.turn:
            return []
        if event.status == "failed" and not floor.responses.expecting:
            return floor.fail("response_failed", now, _audited(event.code))
        if turn.batch:
            return floor.advance()
        if floor.responses.expecting:
            return []
        if floor.output.has_missed(event.response_id):
            return unheard(floor, turn, event.response_id, now)
        if event.status == "incomplete":
            return self._incomplete(turn, _audited(event.code), now)
        return floor.fail("no_answer", now) if turn.owed else floor.close("done", now)

    def _incomplete(self, turn: Turn, cause: str, now: float) -> list[Effect]:
        """An answer that the service broke off: what there is of it counts, and the caller knows why."""
        floor = self._floor
        if turn.owed:
            return floor.fail("response_failed", now, cause) if cause else floor.fail("no_answer", now)
        troubled = floor.trouble("response_incomplete", cause or "response_incomplete")
        return [*troubled, *floor.close("done", now)]

    # ---- picks

    def _told_again(self, event: e.FunctionCall, now: float) -> list[Effect]:
        """The same call once more; one that has changed meanwhile is picked anew."""
        turn = self._floor.turn
        changed = self._floor.tools.taps.change(turn, event, now) if turn is not None else []
        if turn is None or not changed:
            return []
        self._floor.output.own(event)
        return [*changed, *self._pick(turn, event, now)]

    def _pick(self, turn: Turn, chosen: Chosen, now: float) -> list[Effect]:
        """One pick; one that comes after the last, or a second malformed one, ends the turn in words."""
        effects = self._floor.tools.pick(turn, chosen, self._floor.generation, now)
        malformed = turn.batch[-1].code == "malformed_selection"
        hopeless = malformed and turn.malformed
        turn.malformed = turn.malformed or malformed
        return self._unless_hopeless(turn, effects, "malformed_selection" if hopeless else "", now)

    def _pick_browsers(self, turn: Turn, event: e.FunctionCall, now: float) -> list[Effect]:
        effects = self._floor.tools.pick_browsers(turn, event, self._floor.generation, now)
        effects.append(SetTimer(BROWSER_OUTPUT, self._floor.setup.limits.browser_output))
        return self._unless_hopeless(turn, effects, "", now)

    def _unless_hopeless(self, turn: Turn, effects: list[Effect], code: str, now: float) -> list[Effect]:
        code = "call_limit" if turn.last else code
        return [*effects, *self._floor.fail(code, now)] if code else effects

    def _turn_of_stale(self, turn: Turn | None, now: float) -> tuple[Turn, list[Effect]]:
        """The turn in whose record a late call is noted: its own, the last one, or one of its own."""
        if turn is None and not self._floor.past:
            return self._floor.note_aside(None, "interrupted", "", now)
        return turn or self._floor.past[-1], []


def _audited(code: str) -> str:
    """The service's own code for the record, where it is one."""
    return code if code.replace("_", "").isalnum() and len(code) <= CODE_LIMIT else ""
