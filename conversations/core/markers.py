"""The marker grammar: streamed text in, speech and selections out. Chunking never changes the outcome.

    <<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS={"request":{"report_id":"example-id"}}>>>

One selection a response: what follows it is dropped. A marker that is not exact is malformed, never repaired,
and ends the reading as well. `<think>` spans are dropped, also one whose opening tag was left out where that
is to be expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_letters, digits

NAME_LIMIT = 128
ARGUMENTS_LIMIT = 65_536
THOUGHTS_LIMIT = 65_536

_KEYWORDS = ("vocero_mcp_call", "apipilot_call", "mcp_call")
_GRAMMARS = {"<<<VOCERO_MCP_CALL": "mcp", "<<<APIPILOT_CALL": "apipilot"}
_WORD = "|".join(_KEYWORDS)
# Behind a bracket also with another or no separator: what prepares text for speech may have taken it away.
_LOOSE = _WORD.replace("_", r"[_\s-]?")
_SEPARATORS = re.compile(r"[_\s-]+", re.ASCII)
_BEGUN_KEYWORDS = frozenset(word[:size] for word in _KEYWORDS for size in range(len(word) + 1))
_BEGUN_BARE = frozenset(beginning.replace("_", "") for beginning in _BEGUN_KEYWORDS)
_BEGUN_TAGS = frozenset(tag[:size] for tag in ("think>", "/think>") for size in range(len(tag) + 1))
# ASCII: otherwise a dotless i would count as one, but only where it does not come at the end of a piece.
_FLAGS = re.IGNORECASE | re.ASCII
_FIRST_WORDS = frozenset(
    word[:size]
    for keyword in _KEYWORDS
    for word in [keyword.partition("_")[0]]
    for size in range(1, len(word) + 1)
)
_PREFIXES = "|".join(sorted(_FIRST_WORDS))
# An envelope under another name: nobody says brackets, a word in capitals and a colon.
_SHOUTED = r"<{2,32}\s?(?-i:[A-Z_]{3,15})"
_MARKER = rf"<{{1,32}}\s?(?:{_LOOSE})|{_SHOUTED}:|(?<![A-Za-z0-9_<])(?:{_WORD})"
_TRIGGER = re.compile(rf"(?P<think><think>)|(?P<unthink></think>)|(?P<marker>{_MARKER})", _FLAGS)
_SHOUTING = re.compile(r"<{2,32}\s?[A-Z_]{0,15}")
_TAIL = re.compile(r"(?:<{1,32}\s?/?[A-Za-z_\s-]{0,15}|(?<![A-Za-z0-9_<])[A-Za-z_]{1,15})\Z", _FLAGS)
_TAIL_REACH = 64
_FIRST_WORD = re.compile(rf"(?<![A-Za-z0-9])(?:{_PREFIXES})\Z", _FLAGS)
_FIRST_WORD_REACH = 8
_BEGINNINGS = frozenset("<vamVAM")
_IN_A_WORD = frozenset(ascii_letters + digits)
_BRACKETS = re.compile(r'["{}]')
_STRING_END = re.compile(r'["\\]')
_BAD_NAME = re.compile(r"[<>{}\"\n\r]")
_UNTHINK = re.compile("</think>", _FLAGS)
# By its line a brain finds the conversation that it thinks for; only the relay writes one.
_TICKET = re.compile(r"vocero[\W_]{0,3}ticket\W{0,4}[\w.=-]{8,}", _FLAGS)
_UNTHINK_REACH = len("</think>") - 1


@dataclass(frozen=True, slots=True)
class Speech:
    """Text that is for the caller."""

    text: str


@dataclass(frozen=True, slots=True)
class Selection:
    """A complete marker: its grammar (`mcp` or `apipilot`), the exact name, the arguments as written."""

    grammar: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something that wanted to be a marker: `garbled`, `name`, `arguments`, `too_long` or `unfinished`."""

    reason: str


Part = Speech | Selection | Malformed
Reader = Callable[[str, list[Part]], str]


def neutralise(text: str) -> str:
    """The text without markers, thinking tags and tickets, of the same length, for data sent to the model."""
    text = _TICKET.sub(lambda found: "…" * len(found.group()), text)
    text = re.sub(r"<(?=<)|(?<=<)<", "‹", text)
    text = re.sub(rf"<(?=/?think>|\s?(?:{_LOOSE})|\s?[A-Za-z\s-]{{0,14}}_)", "‹", text, flags=_FLAGS)
    return re.sub(rf"(?:{_WORD})", lambda m: m.group().replace("_", "-"), text, flags=_FLAGS)


class MarkerParser:
    """Reads the assistant text of one response, in any pieces.

    With `thinks_first` a closing thinking tag is waited for, and all before it dropped. `dropped`: something
    that was read is not for the caller; `ended_thinking`: a closing tag came that nothing had opened.
    """

    def __init__(self, thinks_first: bool = False) -> None:
        # Made once: a method is another object each time it is asked for, which costs more than a letter.
        self._aloud: Reader = self._speech
        self._read: Reader = self._perhaps_thinking if thinks_first else self._aloud
        self._thoughts: list[str] = []
        self.ended_thinking = False
        self._held = ""
        self._before = ""
        self._literal = ""
        self._after_literal: Reader = self._aloud
        self._grammar = ""
        self._name = ""
        self._pieces: list[str] = []
        self._size = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self.dropped = False

    @property
    def inside(self) -> bool:
        """Whether a marker is half read."""
        return self._read in (self._expect, self._read_name, self._read_arguments)

    @property
    def undecided(self) -> bool:
        """Whether what is held could still become a marker."""
        if self._read == self._perhaps_thinking:
            return True
        return self.inside or (self._read is self._aloud and _looks_like_marker(self._held))

    @property
    def faint(self) -> bool:
        """Whether what is held are brackets only, which rather compare something than begin a marker."""
        return self._read is self._aloud and not self._held.strip("< \n\t")

    @property
    def shut(self) -> bool:
        """Whether what is being read is not for the caller."""
        return self._read in (self._think, self._closed)

    @property
    def closed(self) -> bool:
        """Whether a marker was read, exact or malformed; nothing after it counts."""
        return self._read == self._closed

    def feed(self, text: str) -> list[Part]:
        """The parts that this piece completes."""
        if self._read is self._aloud and len(text) == 1:
            if not self._held and text not in _BEGINNINGS:
                self._before = text
                return [_spoken(text)]
            known = self._of_a_word(text)
            if known is not None:
                return known
        parts: list[Part] = []
        while text:
            text = self._read(text, parts)
        return parts

    def _of_a_word(self, letter: str) -> list[Part] | None:
        """The parts that a letter completes; None where brackets or underscores are near."""
        word = self._held + letter
        near = self._before + word
        if "<" in near or "_" in near:
            return None
        if self._before not in _IN_A_WORD and word.lower() in _FIRST_WORDS:
            self._held = word
            return []
        self._held, self._before = "", letter
        return [_spoken(word)]

    def passes(self, text: str) -> bool:
        """Whether a piece is speech to its last letter; it is read if so, and else not at all."""
        if self._held or self._read is not self._aloud or "<" in text or "_" in text:
            return False
        last_word = text[len(text.rstrip(ascii_letters)) :]
        if last_word.lower() in _FIRST_WORDS:
            return False
        self._before = text[-1:] or self._before
        return True

    def finish(self) -> list[Part]:
        """The parts left at the end of a content part; an unfinished marker is never released."""
        if self._read == self._perhaps_thinking:
            return self._was_speech()
        held, self._held, self._before = self._held, "", ""
        if self._read in (self._think, self._closed):
            return []
        if self.inside or _is_unfinished_marker(held):
            self._read, self.dropped = self._closed, True
            return [Malformed("unfinished")]
        if _is_unfinished_tag(held):
            self.dropped = True
            return []
        return [Speech(held)] if held else []

    # Each reader takes what it can of the text and returns the rest.

    def _speech(self, text: str, parts: list[Part]) -> str:
        work = self._before + self._held + text
        start = len(self._before)
        self._held = ""
        # Every trigger has a bracket or an underscore; most text has neither.
        plain = "<" not in work and "_" not in work
        found = None if plain else _TRIGGER.search(work, start)
        if found is None:
            cut = _word_start(work, start) if plain else _tail_start(work, start)
            self._say(work[start:cut], parts)
            self._held = work[cut:]
            return ""
        self._say(work[start : found.start()], parts)
        self._before, self.dropped = "", True
        if found["think"]:
            self._read = self._think
        elif found["unthink"]:
            self.ended_thinking = True
        elif found["marker"]:
            self._open_marker(found["marker"], parts)
        return work[found.end() :]

    def _say(self, text: str, parts: list[Part]) -> None:
        if text:
            parts.append(Speech(text))
            self._before = text[-1]

    def _open_marker(self, opening: str, parts: list[Part]) -> None:
        self._grammar = _GRAMMARS.get(opening, "")
        if not self._grammar:
            self._break("garbled", parts)
            return
        self._name, self._pieces, self._size = "", [], 0
        self._depth, self._in_string, self._escaped = 0, False, False
        self._want(":NAME=", self._read_name)

    def _want(self, literal: str, then: Reader) -> None:
        self._literal, self._after_literal = literal, then
        self._read = self._expect

    def _expect(self, text: str, parts: list[Part]) -> str:
        size = min(len(text), len(self._literal))
        if text[:size] != self._literal[:size]:
            self._break("garbled", parts)
            return text
        self._literal = self._literal[size:]
        if not self._literal:
            self._read = self._after_literal
            if self._read == self._closed:
                parts.append(Selection(self._grammar, self._name, "".join(self._pieces)))
        return text[size:]

    def _read_name(self, text: str, parts: list[Part]) -> str:
        name, comma, rest = text.partition(",")
        self._name += name
        if _BAD_NAME.search(name) or len(self._name) > NAME_LIMIT or (comma and not self._name):
            self._break("name", parts)
        elif comma:
            self._want("ARGUMENTS=", self._read_arguments)
        return rest

    def _read_arguments(self, text: str, parts: list[Part]) -> str:
        if not self._size and text[0] != "{":
            if text[0] == ">":
                self._want(">>>", self._closed)
            else:
                self._break("arguments", parts)
            return text
        end = self._object_end(text)
        taken, rest = (text, "") if end is None else (text[:end], text[end:])
        self._pieces.append(taken)
        self._size += len(taken)
        if self._size > ARGUMENTS_LIMIT:
            self._break("too_long", parts)
        elif end is not None:
            self._want(">>>", self._closed)
        return rest

    def _object_end(self, text: str) -> int | None:
        """Where the JSON object ends in this piece, as JSON says it; None where it goes on."""
        if self._in_string and not self._escaped and '"' not in text and "\\" not in text:
            return None
        place = 0
        if self._escaped:
            place, self._escaped = 1, False
        while place < len(text):
            found = (_STRING_END if self._in_string else _BRACKETS).search(text, place)
            if found is None:
                return None
            place, mark = found.end(), found.group()
            if mark == "\\":
                self._escaped = place == len(text)
                place += 1
            elif mark == '"':
                self._in_string = not self._in_string
            else:
                self._depth += 1 if mark == "{" else -1
                if self._depth == 0:
                    return place
        return None

    def _break(self, reason: str, parts: list[Part]) -> None:
        self._pieces = []
        self._read = self._closed
        parts.append(Malformed(reason))

    def _perhaps_thinking(self, text: str, parts: list[Part]) -> str:
        rest = self._think(text, parts)
        self._thoughts.append(text[: len(text) - len(rest)])
        self._size += len(text) - len(rest)
        if self._read is self._aloud:
            self._thoughts, self.dropped, self.ended_thinking = [], True, True
        elif self._size > THOUGHTS_LIMIT:
            self._thoughts, self._read, self.dropped = [], self._think, True
        return rest

    def _was_speech(self) -> list[Part]:
        """No tag came: what waited for it was an answer."""
        text, self._thoughts = "".join(self._thoughts), []
        self._held, self._size, self._read = "", 0, self._aloud
        return [*self.feed(text), *self.finish()]

    def _think(self, text: str, _parts: list[Part]) -> str:
        work = self._held + text
        found = _UNTHINK.search(work)
        if found is None:
            self._held = work[-_UNTHINK_REACH:]
            return ""
        self._held, self._read = "", self._aloud
        return work[found.end() :]

    def _closed(self, _text: str, _parts: list[Part]) -> str:
        return ""


@lru_cache(maxsize=256)
def _spoken(text: str) -> Speech:
    """A letter or a few, the same object each time: to make one costs more than to read them."""
    return Speech(text)


def _word_start(work: str, start: int) -> int:
    """The same of text without brackets and underscores: where a keyword's first word may begin."""
    end = len(work)
    if not work[-1].isalpha():
        return end
    found = _FIRST_WORD.search(work, max(start, end - _FIRST_WORD_REACH))
    return end if found is None else found.start()


def _tail_start(work: str, start: int) -> int:
    """Where the end of the text begins that could still grow into a marker or a thinking tag."""
    found = _TAIL.search(work, max(start, len(work) - _TAIL_REACH))
    if found is None:
        return len(work)
    tail = found.group()
    lower = tail.lstrip("<").lstrip().lower()
    if not tail.startswith("<"):
        grows = lower in _BEGUN_KEYWORDS
    else:
        grows = lower in _BEGUN_TAGS or _SEPARATORS.sub("", lower) in _BEGUN_BARE
        grows = grows or _SHOUTING.fullmatch(tail) is not None
    return found.start() if grows else len(work)


def _looks_like_marker(held: str) -> bool:
    """Whether held speech is so near a marker that its audio must wait; a keyword's first word is not."""
    return held.startswith("<") or "_" in held


def _is_unfinished_marker(held: str) -> bool:
    """Whether held speech, with nothing after it, is rather the beginning of a marker than speech."""
    return "_" in held or held.startswith("<<")


def _is_unfinished_tag(held: str) -> bool:
    """Whether held speech is rather the beginning of a thinking tag than speech."""
    return len(held) > 2 and any(tag.startswith(held.lower()) for tag in ("<think>", "</think>"))
