"""What becomes of a call when its session at the speech service ends and the next one begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conversations.core.effects import Effect, SendItem
from conversations.core.floor import SERVICE, Floor
from conversations.core.markers import neutralise
from conversations.core.transcript import Said
from conversations.core.turns import Turn

# Of each utterance that a new session of the service is told; nobody speaks longer.
RECALLED = 4_000
# So long after an utterance that nobody answered or understood it counts as noise.
NOISE = 10.0
# So many seconds after the last sign of an answer a call is quiet.
CALM = 2.0


class Renewal:
    """A turn outlives the session in which it began, unless the caller heard half of its answer there."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor

    def lost(self, now: float) -> list[Effect]:
        """The session is gone, with every response, item and utterance in it."""
        floor, turn = self._floor, self._floor.turn
        if SERVICE in floor.absent:
            return []
        if turn is None and self._was_speaking(now):
            turn, opened = floor.open("voice", now)
            return [*opened, *self._give_up(now)]
        if turn is None:
            return floor.lose_service()
        if not _goes_on(turn):
            return self._give_up(now)
        wish, last = floor.responses.outlook, turn.last
        due = wish is not None or (turn.origin == "voice" and not turn.responded)
        floor.tools.carry(turn)
        lost = floor.lose_service()
        if turn.batch or not due:
            return lost
        return [*lost, *floor.responses.want(wish.options if wish else None, last)]

    def _give_up(self, now: float) -> list[Effect]:
        """The turn ends in words; aloud they come from the next session."""
        failed = self._floor.fail("speech_lost", now, "connection_lost")
        return [*failed, *self._floor.lose_service(), *self._floor.regret("speech_lost")]

    def told(self, history: Sequence[Said]) -> list[Effect]:
        """What the next session is told of the conversation; the browser knows it already."""
        new_id = self._floor.setup.new_id
        return [SendItem(_as_item(said, new_id("item"))) for said in history]

    def is_quiet(self, now: float) -> bool:
        """Whether the session could end now without anybody noticing."""
        floor = self._floor
        at_work = floor.turn is not None or floor.responses.busy or SERVICE in floor.absent
        return not at_work and not self._was_speaking(now) and now - floor.moved_at >= CALM

    def _was_speaking(self, now: float) -> bool:
        """Whether the caller speaks, or has just said something that nobody has answered."""
        utterance = self._floor.utterances.open
        return utterance is not None and now - (utterance.ended_at or now) < NOISE


def _goes_on(turn: Turn) -> bool:
    """Whether the next session can answer it: the question or its results are known, its answer not begun."""
    return bool(turn.batch) or (turn.owed and bool(turn.caller_text))


def _as_item(said: Said, item_id: str) -> dict[str, Any]:
    role, kind = ("user", "input_text") if said.role == "caller" else ("assistant", "output_text")
    content = [{"type": kind, "text": neutralise(said.text[:RECALLED])}]
    return {"id": item_id, "type": "message", "role": role, "content": content}
