"""Calls that need the caller's tap before they run: asked for, approved or refused, taken back."""

from __future__ import annotations

from collections.abc import Callable

from conversations.core.effects import Effect, SendItem
from conversations.core.events import ConfirmAnswered, FunctionCall
from conversations.core.markers import neutralise
from conversations.core.policy import Setup
from conversations.core.records import CallApproved, Record
from conversations.core.sheets import Sheet, Sheets, is_too_long
from conversations.core.turns import Picked, Turn

Run = Callable[[Picked, str, int, Record], list[Effect]]
Refuse = Callable[[Picked, float, str], list[Effect]]
Answer = Callable[[Picked], SendItem]


class Taps:
    """What becomes of a call is done by `run` and `refuse`, and told to the model by `answer`."""

    def __init__(self, setup: Setup, run: Run, refuse: Refuse, answer: Answer) -> None:
        self.sheets = Sheets(setup)
        self._setup = setup
        self._has_sheets = setup.has_sheets
        self._run, self._refuse, self._answer = run, refuse, answer

    @property
    def awaited(self) -> bool:
        """Whether a sheet is open."""
        return bool(self.sheets)

    def ask(self, turn: Turn, picked: Picked, arguments: str, room: int, now: float) -> list[Effect]:
        """Opens the sheet; what would not run anyway, or cannot be shown, is refused before."""
        problem = self._setup.objection(picked.name, arguments)
        if problem or is_too_long(arguments):
            effects = self._end(turn, picked, "invalid_arguments", now)
            picked.output = neutralise(problem) or picked.output
            return effects
        if not self._has_sheets:
            return self._end(turn, picked, "confirmation_declined", now, "no_sheet")
        return self.sheets.open(picked, arguments, room, now)

    def meet(self, turn: Turn | None, has_sheets: bool, now: float) -> list[Effect]:
        """Another client is there. One that cannot show what waits for a tap cannot be asked either."""
        self._has_sheets = has_sheets
        effects: list[Effect] = []
        for sheet in () if has_sheets else self.sheets:
            effects.extend(self.sheets.withdraw(sheet, "declined"))
            effects.extend(self._end(turn, sheet.picked, "confirmation_declined", now, "no_sheet"))
        return effects

    def decide(self, turn: Turn | None, event: ConfirmAnswered, now: float) -> list[Effect]:
        """The caller tapped: exactly what the sheet showed runs, or is refused; on no open sheet nothing."""
        sheet, effects = self.sheets.take(event.nonce, now)
        if sheet is None:
            return effects
        if not event.approved:
            return [*effects, *self._end(turn, sheet.picked, "confirmation_declined", now)]
        approved = CallApproved(sheet.picked.call_id, now)
        return [*effects, *self._run(sheet.picked, sheet.arguments, sheet.room, approved)]

    def expire(self, turn: Turn, sheet: Sheet, now: float) -> list[Effect]:
        """The caller did not tap in time."""
        withdrawn = self.sheets.withdraw(sheet, "expired")
        return [*withdrawn, *self._end(turn, sheet.picked, "confirmation_timeout", now)]

    def pass_over(self, turn: Turn | None, now: float) -> list[Effect]:
        """The caller spoke or wrote instead of tapping: that declines, and the model is told at once."""
        effects: list[Effect] = []
        for sheet in self.sheets:
            effects.extend(self.sheets.withdraw(sheet, "declined"))
            effects.extend(self._end(turn, sheet.picked, "confirmation_declined", now, "passed_over"))
            sheet.picked.sent = True
            effects.append(self._answer(sheet.picked))
        return effects

    def change(self, turn: Turn, call: FunctionCall, now: float) -> list[Effect]:
        """The service tells a call again. With other arguments than its sheet shows, that sheet is void."""
        sheet = self.sheets.of_service_call(call.call_id)
        if sheet is None or not call.arguments.strip():
            return []
        again, picked = self._setup.canonical(call.arguments), sheet.picked
        name = self._setup.own_name(call.name)
        if again is not None and (name, again[0]) == (picked.name, sheet.arguments):
            return []
        # The service has one answer to it: that to the call as it is now.
        picked.sent = True
        return [*self.sheets.withdraw(sheet, "changed"), *self._end(turn, picked, "stale", now)]

    def cancel(self, turn: Turn | None, now: float) -> list[Effect]:
        """The turn is over before the caller has decided."""
        effects: list[Effect] = []
        for sheet in self.sheets:
            effects.extend(self.sheets.withdraw(sheet, "cancelled"))
            effects.extend(self._end(turn, sheet.picked, "cancelled", now))
        return effects

    def _end(
        self, turn: Turn | None, picked: Picked, code: str, now: float, sentence: str = ""
    ) -> list[Effect]:
        """A call that was admitted and does not run; `sentence` names what the model is told instead."""
        picked.code = code
        refused = self._refuse(picked, now, sentence)
        if turn is not None:
            turn.allowance.ended(picked.call_id, picked.digest, code, len(picked.output or ""))
        return refused
