"""Text cut into pieces: sentences to be spoken, and the deltas that they are written in."""

import re

_END = re.compile(r"(?<=[.!?;:])(?=\s)|(?<=\n)")
_ONE_PIECE = 48
_LONG_WORD = 24
_DELTA = re.compile(r"\s*\S{1,12}")


def sentences(text: str) -> list[str]:
    """The sentences of a text with their leading blanks; joined, they are the text.

    A run of characters that no one could say in one breath, such as JSON, is cut as well.
    """
    return [piece for sentence in _END.split(text) for piece in _pieces(sentence) if piece]


def deltas(text: str) -> list[str]:
    """A text in pieces of about one word, as a model streams it; joined, they are the text."""
    found = _DELTA.findall(text)
    rest = text[sum(map(len, found)) :]
    return [*found, rest] if rest else found


def _pieces(sentence: str) -> list[str]:
    if max((len(word) for word in sentence.split()), default=0) <= _ONE_PIECE:
        return [sentence]
    return [sentence[start : start + _LONG_WORD] for start in range(0, len(sentence), _LONG_WORD)]
