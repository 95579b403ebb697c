"""Which of several things a caller means: by place, by newness, or by the words that tell them apart."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Any

from demo.speech.planner.results import Outcome, Row
from demo.speech.planner.schema import Slot
from demo.speech.planner.slots import Asked, nouns
from demo.speech.planner.words import NUMBERS, ORDINALS, number, stem, stems

_NEWEST = re.compile(r"\b(latest|newest|most recent|last)\b")
_PLACED = re.compile(rf"\b({'|'.join(ORDINALS)}|last) (?:one|of them|report|podcast|episode|item|entry)?\b")
_ONLY_PLACE = re.compile(rf"^\W*(?:the )?({'|'.join(ORDINALS)}|last)(?: one)?\W*$")
_NUMBERED = re.compile(rf"^\W*(?:the )?(?:number |option )?(\d|{'|'.join(NUMBERS)})\W*$")
_DAY = re.compile(r"\A(\d{4})-(\d{2})-(\d{2})")
_SPOKEN_NAMES = ("title", "name", "label", "speech")


def chosen(asked: Asked, rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows that a question may mean: one where it is clear, several where not, none if it names none."""
    by_words = _by_words(asked, rows)
    if len(by_words) == 1:
        return by_words
    pool = by_words or rows
    place = _place(asked.text)
    if place is not None and place < len(pool):
        return (pool[place],)
    if _NEWEST.search(asked.text):
        return (newest(pool),)
    return by_words


def newest(rows: Sequence[Row]) -> Row:
    """The row with the latest day in it; the first where no row has one."""
    return max(rows, key=lambda row: max(filter(None, map(_as_day, row.values())), default=date.min))


def offering(slot: Slot, outcomes: Iterable[Outcome]) -> list[tuple[Any, Row]]:
    """What the latest result that can gives for an id slot, each value with its row.

    A row gives its own `report_id`, or plain `id` when it stands in a list of reports.
    """
    for outcome in outcomes:
        found: dict[Any, Row] = {}
        for key, row in outcome.rows():
            value = row.get(slot.name, row.get("id") if stem(key.lower()) in nouns(slot) else None)
            if isinstance(value, str | int):
                found.setdefault(value, row)
        if found:
            return list(found.items())
    return []


def named(row: Row) -> str:
    """How a row is called aloud."""
    return next((str(row[key]) for key in _SPOKEN_NAMES if row.get(key)), "this one")


def _by_words(asked: Asked, rows: Sequence[Row]) -> tuple[Row, ...]:
    said = set(asked.question.stems)
    worded = [_telling(row, asked.today) for row in rows]
    common = {
        word for word, count in Counter(w for words in worded for w in words).items() if count == len(rows)
    }
    scores = [len((words - common) & said) for words in worded]
    best = max(scores, default=0)
    return tuple(row for row, score in zip(rows, scores, strict=True) if best and score == best)


def _telling(row: Row, today: date) -> set[str]:
    words: set[str] = set()
    for key, value in row.items():
        if day := _as_day(value):
            words |= _day_words(day, today)
        elif isinstance(value, str) and key in (
            "title",
            "name",
            "label",
            "kind",
            "center",
            "number",
            "author",
        ):
            words |= set(stems(value))
        elif isinstance(value, int) and key == "number":
            words.add(str(value))
    return words


def _day_words(day: date, today: date) -> set[str]:
    near = {today: "today", today - timedelta(days=1): "yesterday"}.get(day, "")
    return set(stems(f"{day:%B} {day.day} {day:%A} {near}"))


def _as_day(value: object) -> date | None:
    if not isinstance(value, str) or not _DAY.match(value):
        return None
    try:
        return date.fromisoformat(value[:10])
    except ValueError:
        return None


def _place(text: str) -> int | None:
    if numbered := _NUMBERED.search(text):
        return (number(numbered[1]) or 1) - 1
    found = _ONLY_PLACE.search(text) or _PLACED.search(text)
    if found is None or (found[1] == "last" and not re.search(r"last(?: one| of them)?\W*$", text)):
        return None
    return -1 if found[1] == "last" else ORDINALS[found[1]] - 1
