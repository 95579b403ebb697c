"""The state machine of a live call: `handle(event, now)` returns the effects, in order. It calls nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conversations.core import events as e
from conversations.core.absence import Absence
from conversations.core.caller import CallerSide
from conversations.core.effects import ClearTimer, Effect, SendItem, SetTimer, Show
from conversations.core.floor import BROWSER_OUTPUT, SERVICE, Floor
from conversations.core.hearing import HEARING
from conversations.core.lines import TIMER as SLOW_TOOL_TIMER
from conversations.core.lines import Lines
from conversations.core.output import BROWSER, HOLD, NOT_FOUND
from conversations.core.policy import Setup
from conversations.core.renewal import Renewal
from conversations.core.responses import BENIGN, CANCEL_TIMER
from conversations.core.service import ServiceSide
from conversations.core.thinking import Thinking
from conversations.core.transcript import Said
from conversations.core.turns import Turn
from conversations.core.utterances import MOST_IGNORED

SILENCE = "silence"
OUTPUT = (e.ResponseStarted, e.TextDelta, e.TextDone, e.AudioDelta, e.Structure)


class Machine:
    """One live call, as a table: for each kind of event the cell that answers it."""

    def __init__(self, setup: Setup) -> None:
        self._floor = floor = Floor(setup)
        self._caller = caller = CallerSide(floor)
        self._service = service = ServiceSide(floor)
        self._renewal, self._lines, absence = Renewal(floor), Lines(floor), Absence(floor)
        self._watching = self._at_work = self._due = self._ended = False
        self._cells: Mapping[type, Callable[[Any, float], list[Effect]]] = {
            e.SpeechStarted: caller.speech_started,
            e.SpeechStopped: caller.speech_stopped,
            e.Committed: caller.committed,
            e.Heard: caller.heard,
            **dict.fromkeys(OUTPUT, service.answered),
            e.FunctionCall: service.function_call,
            e.ResponseDone: service.response_done,
            e.ItemEcho: self._item_echo,
            e.ServiceError: self._service_error,
            e.Truncated: service.truncated,
            e.Passing: lambda event, _now: [Show(event.frame)],
            e.Typed: caller.typed,
            e.BrowserOutput: caller.browser_output,
            e.CommitAsked: caller.commit_asked,
            e.CreateAsked: caller.create_asked,
            e.CancelAsked: caller.cancel_asked,
            e.TruncateAsked: caller.truncate_asked,
            e.RetrieveAsked: caller.retrieve_asked,
            e.Played: caller.played,
            e.ConfirmAnswered: caller.confirm_answered,
            e.ToolEnded: self._tool_ended,
            e.ToolProgressed: lambda event, _now: floor.tools.progressed(event),
            e.ToolsOffered: lambda event, _now: floor.offer(event),
            e.TimerFired: self._timer_fired,
            e.UpstreamLost: self._upstream_lost,
            e.ServiceKnown: self._service_known,
            e.BrowserLost: lambda _event, _now: absence.begins(),
            e.BrowserBack: lambda event, now: absence.ends(event.has_sheets, now),
            **Thinking(floor).cells,
            e.Ended: self._end,
        }

    @property
    def generation(self) -> int:
        """The number that makes old work stale."""
        return self._floor.generation

    @property
    def turn(self) -> Turn | None:
        """The turn that has the floor."""
        return self._floor.turn

    @property
    def history(self) -> list[Said]:
        """What was said and heard in the last turns, oldest first."""
        return self._floor.history

    def flow(self, event: e.AudioDelta | e.TextDelta, now: float) -> bool:
        """Whether it passes as it is, and is taken with that; `handle` does the same of anything.

        Most of what a call says takes this way.
        """
        return self._service.flow(event, now)

    def handle(self, event: e.Event, now: float) -> list[Effect]:
        """What is to be done about it; an event without a cell is a bug and raises KeyError."""
        cell = self._cells[type(event)]
        if self._ended and not isinstance(event, e.ToolEnded):
            return []
        if isinstance(event, e.AudioDelta | e.TextDelta) and self._service.flow(event, now):
            return [Show(event.frame, isinstance(event, e.AudioDelta))]
        self._service.look_closely()
        return [*self._noted(cell(event, now)), *self._watch(now), *self._lines.watch()]

    def is_quiet(self, now: float) -> bool:
        """Whether the service's session could be replaced now without anybody noticing."""
        return self._renewal.is_quiet(now)

    def recall(self, history: Sequence[Said]) -> list[Effect]:
        """A session of the service begins: it is told the conversation, and what a turn waits for."""
        if SERVICE not in self._floor.absent:
            self._floor.recall(history)
        told = self._noted(self._renewal.told(history))
        return [*told, *self._noted(self._floor.found_service())]

    def _noted(self, effects: Sequence[Effect]) -> list[Effect]:
        items = [effect for effect in effects if isinstance(effect, SendItem)]
        return [*effects, *(later for item in items for later in self._floor.sent(item))]

    def _item_echo(self, event: e.ItemEcho, now: float) -> list[Effect]:
        if event.asked:
            self._caller.retrieved(event.item_id)
        return self._service.item_echo(event, now)

    def _service_error(self, event: e.ServiceError, now: float) -> list[Effect]:
        if event.code not in BENIGN and self._caller.is_about_retrieval(event.event_id):
            return [NOT_FOUND]
        return self._service.service_error(event, now)

    def _tool_ended(self, event: e.ToolEnded, now: float) -> list[Effect]:
        floor, turn = self._floor, self._floor.turn_of_call(event.call_id)
        effects = floor.tools.ended(turn, event, now)
        if event.code == "unauthorized":
            # The conversation ends with that: the model is not to begin another answer first.
            return [*effects, *floor.interrupt("failed", now, event.code)]
        return [*effects, *floor.advance(turn), *floor.hand_in()]

    def _timer_fired(self, event: e.TimerFired, now: float) -> list[Effect]:
        floor, turn = self._floor, self._floor.turn
        if event.name.startswith(HOLD):
            response_id = event.name.removeprefix(HOLD)
            return self._service.passed(response_id, floor.output.give_up_waiting(response_id), now)
        if event.name == CANCEL_TIMER:
            return [*floor.responses.waited_long_enough(), *floor.advance()]
        if event.name == SLOW_TOOL_TIMER:
            return self._lines.is_slow()
        if event.name == HEARING:
            return [*floor.hearing.goes_on(), *floor.hand_in()]
        if event.name == BROWSER_OUTPUT and turn is not None:
            turn.wished = turn.wished or {}
            return [*floor.tools.give_up_on_browser(turn, now), *floor.advance()]
        sheet = floor.tools.taps.sheets.named(event.name)
        if sheet is not None and turn is not None:
            return [*floor.tools.taps.expire(turn, sheet, now), *floor.advance()]
        if event.name == SILENCE and self._watching:
            self._watching = False
            if now - floor.moved_at >= floor.setup.limits.silence - 0.01:
                return self._break_silence(now)
        return []

    def _break_silence(self, now: float) -> list[Effect]:
        floor, opened, since = self._floor, list[Effect](), self._floor.moved_at
        floor.utterances.ignored = 0
        if floor.turn is None:
            _, opened = floor.open("voice", now)
            floor.moved_at = since
        return [*opened, *floor.fail("no_answer", now)]

    def _service_known(self, event: e.ServiceKnown, _now: float) -> list[Effect]:
        self._lines.beside_call = event.beside_call
        return []

    def _upstream_lost(self, _event: e.UpstreamLost, now: float) -> list[Effect]:
        return [*self._renewal.lost(now), *self._caller.forget_questions()]

    def _end(self, _event: e.Ended, now: float) -> list[Effect]:
        self._ended = True
        floor = self._floor
        if SERVICE in floor.absent and floor.turn is not None:
            return [*floor.fail("speech_lost", now, "connection_lost"), *floor.tools.abandon()]
        return [*floor.interrupt("cancelled", now), *floor.tools.abandon()]

    def _watch(self, now: float) -> list[Effect]:
        """The clock of silence runs while an answer is due and no tool, browser or tap is waited for."""
        floor, turn = self._floor, self._floor.turn
        due, was_due = self._is_due(turn), self._due
        self._due = due
        was_at_work = self._at_work
        asked = floor.tools.taps.awaited
        self._at_work = (
            asked or floor.tools.running or floor.thinks_at_work or (turn is not None and turn.awaits_browser)
        )
        again = turn is None and floor.utterances.ignored > MOST_IGNORED
        if (was_at_work and not self._at_work) or (due and not was_due and not again):
            floor.moved_at = now
        if due and not self._at_work:
            if self._watching:
                return []
            self._watching = True
            left = floor.setup.limits.silence - (now - floor.moved_at)
            return [SetTimer(SILENCE, max(left, 0.01))]
        if not self._watching:
            return []
        self._watching = False
        return [ClearTimer(SILENCE)]

    def _is_due(self, turn: Turn | None) -> bool:
        """Whether the caller waits for something: the answer of a turn, or to what was said before any."""
        if BROWSER in self._floor.absent:
            return False
        if turn is None:
            return self._floor.utterances.waiting
        answering = self._floor.responses.expecting or bool(turn.batch)
        return answering or (turn.origin == "voice" and not turn.responded)
