"""Rich Python values as plain ones that JSON has: what a tool in this process may answer with."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from tools.contract import ToolFailure


def plain(value: Any) -> Any:
    """One step towards JSON, its parts not yet looked at: dates and ids become text, sets become lists.

    Raises ToolFailure("internal") for what has no stable form, such as an object of an unknown class.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for kind, convert in _FORMS:
        if isinstance(value, kind):
            return convert(value)
    raise ToolFailure("internal", f"The tool answered with a value that is not JSON: {type(value).__name__}.")


def _bytes(value: bytes | bytearray | memoryview) -> str:
    return f"[{len(value)} bytes, not included]"


def _set(value: set[Any] | frozenset[Any]) -> list[Any]:
    """The items in an order that does not change from run to run."""
    items = [item if isinstance(item, str | int | float | None) else plain(item) for item in value]
    return sorted(items, key=lambda item: json.dumps(item, default=repr, sort_keys=True))


_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (BaseModel, lambda value: value.model_dump()),
    (enum.Enum, lambda value: value.value),
    ((datetime.date, datetime.time), lambda value: value.isoformat()),
    ((decimal.Decimal, uuid.UUID), str),
    ((bytes, bytearray, memoryview), _bytes),
    ((set, frozenset), _set),
)
