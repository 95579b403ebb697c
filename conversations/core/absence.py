"""What becomes of a call whose browser is lost for a while: it works on, and says nothing to nobody."""

from __future__ import annotations

from conversations.core.effects import ClearTimer, Effect, SetTimer
from conversations.core.floor import BROWSER_OUTPUT, Floor
from conversations.core.output import BROWSER
from conversations.core.turns import Turn


class Absence:
    """Tools run on and their results go to the model; no answer is asked for until somebody can hear it."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor

    def begins(self) -> list[Effect]:
        """The browser is gone: what passes from here on is missed."""
        floor = self._floor
        floor.absent.add(BROWSER)
        return [ClearTimer(BROWSER_OUTPUT)]

    def ends(self, has_sheets: bool, now: float) -> list[Effect]:
        """A browser is there: it learns what runs or waits for a tap; what was held back is asked for."""
        floor = self._floor
        floor.absent.discard(BROWSER)
        refused = floor.tools.taps.meet(floor.turn, has_sheets, now)
        effects = [*refused, *(floor.advance() if refused else []), *floor.tools.told_again(now)]
        if floor.turn is not None and floor.turn.awaits_browser:
            effects.append(SetTimer(BROWSER_OUTPUT, floor.setup.limits.browser_output))
        return [*effects, *floor.responses.go_on()]


def unheard(floor: Floor, turn: Turn, response_id: str, now: float) -> list[Effect]:
    """An answer ended that the caller missed: all of it is asked for again, a part is cut in the record.

    The service learns what was heard of it, so that it does not take the rest for said.
    """
    missed = floor.output.missed(response_id)
    cut = [effect for key, heard in missed for effect in floor.hearing.client_cut(turn, key, heard)]
    if turn.owed and not turn.asked_again:
        turn.asked_again = True
        return [*cut, *floor.responses.want(None, turn.last)]
    return [*cut, *floor.close("interrupted", now, "connection_lost")]
