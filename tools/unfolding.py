"""How often a schema looks at one place of a value: references that fan out multiply it, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

MAX_LOOKS = 1_000

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_MAPS = frozenset({"dependentSchemas", "dependencies", "properties", "patternProperties"})
_SAME_PLACE = ("not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies")
_EVERY_CHILD = (
    *("items", "additionalItems", "unevaluatedItems", "contains"),
    *("additionalProperties", "unevaluatedProperties", "patternProperties"),
)
_ONE_CHILD = ("properties", "prefixItems")


def depth_limit(schema: Any, deepest: int) -> int:
    """How deep a value may nest, at most `deepest`, so that no place of it is looked at too often.

    -1 where no value may. Raises ValueError for a reference that leads nowhere inside the schema.
    """
    looks = _Looks(schema)
    if looks.at(schema, deepest) <= MAX_LOOKS:
        return deepest
    return next(depth for depth in range(deepest + 1) if looks.at(schema, depth) > MAX_LOOKS) - 1


class References:
    """What the references of one schema lead to."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._named = dict(_names(root))

    def target(self, reference: str) -> Any:
        """The part of the schema that it names; ValueError where it leads nowhere inside."""
        base, _, fragment = reference.partition("#")
        by_name = f"#{fragment}" if fragment and not fragment.startswith("/") else base
        place = self._named.get(by_name) if by_name else self._root
        for part in fragment.split("/")[1:] if by_name == base else ():
            step = unquote(part).replace("~1", "/").replace("~0", "~")
            place = _child(place, step)
        if place is None:
            raise ValueError("a reference leads nowhere inside the schema")
        return place


class _Looks:
    """Counts with a memory: each subschema once for each depth."""

    def __init__(self, root: Any) -> None:
        self._references = References(root)
        self._known: dict[tuple[int, int], int] = {}

    def at(self, schema: Any, depth: int) -> int:
        """Looks on the costliest way down a value of this depth; what leads in a circle is counted once."""
        if not isinstance(schema, Mapping):
            return 1
        key = id(schema), depth
        if key not in self._known:
            self._known[key] = 0
            self._known[key] = min(self._count(schema, depth), MAX_LOOKS + 1)
        return self._known[key]

    def _count(self, schema: Mapping[str, Any], depth: int) -> int:
        referred = [
            self._references.target(schema[name]) for name in _REFERENCES if isinstance(schema.get(name), str)
        ]
        looks = 1 + sum(self.at(one, depth) for one in (*referred, *_subschemas(schema, _SAME_PLACE)))
        if depth == 0 or looks > MAX_LOOKS:
            return looks
        every = sum(self.at(one, depth - 1) for one in _subschemas(schema, _EVERY_CHILD))
        dearest = max((self.at(one, depth - 1) for one in _subschemas(schema, _ONE_CHILD)), default=0)
        return looks + every + dearest


def _subschemas(schema: Mapping[str, Any], keywords: tuple[str, ...]) -> Iterator[Any]:
    for name in keywords:
        value = schema.get(name)
        if name in _MAPS and isinstance(value, Mapping):
            yield from value.values()
        elif isinstance(value, list):
            yield from value
        elif isinstance(value, Mapping):
            yield value


def _names(value: Any) -> Iterator[tuple[str, Any]]:
    """Every part of a schema that has a name for references, by that name."""
    if isinstance(value, Mapping):
        for keyword, mark in (("$id", ""), ("id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")):
            if isinstance(value.get(keyword), str):
                yield mark + value[keyword].rstrip("#"), value
    for inside in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _names(inside)


def _child(place: Any, step: str) -> Any:
    if isinstance(place, list):
        return place[int(step)] if step.isdigit() and int(step) < len(place) else None
    return place.get(step) if isinstance(place, Mapping) else None
