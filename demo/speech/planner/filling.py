"""A tool's arguments built from a question and from what earlier results offer."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from demo.speech.planner.choosing import chosen, named, offering
from demo.speech.planner.results import Outcome, Row
from demo.speech.planner.schema import Path, Shape, Slot
from demo.speech.planner.slots import Asked, fill, nouns, within
from demo.speech.planner.tools import Call, Tool

_MOST = 4


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why a call cannot be made yet: a slot left empty, a number out of bounds, or several rows that fit."""

    slot: Slot
    out_of_bounds: bool = False
    rows: tuple[Row, ...] = ()


def is_identifier(slot: Slot) -> bool:
    """Whether a slot wants an id, which only a result can give."""
    return slot.name in ("id", "Id") or slot.name.endswith(("_id", "Id"))


def calls(tool: Tool, asked: Asked, known: Sequence[Outcome]) -> list[Call] | Unclear:
    """The calls that a question asks of a tool, several where it names several numbers.

    `known` are this question's own results so far, latest first: the only source of an id.
    """
    variants: list[dict[Path, Any]] = [{}]
    for slot in tool.slots:
        values = _values(slot, asked, known)
        if isinstance(values, Unclear):
            return values
        if slot.kind in ("integer", "number") and any(not within(slot, value) for value in values):
            return Unclear(slot, out_of_bounds=True)
        if slot.many and values:
            values = [values]
        if not values and slot.required:
            return Unclear(slot)
        variants = (
            [variant | {slot.path: value} for variant in variants for value in values] if values else variants
        )
    return [Call(tool.name, nested(tool.shape, variant)) for variant in variants[:_MOST]]


def by_row(tool: Tool, row: Row) -> Call | None:
    """The call that asks a tool for one row of an earlier result, or None where the row names no id of it."""
    for slot in tool.slots:
        if is_identifier(slot) and (value := row.get(slot.name, row.get("id"))) is not None:
            return Call(tool.name, nested(tool.shape, {slot.path: value}))
    return None


def changed(call: Call, tool: Tool, asked: Asked) -> Call | None:
    """The same call with what a follow-up question names put in its place; None where it names nothing."""
    arguments = deepcopy(call.arguments)
    found = False
    for slot in tool.slots:
        values = fill(slot, asked)
        if values and all(within(slot, value) for value in values if slot.kind in ("integer", "number")):
            _put(arguments, slot.path, values if slot.many else values[0])
            found = True
    return Call(call.name, arguments) if found else None


def paged(call: Call, tool: Tool, offset: int) -> Call | None:
    """The same call for the page that begins at `offset`, or None where the tool knows no offset."""
    slot = next((slot for slot in tool.slots if slot.name == "offset"), None)
    if slot is None:
        return None
    arguments = deepcopy(call.arguments)
    _put(arguments, slot.path, offset)
    return Call(call.name, arguments)


def nested(shape: Shape, values: Mapping[Path, Any]) -> dict[str, Any]:
    """Arguments as the schema nests them, with the objects that it requires even when they stay empty."""
    arguments: dict[str, Any] = {}
    for path in shape.objects:
        _put(arguments, path, {})
    for path, value in values.items():
        _put(arguments, path, value)
    return arguments


def titles(outcomes: Iterable[Outcome], tool: Tool) -> list[str]:
    """The titles in earlier results that one of the tool's title slots may mean."""
    wanted = {noun for slot in tool.slots if slot.name.endswith(("title", "name")) for noun in nouns(slot)}
    wanted |= {word for slot in tool.slots if slot.name in ("title", "name") for word in tool.name.split("_")}
    rows = (row for outcome in outcomes for _, row in outcome.rows())
    return [named(row) for row in rows if any(f"{noun}_id" in row for noun in wanted)]


def _values(slot: Slot, asked: Asked, known: Sequence[Outcome]) -> list[Any] | Unclear:
    if not is_identifier(slot):
        return fill(slot, asked)
    offered = offering(slot, known)
    if not offered:
        return []
    rows = tuple(row for _, row in offered)
    picked = rows if len(rows) == 1 else chosen(asked, rows)
    if len(picked) != 1:
        return Unclear(slot, rows=picked or rows) if slot.required else []
    return [next(value for value, row in offered if row is picked[0])]


def _put(arguments: dict[str, Any], path: Path, value: Any) -> None:
    for part in path[:-1]:
        arguments = arguments.setdefault(part, {})
    arguments[path[-1]] = value
