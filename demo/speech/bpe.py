"""Whisper's byte-level tokens from its `tokenizer.json`, with the standard library alone."""

import json
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

_WORDS = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
_NEVER = 1 << 30


class Tokens:
    """Text to token ids and token strings back to text."""

    def __init__(self, path: Path) -> None:
        document = json.loads(path.read_text(encoding="utf-8"))
        model = document["model"]
        self._ids: dict[str, int] = dict(model["vocab"])
        self._ids.update((token["content"], token["id"]) for token in document["added_tokens"])
        pairs = (
            tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]
        )
        self._ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self._letters = _byte_letters()
        self._bytes = {letter: byte for byte, letter in self._letters.items()}

    def id_of(self, token: str) -> int:
        """The id of one token as it is written in the file, such as `<|notimestamps|>`."""
        return self._ids[token]

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return [self._ids[token] for word in _WORDS.findall(text) for token in self._merged(word)]

    def decode(self, tokens: Iterable[str]) -> str:
        """The text of a run of tokens; special ones are left out."""
        letters = (letter for token in tokens if not token.startswith("<|") for letter in token)
        return bytes(self._bytes[letter] for letter in letters if letter in self._bytes).decode(
            "utf-8", "replace"
        )

    def _merged(self, word: str) -> list[str]:
        parts = [self._letters[byte] for byte in word.encode()]
        while len(parts) > 1:
            ranks = (self._ranks.get(pair, _NEVER) for pair in pairwise(parts))
            rank, place = min((rank, place) for place, rank in enumerate(ranks))
            if rank == _NEVER:
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return parts


def _byte_letters() -> dict[int, str]:
    """The printable letter that stands for each byte in the vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + place) for place, byte in enumerate(others)}
