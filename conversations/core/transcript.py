"""What each side heard, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Key = tuple[str, int]  # item id, content index
MOST_CHARS = 262_144


@dataclass(frozen=True, slots=True)
class Said:
    """One finished utterance: `role` is `caller` or `assistant`."""

    role: str
    text: str


class Texts:
    """Texts of content parts that grow piece by piece, in the order in which they began."""

    def __init__(self) -> None:
        self._pieces: dict[Key, list[str]] = {}
        self.size = 0

    def __iter__(self) -> Iterator[tuple[Key, str]]:
        return ((key, "".join(pieces)) for key, pieces in self._pieces.items())

    def add(self, key: Key, piece: str) -> None:
        """One more piece."""
        if piece:
            self._pieces.setdefault(key, []).append(piece)
            self.size += len(piece)

    def of(self, key: Key) -> str:
        """The text of a part so far."""
        return "".join(self._pieces.get(key, ()))

    def whole(self) -> dict[Key, str]:
        """All of them as they are now."""
        return dict(self)

    def has_item(self, item_id: str) -> bool:
        """Whether a part of that item has any text."""
        return any(item == item_id for item, _ in self._pieces)


def heard_part(text: str, audio_ms: float, played_ms: float) -> str:
    """The beginning of a spoken text that fits what was played, cut between words."""
    if audio_ms <= 0 or played_ms >= audio_ms:
        return text
    end = int(len(text) * max(played_ms, 0.0) / audio_ms)
    space = text.rfind(" ", 0, end + 1)
    return text[:space].rstrip() if space > 0 else ""


class Answer:
    """The assistant's side of one turn: it follows what each of its responses lets through."""

    def __init__(self) -> None:
        self._followed: list[tuple[Texts, Mapping[str, float]]] = []
        self._played: dict[str, float] = {}
        self._playing = ""

    @property
    def responses(self) -> int:
        """How many responses it consists of."""
        return len(self._followed)

    @property
    def overflows(self) -> bool:
        """Whether it says more than any answer does."""
        return sum(kept.size for kept, _ in self._followed) > MOST_CHARS

    def follow(self, kept: Texts, audio_ms: Mapping[str, float]) -> None:
        """One more response: its passed texts and its passed milliseconds of audio, both still growing."""
        self._followed.append((kept, audio_ms))

    def sent_ms(self, item_id: str) -> float | None:
        """Milliseconds of that item's audio that were sent; None where the item is of another turn."""
        for kept, audio in self._followed:
            if item_id in audio or kept.has_item(item_id):
                return audio.get(item_id, 0.0)
        return None

    def played(self, item_id: str, milliseconds: float) -> None:
        """The browser played so much of an item, at most what was sent."""
        sent = self.sent_ms(item_id)
        if sent is not None:
            self._played[item_id] = min(max(milliseconds, 0.0), sent)
            self._playing = item_id

    def played_ms(self, item_id: str) -> float | None:
        """What the browser last said about that; None where it said nothing."""
        return self._played.get(item_id)

    def heard(self, cut: bool) -> str:
        """The text as heard; where the answer was cut, up to what was played, as far as that is known."""
        pieces, after_playing = [], False
        for kept, audio in self._followed:
            for (item_id, _), text in kept:
                sent = audio.get(item_id, 0.0)
                unheard = 0.0 if after_playing and sent else None
                played = self._played.get(item_id, unheard) if cut else None
                pieces.append(text if played is None else heard_part(text, sent, played))
                after_playing = after_playing or item_id == self._playing
        return " ".join(piece.strip() for piece in pieces if piece.strip())
