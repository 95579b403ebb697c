"""The state machine of a live call: `handle(event, now)` returns the effects, in order. It calls nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conversations.core import events as e
from conversations.core.effects import (
    ClearTimer,
    Effect,
    Keep,
    Retrieve,
    SendItem,
    SetTimer,
    Show,
    Tell,
    Truncate,
)
from conversations.core.gate import Passed
from conversations.core.markers import Malformed, neutralise
from conversations.core.output import HOLD, Output, OutputEvent
from conversations.core.policy import Setup
from conversations.core.records import TurnTexts
from conversations.core.responses import BENIGN, CANCEL_TIMER, Responses
from conversations.core.toolcalls import Chosen, ToolCalls
from conversations.core.transcript import Said
from conversations.core.turns import Turn, open_turn

SILENCE = "silence"
BROWSER_OUTPUT = "browser-output"
HISTORY = 24


class Machine:
    """One live call. Old work is recognised by `generation`: whatever the caller does next raises it."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._responses = Responses()
        self._tools = ToolCalls(setup)
        self._output = Output(setup)
        self._unheard: set[str] = set()
        self._turn: Turn | None = None
        self._last: Turn | None = None
        self._next_index = setup.next_turn
        self._spoken_at: float | None = None
        self._stopped_at: float | None = None
        self._moved_at = 0.0
        self._watching = False
        self._retrieving: dict[str, str] = {}
        self.generation = 0
        self.history: list[Said] = []
        self._cells: Mapping[type, Callable[[Any, float], list[Effect]]] = {
            e.SpeechStarted: self._speech_started,
            e.SpeechStopped: self._speech_stopped,
            e.Heard: self._heard,
            e.ResponseStarted: self._answered,
            e.TextDelta: self._answered,
            e.TextDone: self._answered,
            e.AudioDelta: self._answered,
            e.Structure: self._answered,
            e.FunctionCall: self._function_call,
            e.ResponseDone: self._response_done,
            e.ItemEcho: self._item_echo,
            e.ServiceError: self._service_error,
            e.Passing: lambda event, _now: [Show(event.frame)],
            e.Typed: self._typed,
            e.BrowserOutput: self._browser_output,
            e.CreateAsked: self._create_asked,
            e.CancelAsked: lambda _event, now: self._interrupt("cancelled", now),
            e.TruncateAsked: self._truncate_asked,
            e.RetrieveAsked: self._retrieve_asked,
            e.Played: self._played,
            e.ToolEnded: self._tool_ended,
            e.ToolProgressed: lambda event, _now: self._tools.progressed(event),
            e.TimerFired: self._timer_fired,
            e.UpstreamLost: self._upstream_lost,
            e.Ended: lambda _event, now: self._interrupt("cancelled", now),
        }

    def handle(self, event: e.Event, now: float) -> list[Effect]:
        """What is to be done about it; an event without a cell is a bug and raises KeyError."""
        effects = self._cells[type(event)](event, now)
        return effects if isinstance(event, e.AudioDelta) else [*effects, *self._watch(now)]

    def recall(self, history: Sequence[Said]) -> list[Effect]:
        """What a new session of the service is told of the conversation; the browser knows it already."""
        self.history = list(history)
        effects: list[Effect] = [SendItem(_as_item(said, self._setup.new_id("item"))) for said in history]
        self._note_items(effects)
        return effects

    # ---- the caller speaks, writes, stops

    def _speech_started(self, event: e.SpeechStarted, now: float) -> list[Effect]:
        self._spoken_at, self._stopped_at = now, None
        return [Show(event.frame), *self._interrupt("interrupted", now)]

    def _speech_stopped(self, event: e.SpeechStopped, now: float) -> list[Effect]:
        self._stopped_at = now
        return [Show(event.frame)]

    def _heard(self, event: e.Heard, now: float) -> list[Effect]:
        effects: list[Effect] = [Show(event.frame)]
        text = (event.text or "").strip()
        if not text:
            return effects
        turn = self._turn
        if turn is None or turn.origin != "voice" or turn.caller_text:
            turn, opened = self._open("voice", now)
            effects.extend(opened)
        turn.caller_text = text
        return [*effects, Keep(TurnTexts(turn.turn_id, caller_text=text))]

    def _typed(self, event: e.Typed, now: float) -> list[Effect]:
        effects = self._interrupt("interrupted", now)
        turn, opened = self._open("text", now)
        turn.caller_text, turn.caller_done_at = event.text.strip(), now
        item = {**event.item, "id": event.item.get("id") or self._setup.new_id("item")}
        self._responses.item_sent(item["id"])
        texts = TurnTexts(turn.turn_id, caller_text=turn.caller_text)
        return [*effects, *opened, Keep(texts), SendItem(item)]

    def _create_asked(self, event: e.CreateAsked, now: float) -> list[Effect]:
        effects: list[Effect] = []
        turn = self._turn
        if turn is None:
            turn, effects = self._open("voice" if self._stopped_at else "text", now)
        turn.browser_asked = True
        if turn.batch:
            return [*effects, *self._advance()]
        return effects if self._responses.expecting else [*effects, *self._responses.want(event.options)]

    def _open(self, origin: str, now: float) -> tuple[Turn, list[Effect]]:
        voice = origin == "voice"
        started = self._spoken_at if voice and self._spoken_at else now
        turn = open_turn(self._setup, self._next_index, origin, started)
        turn.caller_done_at = self._stopped_at if voice else None
        before = self._close("done", now)
        self._next_index += 1
        self._turn, self._moved_at, self._spoken_at = turn, now, None
        return turn, [*before, Keep(turn.opened(self._setup))]

    def _interrupt(self, outcome: str, now: float, code: str = "", ref: str = "") -> list[Effect]:
        """Everything that runs becomes old: stopped, answered, unheard."""
        self.generation += 1
        effects = [*self._responses.cancel(), *self._output.shut(), *self._tools.cancel(self._turn)]
        self._note_items(effects)
        if self._turn is not None:
            self._turn.cut = True
        return [*effects, *self._close(outcome, now, code, ref)]

    def _close(self, outcome: str, now: float, code: str = "", ref: str = "") -> list[Effect]:
        turn, self._turn = self._turn, None
        if turn is None:
            return []
        self._last = turn
        closed = turn.closed(outcome, now, code, ref)
        said = (Said("caller", closed.caller_text), Said("assistant", closed.heard_text))
        self.history = [*self.history, *(one for one in said if one.text)][-HISTORY:]
        return [Keep(closed), ClearTimer(BROWSER_OUTPUT)]

    def _fail(self, code: str, now: float) -> list[Effect]:
        """The turn ends with an apology in writing, under a reference that the operator finds."""
        ref = self._setup.new_id("ref")
        fields = {"code": code, "message": self._setup.for_caller[code], "ref": ref}
        return [*self._interrupt("failed", now, code, ref), Tell("error", fields)]

    # ---- the service answers

    def _begin(self, response_id: str, now: float) -> list[Effect]:
        """A response that is seen for the first time, announced or not, is heard or stays unheard."""
        if response_id in self._unheard or self._output.turn_of(response_id) is not None:
            return []
        heard, effects = self._responses.started(response_id)
        if not heard:
            self._unheard.add(response_id)
            return effects
        turn = self._turn
        if turn is None:
            turn, opened = self._open("voice", now)
            effects.extend(opened)
        self._moved_at, turn.responded = now, True
        self._output.open(response_id, turn)
        return effects

    def _answered(self, event: OutputEvent, now: float) -> list[Effect]:
        effects = self._begin(event.response_id, now)
        if event.response_id in self._unheard:
            return effects
        return [*effects, *self._passed(event.response_id, self._output.take(event), now)]

    def _passed(self, response_id: str, passed: Passed, now: float) -> list[Effect]:
        turn = self._output.turn_of(response_id)
        if turn is None:
            return []
        if passed.effects:
            self._moved_at = now
            if turn.answered_at is None and self._output.spoke(response_id):
                turn.answered_at = now
        if passed.selection is None:
            return list(passed.effects)
        cancelled = self._responses.cancel_one(response_id)
        return [*passed.effects, *cancelled, *self._pick(turn, passed.selection, now)]

    def _function_call(self, event: e.FunctionCall, now: float) -> list[Effect]:
        if not self._tools.first_told(event):
            return []
        effects = self._begin(event.response_id, now)
        turn = self._output.turn_of(event.response_id) or self._last
        if turn is None:
            return effects
        current = turn is self._turn
        if self._output.is_browsers(event.name):
            if current:
                self._tools.pick_browsers(turn, event, self.generation)
                effects.append(SetTimer(BROWSER_OUTPUT, self._setup.limits.browser_output))
            return effects
        self._output.own(event)
        if not current:
            return [*effects, *self._tools.refuse_stale(turn, event, self.generation, now)]
        return [*effects, *self._pick(turn, event, now)]

    def _pick(self, turn: Turn, chosen: Chosen, now: float) -> list[Effect]:
        """One pick; one that comes after the last, or a second malformed one, ends the turn in words."""
        effects = self._tools.pick(turn, chosen, self.generation, now)
        hopeless = turn.last or (isinstance(chosen, Malformed) and turn.malformed)
        turn.malformed = turn.malformed or isinstance(chosen, Malformed)
        if hopeless:
            return [*effects, *self._fail("call_limit" if turn.last else "malformed_selection", now)]
        return effects

    def _response_done(self, event: e.ResponseDone, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for call in event.calls:
            effects.extend(self._function_call(call, now))
        effects.extend(self._begin(event.response_id, now))
        turn = self._output.turn_of(event.response_id)
        if turn is None:
            self._unheard.discard(event.response_id)
            return [*effects, *self._responses.finished(event.response_id), *self._advance()]
        current = turn is self._turn
        effects.extend(self._passed(event.response_id, self._output.finish(event.response_id), now))
        effects.append(self._output.done(event))
        effects.extend(self._responses.finished(event.response_id))
        if not current or turn is not self._turn:
            return effects
        return [*effects, *self._after_response(turn, event, now)]

    def _after_response(self, turn: Turn, event: e.ResponseDone, now: float) -> list[Effect]:
        if event.status == "failed":
            return self._fail("response_failed", now)
        if turn.batch:
            return self._advance()
        if event.status == "cancelled":
            return self._interrupt("interrupted", now)
        if self._responses.expecting:
            return []
        if not turn.answer.heard(cut=False) and not self._output.spoke(event.response_id):
            return self._fail("no_answer", now)
        return self._close("done", now)

    def _advance(self) -> list[Effect]:
        """Last result in: all outputs in the order of the picks, then one request for the answer."""
        turn = self._turn
        if turn is None or not turn.batch or self._responses.audible:
            return []
        if any(picked.output is None and not picked.browser_owned for picked in turn.batch):
            return []
        effects = self._tools.outputs(turn)
        self._note_items(effects)
        browsers = [picked for picked in turn.batch if picked.browser_owned]
        if any(picked.output is None for picked in browsers) or (browsers and not turn.browser_asked):
            return effects
        turn.batch.clear()
        turn.browser_asked = False
        turn.last = turn.allowance.spent
        return [*effects, *self._responses.want(last=turn.last), ClearTimer(BROWSER_OUTPUT)]

    def _note_items(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SendItem):
                self._output.hide(effect.item["id"])
                self._responses.item_sent(effect.item["id"])

    def _item_echo(self, event: e.ItemEcho, now: float) -> list[Effect]:
        self._responses.item_acknowledged(event.item_id)
        return list(self._output.echo(event).effects)

    def _service_error(self, event: e.ServiceError, now: float) -> list[Effect]:
        if event.event_id in self._retrieving:
            self._retrieving.pop(event.event_id)
            return [Tell("conversation.item.retrieved", {"item": None})]
        if event.code in BENIGN:
            return self._responses.refused(event.code)
        ref = self._setup.new_id("ref")
        fields = {"code": event.code, "message": self._setup.for_caller["service_error"], "ref": ref}
        return [*self._responses.refused(event.code), Tell("error", fields)]

    # ---- the browser's own tools, playback and questions

    def _browser_output(self, event: e.BrowserOutput, now: float) -> list[Effect]:
        picked = self._tools.browsers_call(self._turn, event.call_id)
        if picked is None:
            return []
        picked.output, picked.sent = neutralise(event.output), True
        item = self._tools.output_item(event.call_id, picked.output)
        self._output.reveal(item.item["id"])
        self._responses.item_sent(item.item["id"])
        return [item, *self._advance()]

    def _truncate_asked(self, event: e.TruncateAsked, now: float) -> list[Effect]:
        turn = self._turn_with(event.item_id)
        sent = turn.answer.sent_ms(event.item_id) if turn is not None else None
        if turn is None or sent is None:
            return []
        heard = min(max(event.audio_end_ms, 0), int(sent))
        turn.cut = True
        turn.answer.played(event.item_id, heard)
        return [Truncate(event.item_id, event.content_index, heard), *self._corrected(turn)]

    def _played(self, event: e.Played, now: float) -> list[Effect]:
        turn = self._turn_with(event.item_id)
        if turn is None:
            return []
        turn.answer.played(event.item_id, event.played_ms)
        return self._corrected(turn) if turn.cut else []

    def _turn_with(self, item_id: str) -> Turn | None:
        for turn in (self._turn, self._last):
            if turn is not None and turn.answer.sent_ms(item_id) is not None:
                return turn
        return None

    def _corrected(self, turn: Turn) -> list[Effect]:
        """A turn that is closed already is corrected to what was heard."""
        if turn is self._turn:
            return []
        return [Keep(TurnTexts(turn.turn_id, heard_text=turn.answer.heard(cut=True)))]

    def _retrieve_asked(self, event: e.RetrieveAsked, now: float) -> list[Effect]:
        if self._output.is_hidden(event.item_id):
            return [Tell("conversation.item.retrieved", {"item": None})]
        event_id = self._setup.new_id("event")
        self._retrieving[event_id] = event.item_id
        return [Retrieve(event.item_id, event_id)]

    # ---- tools, timers, the end

    def _tool_ended(self, event: e.ToolEnded, now: float) -> list[Effect]:
        self._moved_at = now
        return [*self._tools.ended(self._turn, event, now), *self._advance()]

    def _timer_fired(self, event: e.TimerFired, now: float) -> list[Effect]:
        if event.name.startswith(HOLD):
            response_id = event.name.removeprefix(HOLD)
            return self._passed(response_id, self._output.give_up_waiting(response_id), now)
        if event.name == CANCEL_TIMER:
            return [*self._responses.waited_long_enough(), *self._advance()]
        if event.name == BROWSER_OUTPUT and self._turn is not None:
            self._turn.browser_asked = True
            self._tools.give_up_on_browser(self._turn)
            return self._advance()
        if event.name == SILENCE and self._watching:
            self._watching = False
            if now - self._moved_at >= self._setup.limits.silence - 0.01:
                return self._fail("no_answer", now)
        return []

    def _upstream_lost(self, _event: e.UpstreamLost, now: float) -> list[Effect]:
        effects = self._interrupt("failed", now, "connection_lost", self._setup.new_id("ref"))
        self._responses = Responses()
        self._unheard.clear()
        return effects

    def _watch(self, now: float) -> list[Effect]:
        """The clock of silence runs while an answer is due and neither a tool nor the browser is at work."""
        turn = self._turn
        due = turn is not None and (
            self._responses.expecting or bool(turn.batch) or (turn.origin == "voice" and not turn.responded)
        )
        at_work = self._tools.running or any(one.browser_owned for one in (turn.batch if turn else ()))
        if due and not at_work:
            if self._watching:
                return []
            self._watching = True
            left = self._setup.limits.silence - (now - self._moved_at)
            return [SetTimer(SILENCE, max(left, 0.01))]
        if not self._watching:
            return []
        self._watching = False
        return [ClearTimer(SILENCE)]


def _as_item(said: Said, item_id: str) -> dict[str, Any]:
    role, kind = ("user", "input_text") if said.role == "caller" else ("assistant", "output_text")
    content = [{"type": kind, "text": neutralise(said.text)}]
    return {"id": item_id, "type": "message", "role": role, "content": content}
