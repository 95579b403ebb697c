"""What each side heard, in order."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

Key = tuple[str, int]  # item id, content index
MOST_CHARS = 262_144
# Nobody speaks faster. A service tells words long before their sound: where that was cut short, nobody knows
# what share of the words it is.
LETTERS_A_SECOND = 25.0
# They change the letter before them.
_SKIN_TONES = frozenset("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
# Seconds by which playback may be later than it could be.
SLACK = 3.0


@dataclass(frozen=True, slots=True)
class Said:
    """One finished utterance: `role` is `caller` or `assistant`."""

    role: str
    text: str


class Texts:
    """Texts of content parts that grow piece by piece, in the order in which they began."""

    def __init__(self) -> None:
        self._pieces: dict[Key, list[str]] = {}
        self._spoken: set[Key] = set()
        self.size = 0

    def __iter__(self) -> Iterator[tuple[Key, str]]:
        return ((key, "".join(pieces)) for key, pieces in self._pieces.items())

    def add(self, key: Key, piece: str, spoken: bool = False) -> None:
        """One more piece; `spoken` where the caller hears it instead of reading it."""
        if piece:
            self._pieces.setdefault(key, []).append(piece)
            self.size += len(piece)
            if spoken:
                self._spoken.add(key)

    def of(self, key: Key) -> str:
        """The text of a part so far."""
        return "".join(self._pieces.get(key, ()))

    def whole(self) -> dict[Key, str]:
        """All of them as they are now."""
        return dict(self)

    def has(self, key: Key) -> bool:
        """Whether that part has any text."""
        return key in self._pieces

    def is_spoken(self, key: Key) -> bool:
        """Whether that part is the transcript of something that is heard."""
        return key in self._spoken


@dataclass(slots=True)
class Spoken:
    """What passed of one response: texts, milliseconds of audio by part and in all.

    It is `whole` once nothing more comes.
    """

    texts: Texts = field(default_factory=Texts)
    audio_ms: dict[Key, float] = field(default_factory=dict)
    whole: bool = False
    sent_ms: float = 0.0

    def sounded(self, key: Key, milliseconds: float) -> None:
        """So much more audio of a part passed."""
        self.audio_ms[key] = self.audio_ms.get(key, 0.0) + milliseconds
        self.sent_ms += milliseconds


def heard_part(text: str, audio_ms: float, played_ms: float, whole: bool = True) -> str:
    """The beginning of a spoken text that fits what was played of its audio, cut between words.

    Without `whole` the text may have more audio than there is so far.
    """
    if audio_ms <= 0 or played_ms <= 0:
        return ""
    share = min(played_ms / audio_ms, 1.0)
    letters = len(text) * share
    if not whole:
        letters = min(letters, played_ms / 1000 * LETTERS_A_SECOND)
    return text[: _word_end(text, int(letters))].rstrip()


def _word_end(text: str, end: int) -> int:
    """The last place up to `end` at which no word is cut; where words have no spaces, any letter ends one."""
    while 0 < end < len(text) and not (text[end].isspace() or _is_between_letters(text, end)):
        end -= 1
    return end


def _is_between_letters(text: str, place: int) -> bool:
    around = text[place - 1 : place + 1]
    if "\u200d" in around or unicodedata.combining(text[place]) or text[place] in _SKIN_TONES:
        return False
    return any(unicodedata.east_asian_width(one) in "WF" for one in around)


class Answer:
    """The assistant's side of one turn: it follows what each of its responses lets through.

    Playback is behind: where the browser does not say how far, it is at most as far as time allows.
    """

    def __init__(self) -> None:
        self._followed: list[Spoken] = []
        self._played: dict[Key, float] = {}
        self._playing: Key | None = None
        self._reported_at = 0.0
        self._sent = 0.0
        self._head = 0.0
        self._looked_at = 0.0
        self._is_cut = False

    @property
    def responses(self) -> int:
        """How many responses it consists of."""
        return len(self._followed)

    @property
    def overflows(self) -> bool:
        """Whether it says more than any answer does."""
        return sum([spoken.texts.size for spoken in self._followed]) > MOST_CHARS

    @property
    def is_cut(self) -> bool:
        """Whether playback ended before the answer did."""
        return self._is_cut

    def follow(self, spoken: Spoken) -> None:
        """One more response: what passes of it, still growing."""
        self._followed.append(spoken)

    def sounds(self, now: float) -> None:
        """Audio may have passed since this was last told: the clock of playback goes on."""
        self._head = min(self._sent, self._head + max(now - self._looked_at, 0.0) * 1000)
        self._looked_at = now
        self._sent = sum([spoken.sent_ms for spoken in self._followed])

    def cut(self, now: float) -> bool:
        """Whether playback ends here and did not before; infinity is when everything was played."""
        if self._is_cut:
            return False
        self.sounds(now)
        self._is_cut = True
        left = sum(ms - heard for _, _, ms, heard in self._parts())
        if self._playing is not None and self._reported_at + left / 1000 + SLACK < now < math.inf:
            # The last report is so old that playback has gone on since, to its end.
            self._played, self._playing = {}, None
        return True

    def sent_ms(self, key: Key) -> float | None:
        """Milliseconds of that part's audio that were sent; None where the part is of another turn."""
        found = [spoken for spoken in self._followed if key in spoken.audio_ms or spoken.texts.has(key)]
        return sum(spoken.audio_ms.get(key, 0.0) for spoken in found) if found else None

    def played(self, key: Key, milliseconds: float, now: float) -> None:
        """The browser played so much of a part, at most what was sent."""
        sent = self.sent_ms(key)
        if sent is not None:
            self._played[key] = min(max(milliseconds, 0.0), sent)
            self._playing, self._reported_at = key, now

    def played_ms(self, key: Key) -> float | None:
        """What the browser last said about that; None where it said nothing."""
        return self._played.get(key)

    def unheard(self) -> list[tuple[Key, int]]:
        """The parts of a cut answer that were not played to their end, with the milliseconds that were."""
        if not self._is_cut:
            return []
        parts = ((key, ms, heard) for _, key, ms, heard in self._parts())
        return [(key, int(heard)) for key, ms, heard in parts if int(heard) < int(ms)]

    def heard(self) -> str:
        """The text as heard; where the answer was cut, up to what was played, as far as that is known."""
        pieces: list[str] = []
        played = {(id(spoken), key): (ms, heard) for spoken, key, ms, heard in self._parts()}
        for spoken in self._followed:
            for key, text in spoken.texts:
                ms, heard = played.get((id(spoken), key), (0.0, 0.0))
                is_read = not ms and not spoken.texts.is_spoken(key)
                whole = not self._is_cut or is_read
                pieces.append(text if whole else heard_part(text, ms, heard, spoken.whole))
        return " ".join(piece.strip() for piece in pieces if piece.strip())

    def _parts(self) -> Iterator[tuple[Spoken, Key, float, float]]:
        """Every part with audio, in the order of playback: (its response, itself, milliseconds, played)."""
        start, behind = 0.0, False
        for spoken in self._followed:
            for key, ms in spoken.audio_ms.items():
                by_time = min(max(self._head - start, 0.0), ms)
                unknown = by_time if self._playing is None else 0.0 if behind else ms
                yield spoken, key, ms, min(self._played.get(key, unknown), ms)
                behind = behind or key == self._playing
                start += ms
