"""The days that a sentence speaks of."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from demo.speech.planner.words import NUMBERS, number

_MONTHS = [date(2000, month, 1).strftime("%B").lower() for month in range(1, 13)]
_MONTH = "|".join(_MONTHS)
_COUNT = r"(\d+|" + "|".join(NUMBERS) + ")"
_DAYS_A = {"day": 1, "week": 7, "month": 30}
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_MONTH_DAY = re.compile(rf"\b({_MONTH}) (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b")
_SPAN = re.compile(rf"\b(?:last|past|this|previous) (?:{_COUNT} )?(day|week|month)s?\b")
_COUNTED = re.compile(rf"\b{_COUNT} (day|week|month)s?\b")


@dataclass(frozen=True, slots=True)
class Days:
    """A stretch of days, either end open; `word` is the caller's own word for a single day."""

    start: date | None = None
    end: date | None = None
    word: str = ""


def mentioned(text: str, today: date) -> Days | None:
    """The days that a mended text speaks of, seen from `today`; None where it names none."""
    single = _single(text, today)
    if single is None:
        length = span_days(text)
        return Days(start=today - timedelta(days=length)) if length else None
    if re.search(r"\b(since|after|from)\b", text) and single.word not in ("today", "yesterday"):
        return Days(start=single.start)
    if re.search(r"\b(until|before)\b", text):
        return Days(end=single.end)
    return single


def span_days(text: str) -> int | None:
    """How many days back a text asks for: "last week", "the last ten days", "two weeks"."""
    found = _SPAN.search(text) or _COUNTED.search(text)
    if found is None:
        return None
    return (number(found[1]) or 1 if found[1] else 1) * _DAYS_A[found[2]]


def _single(text: str, today: date) -> Days | None:
    for word, day in (("today", today), ("yesterday", today - timedelta(days=1))):
        if re.search(rf"\b{word}\b", text):
            return Days(day, day, word)
    if found := _ISO.search(text):
        return _day(int(found[1]), int(found[2]), int(found[3]))
    if found := _MONTH_DAY.search(text):
        return _recent(_MONTHS.index(found[1]) + 1, int(found[2]), today)
    if found := _DAY_MONTH.search(text):
        return _recent(_MONTHS.index(found[2]) + 1, int(found[1]), today)
    return None


def _recent(month: int, day: int, today: date) -> Days | None:
    """That day of the year which is not in the future: a caller asks about what was."""
    found = _day(today.year, month, day)
    return _day(today.year - 1, month, day) if found and found.start and found.start > today else found


def _day(year: int, month: int, day: int) -> Days | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return Days(found, found)


def without_spans(text: str) -> str:
    """The text without "last week" and its like, so that "last" alone can mean the latest."""
    return _SPAN.sub(" ", text)
