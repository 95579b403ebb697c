"""What the planner makes of a sentence: mended words, numbers and stems."""

import re
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_NUMBER_WORDS = _WORD.findall(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
NUMBERS = {word: value for value, word in enumerate(_NUMBER_WORDS)}
_ORDINAL_WORDS = _WORD.findall("first second third fourth fifth sixth seventh eighth")
ORDINALS = {word: place for place, word in enumerate(_ORDINAL_WORDS, 1)}

# What the recognizer writes for words of this domain: "cage four" comes out as "KH4", "cage two" as "Caj2".
_MISHEARD = (
    (re.compile(r"\b(?:ca[jg]e?|kh|kate|cates?|k)[\s-]?(\d+)\b"), r"cage \1"),
    (re.compile(r"\b(cages?|pens?|episode) (?:number )?for\b"), r"\1 4"),
    (re.compile(r"\b(cages?|pens?|episode) (?:number )?(?:to|too)\b"), r"\1 2"),
    (re.compile(r"\bpod casts?\b"), "podcasts"),
    (re.compile(r"\bsea ?(?:lights?|lies|lies?e)\b|\bsealice\b"), "sea lice"),
    (re.compile(r"\bcent(?:re|er)\b"), "center"),
    (re.compile(r"\bdebrief(?:ing)?\b"), "briefing"),
)
_STOP = frozenset(
    _WORD.findall(
        "a all an and any are as at be been by can could current currently did do does for from give has "
        "have hear how i in is it its just like looking many me much my now of on one or our please say see "
        "some that the their them then there these this time to up us was we well were what when where which "
        "who will with would you your"
    )
)


def mended(text: str) -> str:
    """Lower-case text with plain quotes and the recognizer's usual slips put right."""
    text = " ".join(text.lower().replace("’", "'").split())
    for pattern, replacement in _MISHEARD:
        text = pattern.sub(replacement, text)
    return text


def stem(word: str) -> str:
    """A word without its plural or verb ending, close enough to compare."""
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 5:
        word = re.sub(r"(?:ing|ed|e)$", "", word)
    return word


def stems(text: str) -> list[str]:
    """The stems of a text's telling words, in order; underscores and camel case are word breaks."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[_\-./]", " ", text).lower()
    return [stem(word) for word in _WORD.findall(spaced) if word not in _STOP]


def number(word: str) -> int | None:
    """The value of a number written in digits or as an English word."""
    return int(word) if word.isdigit() else NUMBERS.get(word)


@dataclass(frozen=True)
class Question:
    """What the caller said: `raw` as it came; the rest is derived once."""

    raw: str

    @cached_property
    def text(self) -> str:
        """The mended text."""
        return mended(self.raw)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the mended text as they are."""
        return frozenset(_WORD.findall(self.text))

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stems of its telling words."""
        return tuple(stems(self.text))
