"""Small pieces of plain English that are good to hear."""

from collections.abc import Sequence
from datetime import date


def spoken_day(day: date, today: date) -> str:
    """A day as people say it: today, yesterday, on August 3."""
    days_ago = (today - day).days
    if days_ago in (0, 1):
        return "yesterday" if days_ago else "today"
    return f"on {day:%B} {day.day}"


def joined(parts: Sequence[str], last: str = "and") -> str:
    """The parts as one list: a, b and c."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def counted(count: int, noun: str) -> str:
    """A count with its noun: 1 report, 4 reports."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def span(noun: str, offset: int, shown: int, total: int) -> str:
    """Which part of a list follows: reports 4 to 6 of 10, report 10 of 10."""
    if shown == 1:
        return f"{noun} {offset + 1} of {total}"
    return f"{noun}s {offset + 1} to {offset + shown} of {total}"
