"""What the assistant says besides its answers: an apology, and a word while a tool takes long."""

from __future__ import annotations

from conversations.core.effects import ClearTimer, Effect, Keep, SetTimer, Tell
from conversations.core.floor import SLOW_TOOL, Floor
from conversations.core.output import BROWSER
from conversations.core.records import TurnTexts
from conversations.core.turns import Turn

TIMER = "slow-tool"


class Lines:
    """One short line a turn for a slow tool: spoken where the service can, else told to the page."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._timing = False
        self.beside_call = False

    def watch(self) -> list[Effect]:
        """The clock runs while a tool does, in a turn that has said nothing."""
        floor, turn = self._floor, self._floor.turn
        waits = turn is not None and floor.tools.running and not (turn.lined or turn.answered_at)
        due = bool(waits and floor.setup.limits.slow_tool and BROWSER not in floor.absent)
        if due == self._timing:
            return []
        self._timing = due
        return [SetTimer(TIMER, floor.setup.limits.slow_tool)] if due else [ClearTimer(TIMER)]

    def is_slow(self) -> list[Effect]:
        """The time is over: the caller learns that something is done."""
        floor, turn = self._floor, self._floor.turn
        picked = next((one for one in turn.batch if one.running), None) if turn is not None else None
        if turn is None or picked is None or not self._timing:
            return []
        self._timing, turn.lined = False, True
        # A service that answers nothing while a call waits may still speak where the tool was picked in text.
        possible = self.beside_call or not any(one.service_call_id and not one.carried for one in turn.batch)
        line = floor.setup.spoken.get(SLOW_TOOL, "")
        if possible and line and not floor.responses.busy:
            return floor.responses.want_line(line)
        cue = {"progress": None, "total": None, "message": line or floor.setup.for_caller[SLOW_TOOL]}
        return [Tell("vocero.tool.progress", {"call_id": picked.call_id, **cue})]


def ended(floor: Floor, turn: Turn, now: float) -> list[Effect]:
    """A line was said: the turn goes on where it was, or is longer by it; a greeting is all of its turn."""
    if turn is floor.turn:
        return floor.close("done", now) if turn.greets else floor.advance()
    return [Keep(TurnTexts(turn.turn_id, heard_text=turn.heard()))]
