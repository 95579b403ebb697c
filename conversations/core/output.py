"""What the browser sees of the service's responses: each behind its gate, our own calls left out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

from conversations.core.effects import ClearTimer, Effect, SetTimer, Show, ShowCut, ShowDelta, Tell
from conversations.core.events import (
    AudioDelta,
    Committed,
    FunctionCall,
    ItemEcho,
    ResponseDone,
    ResponseStarted,
    Structure,
    TextDelta,
    TextDone,
)
from conversations.core.gate import NOTHING, Gate, Passed
from conversations.core.markers import MarkerParser, neutralise
from conversations.core.policy import Setup
from conversations.core.recent import Recent
from conversations.core.transcript import Key
from conversations.core.turns import Turn

HOLD = "hold:"
# Of who can be absent, the one who sees and hears.
BROWSER = "browser"
RESPONSES = 64
ITEMS = 4_096  # More than an hour's call makes; a hidden item must not be forgotten.
STEPS = 64
WORDS = 120

OutputEvent = ResponseStarted | TextDelta | TextDone | AudioDelta | Structure

NOT_FOUND = Tell("conversation.item.retrieved", {"item": None})


class Output:
    """The gates of the call's responses, and which items are not for the browser."""

    def __init__(self, setup: Setup, absent: Set[str] = frozenset()) -> None:
        self.setup = setup
        self._absent = absent
        self._gates: OrderedDict[str, tuple[Gate, Turn]] = OrderedDict()
        self._response_of: Recent[str] = Recent(ITEMS)
        self._hidden: Recent[None] = Recent(ITEMS)
        self._hidden_words: Recent[None] = Recent(ITEMS)
        self._browsers: Recent[None] = Recent(ITEMS)
        self._typed: Recent[None] = Recent(ITEMS)
        self._typed_words: Recent[None] = Recent(ITEMS)
        self._spoken: Recent[None] = Recent(ITEMS)
        self._before: Recent[str] = Recent(ITEMS)
        self._holding: set[str] = set()
        # A service that leaves the opening tag out is known by its first answer, whose thoughts have passed.
        self._thinks_first = setup.thinks_first

    def turn_of(self, response_id: str) -> Turn | None:
        """The turn that a response belongs to; None for one that is not heard."""
        known = self._gates.get(response_id)
        return known[1] if known else None

    def has_ended(self, response_id: str) -> bool:
        """Whether the end of a response was shown."""
        known = self._gates.get(response_id)
        return known is not None and known[0].ended

    def take_perceived(self, response_id: str) -> bool:
        """Whether the caller could see or hear something of a response since this was last asked."""
        known = self._gates.get(response_id)
        return known is not None and known[0].take_perceived()

    def overflows(self, response_id: str) -> bool:
        """Whether a response says more than any answer does."""
        known = self._gates.get(response_id)
        return known is not None and known[0].overflows

    def has_missed(self, response_id: str) -> bool:
        """Whether something of a response was said to nobody."""
        known = self._gates.get(response_id)
        return known is not None and known[0].missed

    def missed(self, response_id: str) -> list[tuple[Key, int]]:
        """The spoken parts of which that is so, with the milliseconds that were not missed."""
        gate, _ = self._gates[response_id]
        return [(key, int(gate.spoken.audio_ms.get(key, 0.0))) for key in gate.missed_audio]

    def open(self, response_id: str, turn: Turn) -> None:
        """A response of this turn may be heard."""
        gate = Gate(None if self.setup.plain else MarkerParser(self._thinks_first))
        turn.answer.follow(gate.spoken)
        self._gates[response_id] = (gate, turn)
        if len(self._gates) > RESPONSES:
            self._gates.popitem(last=False)

    def sent(self, item: Mapping[str, Any], shown: bool) -> None:
        """An item goes to the service; with `shown` it is the browser's own, else not for the browser."""
        if not shown:
            self.hide(item["id"])
            for part in item.get("content") or ():
                self._hidden_words.put(_beginning(part["text"]), None)
        elif item["type"] == "function_call_output":
            self._browsers.put(item["id"], None)
        else:
            # The browser may choose this id: it must never make another item visible.
            self._typed.put(item["id"], None)
            for part in item["content"]:
                self._typed_words.put(_beginning(part["text"]), None)

    def hide(self, item_id: str) -> None:
        """An item of ours, or of a call of ours, is not for the browser."""
        if item_id:
            self._hidden.put(item_id, None)

    def is_hidden(self, item_id: str) -> bool:
        """Whether an item must look as if it did not exist."""
        return item_id in self._hidden

    def is_browsers(self, name: str) -> bool:
        """Whether a tool of that name is the browser's own."""
        return name in self.setup.browser_tools

    def take(self, event: OutputEvent) -> Passed:
        """What of an event of a heard response passes."""
        gate, _ = self._gates[event.response_id]
        if BROWSER in self._absent:
            gate.mute()
        if isinstance(event, ResponseStarted):
            return NOTHING if gate.stale or gate.ended else Passed((Show(event.frame),))
        if event.item_id and self._response_of.get(event.item_id) not in (None, event.response_id):
            # The item is another answer's, too: whole, it holds more than passes here.
            gate.cut = True
        self._response_of.put(event.item_id, event.response_id)
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

    def flow(self, event: AudioDelta | TextDelta, turn: Turn) -> Gate | None:
        """The gate for more of what this turn says; None where `take` is to look at it."""
        gate, of = self._gates.get(event.response_id, (None, None))
        if gate is None or of is not turn or not event.response_id:
            return None
        if self._absent or gate.overflows or event.response_id in self._holding:
            return None
        return gate if gate.goes_on(event) else None

    def give_up_waiting(self, response_id: str) -> Passed:
        """The time limit of what a response holds back ran out."""
        known = self._gates.get(response_id)
        self._holding.discard(response_id)
        return self._timed(response_id, known[0], known[0].give_up_waiting()) if known else NOTHING

    def finish(self, response_id: str) -> Passed:
        """A response is over: what it still holds is released or dropped."""
        gate, _ = self._gates[response_id]
        passed = gate.finish()
        if gate.read:
            self._thinks_first = gate.ended_thinking or self.setup.thinks_first
        return self._timed(response_id, gate, passed)

    def done(self, event: ResponseDone) -> Effect:
        """The end of a response as the browser may see it."""
        gate, _ = self._gates[event.response_id]
        gate.ended = True
        told = (*event.calls, *event.told)
        hidden = frozenset(call.item_id for call in told if not self.is_browsers(call.name))
        shape = gate.again(Structure(event.response_id, "", event.frame, texts=event.texts))
        if isinstance(shape, ShowCut):
            return replace(shape, hidden=hidden)
        return ShowCut(event.frame, gate.kept.whole(), hidden) if told else shape

    def echo(self, event: ItemEcho) -> Passed:
        """An item that the service repeats, by itself or because the browser asked."""
        self._before.put(event.item_id, event.previous_item_id)
        if self._is_secret(event):
            self.hide(event.item_id)
            return Passed((NOT_FOUND,)) if event.asked else NOTHING
        after = self._after(event.previous_item_id)
        if event.kind == "function_call":
            return Passed((ShowCut(event.frame, {}, after=after),))
        if event.kind != "message" or event.role != "assistant":
            return Passed((_placed(event.frame, after),))
        response_id = self._response_of.get(event.item_id) or ""
        gate, _ = self._gates[response_id]
        shape = Structure(response_id, event.item_id, event.frame, texts=event.texts, after=after)
        if event.asked:
            return Passed((gate.again(shape) if gate.shown else NOT_FOUND,))
        return self._timed(response_id, gate, gate.structure(shape))

    def committed(self, event: Committed) -> Effect:
        """What the caller said became an item."""
        self._spoken.put(event.item_id, None)
        self._before.put(event.item_id, event.previous_item_id)
        return _placed(event.frame, self._after(event.previous_item_id))

    def shut(self) -> list[Effect]:
        """Everything so far is old: nothing more of it passes."""
        for gate, _ in self._gates.values():
            gate.shut()
        cleared: list[Effect] = [ClearTimer(HOLD + one) for one in sorted(self._holding)]
        self._holding.clear()
        return cleared

    def own(self, call: FunctionCall) -> None:
        """A call whose traces the browser must not see."""
        self.hide(call.item_id)

    def _is_secret(self, event: ItemEcho) -> bool:
        if event.item_id in self._hidden:
            return True
        gate, _ = self._gates.get(self._response_of.get(event.item_id) or "", (None, None))
        match event.kind, event.role:
            case "function_call", _:
                return not self.is_browsers(event.name) or (gate is not None and gate.stale)
            case "function_call_output", _:
                # A service may give our outputs ids of its own, so only known ones are shown.
                return event.item_id not in self._browsers
            case "message", "assistant":
                return gate is None
            case "message", "user":
                return not self._is_callers(event)
            case _:
                return True

    def _is_callers(self, event: ItemEcho) -> bool:
        """Whether a user's message is what the caller said or wrote, and not one that we sent for the model.

        A service may give our messages ids and even spellings of its own, so only what is known is shown.
        """
        if event.item_id in self._typed:
            return True
        words = [_beginning(text) for _, _, text in event.texts]
        if any(one in self._hidden_words for one in words):
            return False
        return event.item_id in self._spoken or all(one in self._typed_words for one in words)

    def _structure(self, gate: Gate, event: Structure) -> Passed:
        if event.item_id in self._hidden:
            return NOTHING
        if not event.of_call:
            return gate.structure(event)
        if event.name and not self.is_browsers(event.name):
            self.hide(event.item_id)
            return NOTHING
        if event.name and event.item_id:
            self._browsers.put(event.item_id, None)
        known = bool(event.name) or event.item_id in self._browsers
        if event.partial or not known or gate.stale:
            return NOTHING
        # A marker may be dealt out over the pieces of the arguments, so they pass whole, and disarmed.
        pieces = [ShowDelta(event.frame, neutralise(text)) for _, _, text in event.texts if text]
        return Passed((*pieces, ShowCut(event.frame, {})))

    def _after(self, item_id: str) -> tuple[str, str | None] | None:
        """What an item comes after, where the browser does not know the item that the service names."""
        visible = item_id
        for _ in range(STEPS):
            if not visible or self._is_known(visible):
                return None if visible == item_id else (item_id, visible or None)
            visible = self._before.get(visible) or ""
        return (item_id, None)

    def _is_known(self, item_id: str) -> bool:
        if item_id in self._hidden:
            return False
        known = self._gates.get(self._response_of.get(item_id) or "")
        return known is None or known[0].shown

    def _timed(self, response_id: str, gate: Gate, passed: Passed) -> Passed:
        timer = HOLD + response_id
        if gate.waiting == (response_id in self._holding):
            return passed
        if gate.waiting:
            self._holding.add(response_id)
            return passed.then(Passed((SetTimer(timer, self.setup.limits.hold),)))
        self._holding.discard(response_id)
        return passed.then(Passed((ClearTimer(timer),)))


def _placed(frame: str, after: tuple[str, str | None] | None) -> Effect:
    return Show(frame) if after is None else ShowCut(frame, {}, after=after)


def _beginning(text: str) -> str:
    """Enough of a text to know it again, where a service cuts it."""
    return text.strip()[:WORDS]
