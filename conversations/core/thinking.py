"""The brain that thinks for a call in the speech service's place: what of it the core knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conversations.core import events as e
from conversations.core.effects import Effect, Keep, Tell
from conversations.core.floor import Floor
from conversations.core.output import BROWSER
from conversations.core.records import TurnTroubled


class Thinking:
    """It thinks for the turn that has the floor, and ends with it."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self.cells: Mapping[type, Callable[[Any, float], list[Effect]]] = {
            e.BrainAsked: self._asked,
            e.Greeting: self._greets,
            e.BrainMoved: self._moved,
            e.BrainEnded: self._ended,
        }

    def _asked(self, _event: e.BrainAsked, now: float) -> list[Effect]:
        """The turn that it thinks for begins here, where the service has told of none."""
        floor, opened = self._floor, list[Effect]()
        if floor.turn is None:
            _, opened = floor.open("voice" if floor.utterances.open is not None else "text", now)
        floor.thinks, floor.thinks_at_work = True, False
        return opened

    def _greets(self, event: e.Greeting, _now: float) -> list[Effect]:
        """Said at once, to nobody who has begun to speak or was spoken to."""
        floor = self._floor
        spoke = floor.utterances.speaking or floor.utterances.open is not None
        begun = spoke or floor.turn is not None or bool(floor.past)
        return [] if begun or BROWSER in floor.absent else floor.responses.want_line(event.text)

    def _moved(self, event: e.BrainMoved, now: float) -> list[Effect]:
        floor = self._floor
        if floor.thinks_at_work and not event.at_work:
            floor.moved_at = now
        floor.thinks_at_work = floor.thinks and event.at_work
        return []

    def _ended(self, event: e.BrainEnded, now: float) -> list[Effect]:
        floor = self._floor
        was, floor.thinks, floor.thinks_at_work = floor.thinks, False, False
        if not (was and event.code and floor.turn is not None):
            return []
        if event.code == "cancelled":
            # A service that asked for a turn which nobody began has given that up, too.
            begun = floor.turn.responded or floor.turn.caller_text
            return [] if begun else floor.close("cancelled", now)
        trouble = {"code": event.code, "message": event.message, "ref": event.ref}
        return [Keep(TurnTroubled(floor.turn.turn_id, event.code, event.ref)), Tell("error", trouble)]
