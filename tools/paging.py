"""Pages of lists that may be very long: counted up to a bound, and gone on with by time beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.core.paginator import Paginator

# A page is found by skipping the rows before it, so the last one must not be far away.
MOST_ROWS = 10_000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # it takes none when it runs
    """The first MOST_ROWS rows in pages; `more` where there are others behind them."""

    template_name = "admin/pages.html"

    @cached_property
    def _found(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by().values("pk")[: MOST_ROWS + 1].count())

    @cached_property
    def count(self) -> int:
        return min(self._found, MOST_ROWS)

    @property
    def more(self) -> bool:
        return self._found > MOST_ROWS


@dataclass(frozen=True, slots=True)
class Further:
    """Where a list goes on behind its last page: the filter, its value, and the word for what comes."""

    parameter: str
    value: str
    word: str


def further(ordering: tuple[str, ...] | list[str], last: Any) -> Further | None:
    """The filter under which this row and those behind it are found, where they are sorted by time."""
    first = ordering[0] if ordering else ""
    field = first.removeprefix("-")
    at = getattr(last, field, None)
    if not isinstance(at, datetime):
        return None
    if first.startswith("-"):
        # Others may have come in the same microsecond.
        return Further(f"{field}__lt", str(at + timedelta(microseconds=1)), "Older ones")
    return Further(f"{field}__gte", str(at), "Newer ones")
