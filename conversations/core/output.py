"""What the browser sees of the service's responses: each behind its gate, our own calls left out."""

from __future__ import annotations

from conversations.core.effects import ClearTimer, Effect, SetTimer, Show, ShowCut
from conversations.core.events import (
    AudioDelta,
    FunctionCall,
    ItemEcho,
    ResponseDone,
    ResponseStarted,
    Structure,
    TextDelta,
    TextDone,
)
from conversations.core.gate import NOTHING, Gate, Passed
from conversations.core.markers import MarkerParser
from conversations.core.policy import Setup
from conversations.core.turns import Turn

HOLD = "hold:"
REMEMBERED = 64

OutputEvent = ResponseStarted | TextDelta | TextDone | AudioDelta | Structure


class Output:
    """The gates of the call's responses, and which items are not for the browser."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._gates: dict[str, tuple[Gate, Turn]] = {}
        self._response_of: dict[str, str] = {}
        self._hidden: set[str] = set()
        self._browsers: set[str] = set()
        self._holding: set[str] = set()

    def turn_of(self, response_id: str) -> Turn | None:
        """The turn that a response belongs to; None for one that is not heard."""
        known = self._gates.get(response_id)
        return known[1] if known else None

    def spoke(self, response_id: str) -> bool:
        """Whether anything of a response reached the browser."""
        known = self._gates.get(response_id)
        return known is not None and known[0].spoke

    def open(self, response_id: str, turn: Turn) -> None:
        """A response of this turn may be heard."""
        if len(self._gates) >= REMEMBERED:
            oldest = next(iter(self._gates))
            del self._gates[oldest]
            self._response_of = {item: one for item, one in self._response_of.items() if one != oldest}
        gate = Gate(None if self._setup.plain else MarkerParser())
        turn.answer.follow(gate.kept, gate.audio_ms)
        self._gates[response_id] = (gate, turn)

    def hide(self, item_id: str) -> None:
        """An item of ours, or of a call of ours, is not for the browser."""
        self._hidden.add(item_id)

    def reveal(self, item_id: str) -> None:
        """An item of ours that the browser may see: the output of a call of its own."""
        self._browsers.add(item_id)

    def is_hidden(self, item_id: str) -> bool:
        """Whether an item must look as if it did not exist."""
        return item_id in self._hidden

    def take(self, event: OutputEvent) -> Passed:
        """What of an event of a heard response passes."""
        gate, _ = self._gates[event.response_id]
        if isinstance(event, ResponseStarted):
            return Passed((Show(event.frame),))
        self._response_of[event.item_id] = event.response_id
        match event:
            case TextDelta():
                passed = gate.text(event)
            case TextDone():
                passed = gate.text_done(event)
            case AudioDelta():
                passed = gate.audio(event)
            case Structure():
                passed = self._structure(gate, event)
        return self._timed(event.response_id, gate, passed)

    def give_up_waiting(self, response_id: str) -> Passed:
        """The time limit of what a response holds back ran out."""
        known = self._gates.get(response_id)
        self._holding.discard(response_id)
        return known[0].give_up_waiting() if known else NOTHING

    def finish(self, response_id: str) -> Passed:
        """A response is over: what it still holds is released or dropped."""
        gate, _ = self._gates[response_id]
        return self._timed(response_id, gate, gate.finish())

    def done(self, event: ResponseDone) -> Effect:
        """The end of a response as the browser may see it."""
        gate, _ = self._gates[event.response_id]
        told = (*event.calls, *event.told)
        hidden = frozenset(call.item_id for call in told if not self.is_browsers(call.name))
        if gate.cut or hidden:
            return ShowCut(event.frame, dict(gate.kept), hidden)
        return Show(event.frame)

    def echo(self, event: ItemEcho) -> Passed:
        """An item that the service repeats."""
        if event.item_id in self._hidden or event.role == "system":
            return NOTHING
        if event.kind == "function_call":
            return Passed((Show(event.frame),)) if self.is_browsers(event.name) else NOTHING
        if event.kind == "function_call_output" and event.item_id not in self._browsers:
            # A service may give our outputs ids of its own.
            return NOTHING
        if event.role != "assistant":
            return Passed((Show(event.frame),))
        response_id = self._response_of.get(event.item_id)
        known = self._gates.get(response_id) if response_id else None
        if known is None or response_id is None:
            return NOTHING
        return known[0].structure(Structure(response_id, event.item_id, event.frame))

    def shut(self) -> list[Effect]:
        """Everything so far is old: nothing more of it passes."""
        for gate, _ in self._gates.values():
            gate.shut()
        cleared: list[Effect] = [ClearTimer(HOLD + one) for one in sorted(self._holding)]
        self._holding.clear()
        return cleared

    def is_browsers(self, name: str) -> bool:
        """Whether a tool of that name is the browser's own."""
        return name in self._setup.browser_tools

    def own(self, call: FunctionCall) -> None:
        """A call whose traces the browser must not see."""
        self._hidden.add(call.item_id)

    def _structure(self, gate: Gate, event: Structure) -> Passed:
        if not event.of_call:
            return NOTHING if event.item_id in self._hidden else gate.structure(event)
        if self.is_browsers(event.name):
            self._browsers.add(event.item_id)
        if event.item_id in self._browsers:
            return Passed((Show(event.frame),))
        self._hidden.add(event.item_id)
        return NOTHING

    def _timed(self, response_id: str, gate: Gate, passed: Passed) -> Passed:
        timer = HOLD + response_id
        if gate.waiting == (response_id in self._holding):
            return passed
        if gate.waiting:
            self._holding.add(response_id)
            return Passed((*passed.effects, SetTimer(timer, self._setup.limits.hold)), passed.selection)
        self._holding.discard(response_id)
        return Passed((*passed.effects, ClearTimer(timer)), passed.selection)
