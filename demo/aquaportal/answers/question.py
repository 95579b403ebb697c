"""One caller's question, and what all answers need from it: its centers, its days, its page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeVar

from demo.aquaportal.access import Refusal, check_center
from demo.aquaportal.data.records import Caller

Answer = dict[str, Any]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Question:
    """Who asks, on which day, and the validated `request` object of the tool call."""

    caller: Caller
    today: date
    request: Mapping[str, Any]

    def day(self, days_ago: int) -> date:
        """The day that lies so many days back."""
        return self.today - timedelta(days=days_ago)


def wanted_centers(question: Question) -> tuple[str, ...]:
    """The centers that the question is about: the one it names, or all of the caller's."""
    center = question.request.get("center")
    if center is None:
        return question.caller.centers
    check_center(question.caller, center)
    return (center,)


def wanted_days_ago(question: Question, name: str) -> int | None:
    """How many days back the date in this field lies, or None when it is not given."""
    text = question.request.get(name)
    if text is None:
        return None
    if text in ("today", "yesterday"):
        return 0 if text == "today" else 1
    try:
        return (question.today - date.fromisoformat(text)).days
    except ValueError as error:
        raise Refusal(f"There is no day {text}.") from error


def page_of(items: Sequence[Item], question: Question, default_limit: int = 5) -> tuple[list[Item], Answer]:
    """The asked page of the items, and its fields; `next_offset` is absent on the last page."""
    limit = question.request.get("limit", default_limit)
    offset = question.request.get("offset", 0)
    fields = {"total": len(items), "limit": limit, "offset": offset}
    if offset + limit < len(items):
        fields["next_offset"] = offset + limit
    return list(items[offset : offset + limit]), fields
