"""Rich Python values have one stable form each."""

import dataclasses
import datetime
import decimal
import enum
import json
import uuid

import pytest
from pydantic import BaseModel

from tools.results import normalise


class Colour(enum.Enum):
    """An enumeration of values that are no text."""

    RED = 1


class Kind(enum.StrEnum):
    """An enumeration of texts."""

    DAILY = "daily"


class Level(enum.IntEnum):
    """An enumeration of numbers."""

    HIGH = 3


class Report(BaseModel):
    """A model."""

    day: datetime.date
    share: decimal.Decimal


@dataclasses.dataclass(frozen=True, slots=True)
class Cage:
    """A dataclass with a value inside that is no JSON either."""

    number: int
    seen: datetime.datetime


UTC = datetime.UTC
WHEN = datetime.datetime(2026, 8, 5, 12, 30, tzinfo=UTC)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")
FORMS = [
    (datetime.date(2026, 8, 5), "2026-08-05"),
    (WHEN, "2026-08-05T12:30:00+00:00"),
    (datetime.time(12, 30), "12:30:00"),
    (ID, "12345678-1234-5678-1234-567812345678"),
    (decimal.Decimal("1.10"), "1.10"),
    ({"b", "a"}, ["a", "b"]),
    (frozenset({3, 1, 2}), [1, 2, 3]),
    (b"\x00\xff" * 8, "[16 bytes, not included]"),
    (bytearray(3), "[3 bytes, not included]"),
    (
        Report(day=datetime.date(2026, 8, 5), share=decimal.Decimal("0.50")),
        {"day": "2026-08-05", "share": "0.50"},
    ),
    (Colour.RED, 1),
    (Kind.DAILY, "daily"),
    (Level.HIGH, 3),
    (Cage(4, WHEN), {"number": 4, "seen": "2026-08-05T12:30:00+00:00"}),
    ((1, Colour.RED), [1, 1]),
]


@pytest.mark.parametrize(("value", "form"), FORMS, ids=lambda each: type(each).__name__)
def test_a_rich_value_is_written_in_its_stable_form_case_132(value, form):
    written = json.dumps(normalise({"value": value, "in": [value]}), allow_nan=False)
    assert json.loads(written) == {"value": form, "in": [form]}
