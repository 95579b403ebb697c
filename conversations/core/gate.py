"""Which output of one response may pass, waits, or is suppressed.

Output waits only while the text so far could still be a marker's beginning, bounded in bytes and time; once
that is decided it passes untouched. With `parser=None` (plain mode) everything passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conversations.core.effects import Effect, Show, ShowCut, ShowDelta
from conversations.core.events import AudioDelta, Structure, TextDelta, TextDone
from conversations.core.markers import Malformed, MarkerParser, Part, Selection, Speech
from conversations.core.transcript import Key, Spoken, Texts

HELD_BYTES = 524_288
# More than half an hour of speech; a response that says more is not one for a caller.
MOST_TEXT = 327_680
MOST_ITEMS = 256
PIECE_COST = 16


@dataclass(frozen=True, slots=True)
class Passed:
    """What one event lets through, and the marker it completed, if any."""

    effects: tuple[Effect, ...] = ()
    selection: Selection | Malformed | None = None

    def then(self, later: Passed) -> Passed:
        """Both, one after the other."""
        return Passed((*self.effects, *later.effects), self.selection or later.selection)


NOTHING = Passed()


class Gate:
    """The gate of one response: three answers for each event, `Show…` effects, nothing yet, or never.

    `spoken` is what passed, `shown` says that the browser knows an item of this response, `cut` that
    something did not pass, `ended` that the browser knows its end. `missed` says that something was
    said to nobody, `missed_audio` in which parts that could have been heard.
    """

    def __init__(self, parser: MarkerParser | None) -> None:
        self._parser = parser
        self._held: list[AudioDelta | Structure] = []
        self._held_bytes = 0
        self._read_last: TextDelta | None = None
        self._pieces: dict[Key, list[str]] = {}
        self._received = 0
        self._perceived = False
        self._left: set[Key] = set()
        self._unfinished: Malformed | None = None
        self.stale = False
        self._over = False
        self._speaking = parser is None
        self.spoken = Spoken()
        self.muted = False
        self.missed = False
        self.missed_audio: dict[Key, None] = {}
        self.shown = False
        self.cut = False
        self.ended = False

    @property
    def kept(self) -> Texts:
        """The texts that passed."""
        return self.spoken.texts

    @property
    def waiting(self) -> bool:
        """Whether something is held back that a time limit would release or drop."""
        if self._parser is not None and (self._parser.undecided or self._parser.shut):
            return any(isinstance(event, AudioDelta) for event in self._held)
        return bool(self._held)

    @property
    def ended_thinking(self) -> bool:
        """Whether thoughts ended in it that had no beginning."""
        return self._parser is not None and self._parser.ended_thinking

    @property
    def read(self) -> bool:
        """Whether any text of it was read."""
        return self._read_last is not None

    @property
    def overflows(self) -> bool:
        """Whether the response says more than any answer does."""
        return self._received > MOST_TEXT or len(self.spoken.audio_ms) > MOST_ITEMS

    def take_perceived(self) -> bool:
        """Whether the caller could see or hear something of it since this was last asked."""
        perceived, self._perceived = self._perceived, False
        return perceived

    def shut(self) -> None:
        """The response is superseded: nothing more of it passes."""
        self.stale = True
        self.cut = True
        self._drop_held()

    def mute(self) -> None:
        """Nobody is there to hear the rest; what it picks still counts."""
        if not self.muted:
            self.muted = self.cut = True
            self._drop_held()

    def structure(self, event: Structure) -> Passed:
        """An item or part added or done; waits until the response is known to speak."""
        if self.stale:
            return NOTHING
        ended = NOTHING
        if self._ends_part(event):
            ended = self._end_part() if event.texts else self._leave_part()
        return ended.then(self._place(event))

    def text(self, event: TextDelta) -> Passed:
        """A piece of text: what of it is speech passes."""
        if self._is_deaf() or self._was_left(event):
            return NOTHING
        ended = self._leave_part() if self._is_of_another_part(event) else NOTHING
        self._received += len(event.text) + PIECE_COST
        self._pieces.setdefault((event.item_id, event.content_index), []).append(event.text)
        return ended.then(self._read(event, as_it_is=True))

    def text_done(self, event: TextDone) -> Passed:
        """The whole text of a part: what no delta brought is read now, then the text that passed is shown."""
        if self.stale:
            return NOTHING
        pieces = self._pieces.pop((event.item_id, event.content_index), [])
        passed = self._read_rest(event, "".join(pieces))
        # A service that tells whole sentences, without deltas, may tell a marker in several.
        if pieces or (self._parser is not None and not self._parser.inside):
            passed = passed.then(self._end_part())
        texts = ((event.item_id, event.content_index, event.text),)
        done = Structure(event.response_id, event.item_id, event.frame, texts=texts)
        return passed.then(self._place(done))

    def audio(self, event: AudioDelta) -> Passed:
        """A piece of audio: passes with the text it belongs to."""
        if self.stale or self._over or (self._parser is not None and self._parser.shut):
            self.cut = True
            return NOTHING
        if self.muted:
            self.missed = True
            self.missed_audio[event.item_id, event.content_index] = None
            return NOTHING
        if not self._speaking or self._held or (self._parser is not None and self._parser.undecided):
            return self._hold(event)
        return Passed((self._sounded(event),))

    def goes_on(self, event: AudioDelta | TextDelta) -> bool:
        """Whether it is of a part that passes already, so that `more_audio` or `more_text` may take it.

        That is so for all pieces of its kind and part until something else happens.
        """
        if not self._speaking or self._held or self._over or self.stale or self.muted:
            return False
        key = event.item_id, event.content_index
        if isinstance(event, AudioDelta):
            return key in self.spoken.audio_ms and self._is_decided()
        return self._read_last is not None and not self._is_of_another_part(event) and key not in self._left

    def more_audio(self, event: AudioDelta) -> bool:
        """Takes a piece of audio that goes on; whether it can be heard."""
        self.spoken.sounded((event.item_id, event.content_index), event.milliseconds)
        return event.milliseconds > 0

    def more_text(self, event: TextDelta) -> bool | None:
        """Takes a piece of text that goes on; whether it can be seen. None, not taken, for no mere speech."""
        text = event.text
        if not text or not (self._parser is None or self._parser.passes(text)):
            return None
        key = event.item_id, event.content_index
        self._received += len(text) + PIECE_COST
        self._pieces.setdefault(key, []).append(text)
        self.kept.add(key, text, event.spoken)
        return not text.isspace()

    def _is_decided(self) -> bool:
        return self._parser is None or not (self._parser.undecided or self._parser.shut)

    def again(self, event: Structure) -> Effect:
        """An item that the browser asked for, as far as it passed."""
        return self._shown(event)

    def give_up_waiting(self) -> Passed:
        """The time limit ran out: audio without text is speech; that of a half-read marker is not."""
        parser = self._parser
        if parser is not None and (parser.shut or (parser.undecided and not parser.faint)):
            self.cut = True
            self._drop_audio()
            return NOTHING
        self._speaking = self._speaking or any(isinstance(event, AudioDelta) for event in self._held)
        return Passed(tuple(self._release()))

    def finish(self) -> Passed:
        """The response is over: whatever turned out to be speech is released, a fragment is dropped."""
        if self.stale or self._over:
            return NOTHING
        ended = self._end_part().then(Passed(selection=self._unfinished))
        if self._speaking or self.shown or not self.cut:
            ended = ended.then(Passed(tuple(self._release())))
        self._drop_held()
        self._over = self.spoken.whole = True
        return ended

    # ---- reading

    def _is_deaf(self) -> bool:
        """Nothing more of the text counts."""
        if self.stale or self._over or (self._parser is not None and self._parser.closed):
            self.cut = True
            return True
        return False

    def _is_of_another_part(self, event: TextDelta | TextDone) -> bool:
        last = self._read_last
        return last is not None and (last.item_id, last.content_index) != (event.item_id, event.content_index)

    def _ends_part(self, event: Structure) -> bool:
        last, parser = self._read_last, self._parser
        if last is None or parser is None or parser.inside:
            return False
        return bool(event.texts) or event.item_id != last.item_id

    def _was_left(self, event: TextDelta | TextDone) -> bool:
        """Another part began since: what comes of this one would be read without its beginning."""
        left = self._parser is not None and (event.item_id, event.content_index) in self._left
        self.cut = self.cut or left
        return left

    def _leave_part(self) -> Passed:
        last = self._read_last
        if last is not None:
            self._left.add((last.item_id, last.content_index))
        return self._end_part().then(Passed(selection=self._unfinished))

    def _end_part(self) -> Passed:
        """A marker never spans two parts: what is held of this one is speech, or an unfinished marker.

        Whether that was talked over is known with the next part, or with the end of the response.
        """
        if self._parser is None or self._read_last is None or self._is_deaf():
            return NOTHING
        ended = self._taken(self._parser, self._read_last, self._parser.finish(), as_it_is=False)
        if isinstance(ended.selection, Malformed):
            self._unfinished = ended.selection
        return Passed(ended.effects)

    def _read_rest(self, event: TextDone, received: str) -> Passed:
        rest = event.text[len(received) :] if event.text.startswith(received) else ""
        if not rest or self._is_deaf() or self._was_left(event):
            return NOTHING
        ended = self._leave_part() if self._is_of_another_part(event) else NOTHING
        self._received += len(rest) + PIECE_COST
        place = event.response_id, event.item_id, event.content_index
        delta = TextDelta(*place, rest, event.frame, event.spoken)
        return ended.then(self._read(delta, as_it_is=False))

    def _read(self, event: TextDelta, as_it_is: bool) -> Passed:
        if self._is_deaf():
            return NOTHING
        self._read_last = event
        if self._parser is None:
            return Passed(tuple(self._speak(event, event.text, as_it_is)))
        return self._taken(self._parser, event, self._parser.feed(event.text), as_it_is)

    def _taken(self, parser: MarkerParser, event: TextDelta, parts: Sequence[Part], as_it_is: bool) -> Passed:
        speech = "".join(part.text for part in parts if isinstance(part, Speech))
        chosen = next((part for part in parts if not isinstance(part, Speech)), None)
        effects = self._speak(event, speech, as_it_is and speech == event.text) if speech else []
        dropped, parser.dropped = parser.dropped, False
        self.cut = self.cut or dropped
        if parser.shut or dropped:
            self._drop_audio()
        if self._speaking and not (parser.shut or parser.undecided):
            effects.extend(self._release())
        return Passed(tuple(effects), chosen)

    def _speak(self, event: TextDelta, speech: str, as_it_is: bool) -> list[Effect]:
        if self.muted:
            self.missed = True
            return []
        self._speaking = True
        announced = self._release_structure()
        self.kept.add((event.item_id, event.content_index), speech, event.spoken)
        self.shown = True
        self._perceived = self._perceived or not speech.isspace()
        return [*announced, Show(event.frame) if as_it_is else ShowDelta(event.frame, speech)]

    # ---- holding

    def _place(self, event: Structure) -> Passed:
        if self.muted:
            return NOTHING
        if self._over:
            return Passed((self._shown(event),)) if self.shown else NOTHING
        if not self._speaking or self._held:
            return self._hold(event)
        self.shown = True
        return Passed((self._shown(event),))

    def _hold(self, event: AudioDelta | Structure) -> Passed:
        self._held.append(event)
        self._held_bytes += len(event.frame)
        if self._held_bytes <= HELD_BYTES:
            return NOTHING
        passed = self.give_up_waiting()
        if self._held_bytes > HELD_BYTES:
            self._drop_held()
        return passed

    def _release_structure(self) -> list[Effect]:
        """Items and parts that were announced before the first speech go out before it."""
        shown: list[Effect] = []
        while self._held and isinstance(event := self._held[0], Structure):
            del self._held[0]
            self._held_bytes -= len(event.frame)
            shown.append(self._shown(event))
        return shown

    def _release(self) -> list[Effect]:
        released, self._held, self._held_bytes = self._held, [], 0
        self.shown = self.shown or bool(released)
        return [self._sounded(one) if isinstance(one, AudioDelta) else self._shown(one) for one in released]

    def _drop_audio(self) -> None:
        self._held = [event for event in self._held if not isinstance(event, AudioDelta)]
        self._held_bytes = sum(len(event.frame) for event in self._held)

    def _drop_held(self) -> None:
        self._held, self._held_bytes = [], 0

    # ---- showing

    def _shown(self, event: Structure) -> Effect:
        """As it is only where it says nothing but what passed; in plain mode text is text."""
        checked = self._parser is not None and any(
            self.kept.of((item_id, index)) != text for item_id, index, text in event.texts
        )
        if self.cut or checked or event.after is not None:
            return ShowCut(event.frame, self.kept.whole(), after=event.after)
        return Show(event.frame)

    def _sounded(self, event: AudioDelta) -> Effect:
        self._perceived = self.more_audio(event) or self._perceived
        return Show(event.frame, is_audio=True)
