"""The value that a question gives to one argument of a tool, or none: nothing is ever made up."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from demo.speech.planner import dates
from demo.speech.planner.schema import Slot
from demo.speech.planner.words import NUMBERS, ORDINALS, Question, number, stem, stems

_SPOKEN_AS = {
    "oxygen": "o2",
    "temperature": "temp warm warmth cold hot",
    "salinity": "salt salty saline",
    "mortality": "mortality dead death died dying dies",
    "sea lice": "lice louse",
    "biomass": "weight weigh weighs heavy tons tonnes",
    "feed": "fed feeding eat eats eaten ate food",
    "critical": "alarm alarms serious urgent",
    "north": "northern",
    "south": "southern",
    "east": "eastern",
    "west": "western",
}
_SYNONYMS = {" ".join(stems(key)): {stem(word) for word in text.split()} for key, text in _SPOKEN_AS.items()}
_COUNTERS = frozenset({"number", "num", "no", "id", "count", "index"})
_NUMBER = r"(?:\d+|" + "|".join(NUMBERS) + ")"
_FREE_TEXT = frozenset({"query", "question", "text", "utterance"})
_CLOSE_ENOUGH = 0.84


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what it is asked against: the day, and titles that were heard in earlier results."""

    question: Question
    today: date
    titles: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The mended text of the question."""
        return self.question.text


def fill(slot: Slot, asked: Asked) -> list[Any]:
    """The values that the question names for a slot: none, one, or several numbers ("cages one and five")."""
    if slot.kind == "date":
        return _one(_day(slot, asked))
    if slot.values:
        return _one(_choice(slot.values, asked.question))
    if slot.kind in ("integer", "number"):
        return _numbers(slot, asked.text)
    if slot.kind == "boolean":
        return [True] if _said(slot, asked.text) else []
    return _one(_words(slot, asked))


def within(slot: Slot, value: Any) -> bool:
    """Whether a number lies in the slot's own bounds."""
    low, high = slot.minimum, slot.maximum
    return (low is None or value >= low) and (high is None or value <= high)


def nouns(slot: Slot) -> frozenset[str]:
    """The stems of what a slot names: "cage" and "pen" for `cage_number`, the number of a cage (pen)."""
    return frozenset(stem(word) for word in _things(slot))


def _things(slot: Slot) -> list[str]:
    named = [word for word in slot.name.lower().split("_") if word not in _COUNTERS]
    return named + re.findall(r"\((\w+)\)", slot.description.lower())


def _one(value: Any) -> list[Any]:
    return [] if value is None else [value]


def _day(slot: Slot, asked: Asked) -> Any:
    days = dates.mentioned(asked.text, asked.today)
    if days is None:
        return None
    role = set(slot.name.lower().split("_"))
    if role & {"from", "since", "after", "start"}:
        day = days.start
    elif role & {"to", "until", "before", "end"}:
        day = days.end
    else:
        day = days.start if days.start == days.end else None
    if day is None:
        return None
    return days.word if days.word in slot.values else day.isoformat()


def _choice(values: Sequence[Any], question: Question) -> Any:
    """The one of an enumeration that the question names best, by the words that only it has."""
    tokens = {value: stems(str(value)) for value in values}
    uses = Counter(word for words in tokens.values() for word in set(words))
    said = question.stems
    best, best_score = None, 0.0
    for value, words in tokens.items():
        telling = [word for word in words if uses[word] == 1] or words
        score = sum(_heard(word, said) for word in telling) / len(telling) if telling else 0.0
        if _SYNONYMS.get(" ".join(telling), set()) & set(said):
            score = max(score, 1.0)
        if score > best_score:
            best, best_score = value, score
    return best if best_score >= _CLOSE_ENOUGH else None


def _heard(word: str, said: Sequence[str]) -> float:
    if word in said:
        return 1.0
    if len(word) < 5:
        return 0.0
    return max((difflib.SequenceMatcher(None, word, other).ratio() for other in said), default=0.0)


def _numbers(slot: Slot, text: str) -> list[Any]:
    words = set(slot.name.lower().split("_"))
    if words & {"offset", "cursor", "page"}:
        return []
    if words & {"days"}:
        return _one(dates.span_days(text))
    if words & {"limit"}:
        found = re.search(rf"\b(?:top|first|last|latest|newest|next) ({_NUMBER}) (?!day|week|month)", text)
        count = number(found[1]) if found else None
        return [count] if count and within(slot, count) else []
    return _counted(_things(slot), text)


def _counted(things: Sequence[str], text: str) -> list[Any]:
    if not things:
        return []
    thing = "(?:" + "|".join(re.escape(word) for word in things) + ")"
    run = rf"{_NUMBER}(?:(?:,? and |,? or |, | versus | with |, and ){thing}?s? ?{_NUMBER})*"
    found = re.search(rf"\b{thing}s? (?:number |no\.? ?)?({run})\b", text)
    if found:
        values = [number(word) for word in re.findall(rf"\b{_NUMBER}\b", found[1])]
        return list(dict.fromkeys(value for value in values if value is not None))
    placed = re.search(rf"\b({'|'.join(ORDINALS)}) {thing}\b", text)
    return [ORDINALS[placed[1]]] if placed else []


def _said(slot: Slot, text: str) -> bool:
    explained = ",".join(re.findall(r"\(([^)]*)\)", slot.description))
    names = [name.strip().lower() for name in (slot.name, *explained.split(","))]
    spoken = dates.without_spans(text)
    return any(re.search(rf"\b{re.escape(name)}\b", spoken) for name in names if name)


def _words(slot: Slot, asked: Asked) -> str | None:
    parts = set(slot.name.lower().split("_"))
    if parts & _FREE_TEXT:
        return asked.question.raw.strip()
    if parts & {"title", "name"}:
        return _title(asked)
    return None


def _title(asked: Asked) -> str | None:
    """A title that the caller says: a known one, a quoted one, or what follows "called"."""
    said = set(asked.question.stems)
    for title in asked.titles:
        words = set(stems(title))
        if words and words <= said:
            return title
    quoted = re.search(r"[\"“]([^\"”]{2,80})[\"”]", asked.question.raw)
    named = re.search(r"\b(?:called|named|titled)\s+([^,.?!\"“]{2,80})", asked.question.raw, re.IGNORECASE)
    found = quoted or named
    return found[1].strip() if found else None
