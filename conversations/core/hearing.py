"""What the service remembers of an answer that was cut: no more than the caller heard of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conversations.core.effects import Effect, SetTimer, Truncate
from conversations.core.markers import neutralise
from conversations.core.recent import Recent
from conversations.core.transcript import Key
from conversations.core.turns import Turn

HEARING = "hearing"
# For the client to say how far playback was, and then for the service to say that it has cut the item.
PATIENCE = 0.5
MOST_CUTS = 8
KNOWN = 16


class Hearing:
    """One session of the service. What the client does not have cut there, is cut here, after a moment.

    A service that does not cut is told in words what was heard.
    """

    def __init__(self, new_event_id: Callable[[], str]) -> None:
        self._new_event_id = new_event_id
        self._known: Recent[None] = Recent(KNOWN)
        self._cut: dict[str, Turn] = {}
        self._asked: dict[Key, str] = {}
        self._settled: set[Key] = set()
        self._notes: list[tuple[str, str]] = []
        self._cuts_items = True

    def follow(self, turn: Turn) -> None:
        """This session answers in that turn."""
        self._known.put(turn.turn_id, None)

    def cut(self, turns: Sequence[Turn]) -> list[Effect]:
        """Playback of these turns ended here."""
        known = {turn.turn_id: turn for turn in turns if turn.turn_id in self._known}
        self._cut.update(known)
        return [SetTimer(HEARING, PATIENCE)] if known else []

    def client_cut(self, turn: Turn, key: Key, audio_end_ms: int) -> list[Effect]:
        """The client says where playback of a part ended; items of an earlier session are not there."""
        if turn.turn_id not in self._known:
            return []
        self._settled.add(key)
        event_id = self._ask(key)
        return [Truncate(*key, audio_end_ms, event_id), *self.cut([turn])]

    def has_cut(self, item_id: str, content_index: int) -> None:
        """The service did so."""
        self._asked.pop((item_id, content_index), None)
        self._cuts_items = True

    def refused(self, event_id: str) -> bool:
        """Whether a complaint is about a cut; one that names no event is taken to be."""
        if not self._asked or (event_id and event_id not in self._asked.values()):
            return False
        self._cuts_items = False
        return True

    def goes_on(self) -> list[Effect]:
        """The time to wait for is over: cuts what nobody has cut, or notes what the service will not cut."""
        if self._asked:
            self._asked.clear()
            self._cuts_items = False
        uncut = [part for turn in self._cut.values() for part in turn.unheard()]
        fresh = [(key, ms) for key, ms in uncut if key not in self._settled]
        if fresh and self._cuts_items:
            self._settled.update(key for key, _ in fresh)
            cuts = [Truncate(*key, ms, self._ask(key)) for key, ms in fresh[:MOST_CUTS]]
            return [*cuts, SetTimer(HEARING, PATIENCE)]
        if not self._cuts_items:
            heard = [turn.heard() for turn in self._cut.values() if turn.unheard()]
            self._notes += [("heard", neutralise(text)) if text else ("unheard", "") for text in heard]
        self._cut.clear()
        self._settled.clear()
        return []

    def take_notes(self) -> list[tuple[str, str]]:
        """What the model is to be told, each once: (which sentence, the words that were heard)."""
        notes, self._notes = self._notes[-MOST_CUTS:], []
        return notes

    def _ask(self, key: Key) -> str:
        self._asked[key] = self._new_event_id()
        return self._asked[key]
