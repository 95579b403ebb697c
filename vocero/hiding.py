"""Live credentials and phones, known by hashes of their pieces, so that no line of a log repeats one.

It is the second line: nothing secret is meant to reach a text at all. It keeps no credential itself.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator

HIDDEN = "[hidden]"
# A piece so short is known only where it looks like no word and no id of ours.
SHORT = 6
LONG = 12
# So many credentials are known at once, the newest.
MOST = 2_000
_PHONE = re.compile(r"\+?(\d{7,15})")
_DIGITS = re.compile(r"\d{7,15}")
_WORDS = re.compile(r"[^\s\"\\]{6,}")
# A number is known by its end: it is written with and without its country.
_ENDING = 9
_MIXED = re.compile(r"(?=.*[A-Z])(?=.*[a-z0-9])|(?=.*[0-9])(?=.*[g-z])")


class Hiding:
    """`keep` what must not be read, then `without` gives any text with it covered."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self._pieces: Counter[int] = Counter()
        self._lock = threading.Lock()

    def keep(self, secret: str) -> None:
        """From here on no piece of this is to be read; a phone number counts as a whole."""
        if len(secret) < SHORT:
            return
        with self._lock:
            name = hash(secret)
            if name in self._kept:
                self._kept.move_to_end(name)
                return
            pieces = self._kept[name] = tuple(set(_pieces(secret)))
            self._pieces.update(pieces)
            if len(self._kept) > self._most:
                _, old = self._kept.popitem(last=False)
                self._pieces.subtract(old)
                for piece in old:
                    if self._pieces[piece] <= 0:
                        del self._pieces[piece]

    def without(self, text: str) -> str:
        """The text with every known piece covered."""
        if not self._pieces:
            return text
        spans = [span for word in _WORDS.finditer(text) for span in self._found(word)]
        spans += [one.span() for one in _DIGITS.finditer(text) if _number(one[0]) in self._pieces]
        return _covered(text, sorted(spans)) if spans else text

    def _found(self, word: re.Match[str]) -> Iterator[tuple[int, int]]:
        for size in (SHORT, LONG) if _MIXED.match(word[0]) else (LONG,):
            for start in range(len(word[0]) - size + 1):
                if hash(word[0][start : start + size]) in self._pieces:
                    yield word.start() + start, word.start() + start + size


def _pieces(secret: str) -> Iterator[int]:
    phone = _PHONE.fullmatch(secret)
    if phone:
        yield _number(phone[1])
        return
    for start in range(len(secret) - SHORT + 1):
        piece = secret[start : start + SHORT]
        if _MIXED.match(piece):
            yield hash(piece)
    for start in range(len(secret) - LONG + 1):
        yield hash(secret[start : start + LONG])


def _number(digits: str) -> int:
    # Apart from the hashes of texts: six digits of a token are none of a phone's.
    return hash(("phone", digits[-_ENDING:]))


def _covered(text: str, spans: list[tuple[int, int]]) -> str:
    parts, done = [], 0
    for start, end in spans:
        if start >= done:
            parts += [text[done:start], HIDDEN]
        done = max(done, end)
    return "".join([*parts, text[done:]])


LIVE = Hiding()
