"""What it costs to hold a call's arguments against the tool's schema."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jsonschema

from bench.report import Effort, Part, in_turns, ratio, spread, times
from tools import schema

LIMIT = 0.05
REPEATS = {"compiled": 400, "jsonschema": 3}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["request"],
    "additionalProperties": False,
    "properties": {"request": {"$ref": "#/$defs/Request"}},
    "$defs": {
        "Request": {
            "type": "object",
            "required": ["items"],
            "properties": {
                "center": {"anyOf": [{"type": "string", "pattern": "^[a-z]+$"}, {"type": "null"}]},
                "items": {"type": "array", "maxItems": 20, "items": {"$ref": "#/$defs/Item"}},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
            },
        },
        "Item": {
            "oneOf": [
                {"type": "object", "required": ["cage"], "properties": {"cage": {"type": "integer"}}},
                {"type": "object", "required": ["report"], "properties": {"report": {"type": "string"}}},
            ]
        },
    },
}
ARGUMENTS = {
    "request": {"center": "north", "items": [{"cage": 4}, {"report": "r1"}, {"cage": 5}], "limit": 5}
}

ABOUT = """Vocero checks and compiles a schema once for each digest and asks the compiled one on every
call; the other is `jsonschema.validate`, which checks the schema each time. A nested schema with
references, alternatives and a pattern."""


def measure(effort: Effort) -> Part:
    """Milliseconds by call."""
    part = Part("Arguments", ABOUT)
    compiled = schema.compiled(SCHEMA)
    ways: dict[str, Callable[[], object]] = {
        "compiled": lambda: schema.validate(compiled, ARGUMENTS),
        "jsonschema": lambda: jsonschema.validate(ARGUMENTS, SCHEMA),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}

    def once(name: str) -> None:
        repeats = effort.count(REPEATS[name])
        before = time.process_time_ns()
        for _ in range(repeats):
            ways[name]()
        found[name].append((time.process_time_ns() - before) / 1e6 / repeats)

    in_turns(effort.rounds, list(ways), once)
    mine, theirs = found["compiled"], found["jsonschema"]
    compared = f"{times(ratio(mine, theirs))} of jsonschema.validate, {spread(theirs, 'ms', 2)}"
    met = sorted(mine)[len(mine) // 2] <= LIMIT
    part.add("Arguments held against their schema", spread(mine, "ms", 4), compared, f"≤ {LIMIT} ms", met)
    return part
