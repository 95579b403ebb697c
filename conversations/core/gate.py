"""Which output of one response may pass, waits, or is suppressed.

Output waits only while the text so far could still be a marker's beginning, bounded in bytes and time; once
that is decided it passes untouched. With `parser=None` (plain mode) everything passes.
"""

from __future__ import annotations

from dataclasses import dataclass

from conversations.core.effects import Effect, Show, ShowCut, ShowDelta
from conversations.core.events import AudioDelta, Structure, TextDelta, TextDone
from conversations.core.markers import Malformed, MarkerParser, Selection, Speech

HELD_BYTES = 524_288

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Passed:
    """What one event lets through, and the marker it completed, if any."""

    effects: tuple[Effect, ...] = ()
    selection: Selection | Malformed | None = None


NOTHING = Passed()


class Gate:
    """The gate of one response: three answers for each event, `Show…` effects, nothing yet, or never."""

    def __init__(self, parser: MarkerParser | None) -> None:
        self._parser = parser
        self._held: list[TextDelta | AudioDelta | Structure] = []
        self._held_bytes = 0
        self._last: TextDelta | None = None
        self._received: dict[Key, str] = {}
        self._stale = False
        self._speaking = parser is None
        self.kept: dict[Key, str] = {}
        self.audio_ms: dict[str, float] = {}
        self.cut = False

    @property
    def waiting(self) -> bool:
        """Whether something is held back and a time limit should run."""
        return bool(self._held) and not self._stale

    @property
    def spoke(self) -> bool:
        """Whether any text or audio passed."""
        return any(self.kept.values()) or any(self.audio_ms.values())

    def shut(self) -> None:
        """The response is superseded: nothing more of it passes."""
        self._stale = True
        self.cut = True
        self._drop_held()

    def structure(self, event: Structure) -> Passed:
        """An item or part added or done; waits until the response is known to speak."""
        if self._stale:
            return NOTHING
        if not self._speaking or self._held:
            return self._hold(event)
        return Passed((self._shown(event.frame),))

    def text(self, event: TextDelta) -> Passed:
        """A piece of text: what of it is speech passes."""
        return self._read(event, as_it_is=True)

    def text_done(self, event: TextDone) -> Passed:
        """The whole text of a part: what no delta brought is read now, then the text that passed is shown."""
        received = self._received.get((event.item_id, event.content_index), "")
        rest = event.text[len(received) :] if event.text.startswith(received) else ""
        late = NOTHING
        if rest:
            delta = TextDelta(event.response_id, event.item_id, event.content_index, rest, event.frame)
            late = self._read(delta, as_it_is=False)
        if self._stale:
            return late
        shown = self.structure(Structure(event.response_id, event.item_id, event.frame))
        return Passed((*late.effects, *shown.effects), late.selection)

    def _read(self, event: TextDelta, as_it_is: bool) -> Passed:
        key = (event.item_id, event.content_index)
        self._received[key] = self._received.get(key, "") + event.text
        if self._stale:
            return NOTHING
        self._last = event
        if self._parser is None:
            return Passed(tuple(self._speak(event, event.text, as_it_is)))
        parts = self._parser.feed(event.text)
        speech = "".join(part.text for part in parts if isinstance(part, Speech))
        chosen = next((part for part in parts if not isinstance(part, Speech)), None)
        effects = self._speak(event, speech, as_it_is and speech == event.text) if speech else []
        if chosen is not None or self._parser.shut:
            self.cut = True
            self._drop_audio()
        elif self._speaking and not self._parser.undecided:
            effects.extend(self._release())
        return Passed(tuple(effects), chosen)

    def audio(self, event: AudioDelta) -> Passed:
        """A piece of audio: passes with the text it belongs to."""
        if self._stale or (self._parser is not None and self._parser.shut):
            self.cut = True
            return NOTHING
        if not self._speaking or (self._parser is not None and self._parser.undecided) or self._held:
            return self._hold(event)
        self._count(event)
        return Passed((Show(event.frame),))

    def give_up_waiting(self) -> Passed:
        """The time limit ran out: audio that no text came with is speech; a half-read marker is not."""
        if self._parser is not None and (self._parser.undecided or self._parser.shut):
            self.cut = True
            self._drop_audio()
            return NOTHING
        self._speaking = True
        return Passed(tuple(self._release()))

    def finish(self) -> Passed:
        """The response is over: whatever turned out to be speech is released, a fragment is dropped."""
        if self._stale or self._parser is None:
            return NOTHING
        parts = self._parser.finish()
        chosen = next((part for part in parts if isinstance(part, Malformed)), None)
        effects: list[Effect] = []
        for part in parts:
            if isinstance(part, Speech) and self._last is not None:
                effects.extend(self._speak(self._last, part.text, as_it_is=False))
        if chosen is not None:
            self.cut = True
            self._drop_audio()
        if self._speaking or not self.cut:
            self._speaking = True
            effects.extend(self._release())
        self._drop_held()
        return Passed(tuple(effects), chosen)

    def _speak(self, event: TextDelta, speech: str, as_it_is: bool) -> list[Effect]:
        key = (event.item_id, event.content_index)
        self.kept[key] = self.kept.get(key, "") + speech
        self._speaking = True
        shown = Show(event.frame) if as_it_is else ShowDelta(event.frame, speech)
        return [*self._release_structure(), shown]

    def _hold(self, event: AudioDelta | Structure) -> Passed:
        self._held.append(event)
        self._held_bytes += len(event.frame)
        if self._held_bytes > HELD_BYTES:
            return self.give_up_waiting()
        return NOTHING

    def _release_structure(self) -> list[Effect]:
        """Items and parts that were announced before the first speech go out before it."""
        shown: list[Effect] = []
        while self._held and isinstance(self._held[0], Structure):
            frame = self._held.pop(0).frame
            self._held_bytes -= len(frame)
            shown.append(self._shown(frame))
        return shown

    def _release(self) -> list[Effect]:
        shown: list[Effect] = []
        for event in self._held:
            if isinstance(event, AudioDelta):
                self._count(event)
                shown.append(Show(event.frame))
            else:
                shown.append(self._shown(event.frame))
        self._held, self._held_bytes = [], 0
        return shown

    def _drop_audio(self) -> None:
        self._held = [event for event in self._held if not isinstance(event, AudioDelta)]
        self._held_bytes = sum(len(event.frame) for event in self._held)

    def _drop_held(self) -> None:
        self._held, self._held_bytes = [], 0

    def _shown(self, frame: str) -> Effect:
        return ShowCut(frame, dict(self.kept), frozenset()) if self.cut else Show(frame)

    def _count(self, event: AudioDelta) -> None:
        self.audio_ms[event.item_id] = self.audio_ms.get(event.item_id, 0.0) + event.milliseconds
