"""What each side heard, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Said:
    """One finished utterance: `role` is `caller` or `assistant`."""

    role: str
    text: str


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
        self._followed: list[tuple[Mapping[Key, str], Mapping[str, float]]] = []
        self._played: dict[str, float] = {}

    def follow(self, kept: Mapping[Key, str], audio_ms: Mapping[str, float]) -> None:
        """One more response: its passed texts and its passed milliseconds of audio, both still growing."""
        self._followed.append((kept, audio_ms))

    def sent_ms(self, item_id: str) -> float | None:
        """Milliseconds of that item's audio that were sent; None where the item is of another turn."""
        for kept, audio in self._followed:
            if item_id in audio or any(item == item_id for item, _ in kept):
                return audio.get(item_id, 0.0)
        return None

    def played(self, item_id: str, milliseconds: float) -> None:
        """The browser played so much of an item, at most what was sent."""
        sent = self.sent_ms(item_id)
        if sent is not None:
            self._played[item_id] = min(max(milliseconds, 0.0), sent)

    def heard(self, cut: bool) -> str:
        """The text as heard; where the answer was cut, up to what was played, as far as that is known."""
        pieces = []
        for kept, audio in self._followed:
            for (item_id, _), text in kept.items():
                played = self._played.get(item_id) if cut else None
                pieces.append(text if played is None else heard_part(text, audio.get(item_id, 0.0), played))
        return " ".join(piece.strip() for piece in pieces if piece.strip())
