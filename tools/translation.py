"""Tool schemas told in the narrower dialect of a model API: wider than the original, never narrower.

What a dialect cannot say is left out of what the model reads; the call is still checked against the original.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.schema import SchemaRefused
from tools.unfolding import References

# What is nested deeper is told by its type alone.
DEEPEST = 12
# A translation has at most so many parts: references that fan out are cut off by then.
MOST_PARTS = 4_000
# What refers to itself is told so many times inside itself, then by its type alone.
MOST_INSIDE = 3
# A schema without a type is read as its keywords suggest.
_SUGGESTS = {"properties": "object", "required": "object", "items": "array"}
_OLD_DRAFTS = ("draft-03", "draft-04", "draft-06", "draft-07")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a model API can read. With `one_type` a part has one type: null, too, is a choice beside it.

    `keywords` pass as they are; `formats` are those of `format` that it knows; with `only_strings` an `enum`
    may hold nothing else, and what is required must be described.
    """

    keywords: frozenset[str]
    formats: frozenset[str]
    one_type: bool = False
    only_strings: bool = False


_SIZES = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"})

GEMINI = Dialect(
    keywords=frozenset({"description", *_SIZES}),
    formats=frozenset({"date-time", "enum", "float", "double", "int32", "int64"}),
    one_type=True,
    only_strings=True,
)
# Servers with the chat-completions interface that compile a schema into a grammar.
COMPILED = Dialect(
    keywords=frozenset(
        {"title", "description", "default", "examples", "exclusiveMinimum", "exclusiveMaximum"}
    )
    | _SIZES
    | {"pattern", "multipleOf", "minProperties", "maxProperties", "uniqueItems"},
    formats=frozenset({"date-time", "date", "time", "uuid", "email"}),
)


def translated(schema: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The schema of a tool's arguments in that dialect, without references; or SchemaRefused.

    Everything that the original accepts fits the translation too, where each part that speaks of properties
    or items also names its type.
    """
    try:
        told = _Translation(schema, dialect).of(schema, DEEPEST)
    except (ValueError, RecursionError) as error:
        raise SchemaRefused(f"The schema cannot be told to this model: {str(error)[:200]}") from error
    if told is False or told.get("type") != "object":
        raise SchemaRefused("The schema does not come out as an object.")
    return {**told, "properties": told.get("properties", {})}


class _Translation:
    """One schema on its way into one dialect; `False` is what nothing fits."""

    def __init__(self, root: Mapping[str, Any], dialect: Dialect) -> None:
        self._dialect = dialect
        self._references = References(root)
        # In the old drafts a reference stands alone, whatever is written beside it.
        self._alone = any(draft in str(root.get("$schema", "")) for draft in _OLD_DRAFTS)
        self._parts = 0
        self._inside: Counter[str] = Counter()

    def of(self, schema: Any, depth: int) -> dict[str, Any] | Any:
        """A part of the schema; at depth 0 only its type is left."""
        self._parts += 1
        if not isinstance(schema, Mapping):
            return False if schema is False else {}
        if self._parts > MOST_PARTS:
            return {}
        whole = self._gathered(schema)
        if whole is False:
            return False
        references = _references(schema)
        if any(self._inside[one] >= MOST_INSIDE for one in references):
            depth = 0
        self._inside.update(references)
        told = self._told(whole, depth)
        self._inside.subtract(references)
        return told

    def _gathered(self, schema: Mapping[str, Any]) -> Mapping[str, Any] | Any:
        """The schema with what it refers to and all of `allOf` in one; of two the first counts."""
        seen: list[Mapping[str, Any]] = []
        looked_at: set[int] = set()
        waiting: list[Any] = [schema]
        while waiting:
            part = waiting.pop(0)
            if part is False:
                return False
            if not isinstance(part, Mapping) or id(part) in looked_at:
                continue
            looked_at.add(id(part))
            reference = part.get("$ref")
            refers = isinstance(reference, str)
            seen.append(_annotations(part) if refers and self._alone else part)
            waiting += [self._references.target(reference)] if isinstance(reference, str) else []
            waiting += part.get("allOf") or () if not (refers and self._alone) else ()
        return seen[0] if len(seen) == 1 else self._merged(seen)

    def _merged(self, parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        whole: dict[str, Any] = {}
        for part in parts:
            for keyword, value in part.items():
                known = whole.get(keyword)
                if keyword == "properties" and isinstance(known, Mapping):
                    whole[keyword] = {**value, **known}
                elif keyword == "required" and isinstance(known, list):
                    whole[keyword] = list(dict.fromkeys([*known, *value]))
                else:
                    whole.setdefault(keyword, value)
        # Where the rest of an array begins is up to both together.
        if any("prefixItems" in part for part in parts):
            whole.pop("items", None)
        return whole

    def _told(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any] | Any:
        types, empty = _types(schema)
        if "enum" in schema or "const" in schema:
            return self._chosen(schema, types)
        told = self._plain(schema)
        if depth == 0:
            return self._typed(_annotations(told), types, empty)
        union = self._union(schema, depth)
        if union is False:
            return False
        if union and (not types or not _has_structure(schema)):
            return self._joined(told, union, types, empty)
        if "object" in types:
            fields = self._fields(self._with_choices(schema), depth)
            types = [name for name in types if fields is not False or name != "object"]
            told |= fields or {}
        if "array" in types:
            told |= self._items(schema, depth)
        if not types and not empty and _types(schema)[0]:
            return False
        return self._typed(told, types, empty)

    def _plain(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        told = {key: value for key, value in schema.items() if key in self._dialect.keywords}
        if schema.get("format") in self._dialect.formats:
            told["format"] = schema["format"]
        for old, new in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            limit = schema.get(old)
            if isinstance(limit, bool):
                told.pop(old, None)
            elif limit is not None and old not in self._dialect.keywords:
                told.setdefault(new, limit)
        return told

    def _chosen(self, schema: Mapping[str, Any], types: list[str]) -> dict[str, Any] | Any:
        """One of some values: `enum`, or `const`, which is an `enum` of one."""
        values = list(schema["enum"]) if "enum" in schema else [schema["const"]]
        if "const" in schema:
            values = [value for value in values if _same(value, schema["const"])]
        fitting = [value for value in values if not schema.get("type") or _type_of(value) in _wider(types)]
        if not fitting:
            return {"type": "null"} if any(value is None for value in values) else False
        spoken, empty = [value for value in fitting if value is not None], None in fitting
        kinds = list(dict.fromkeys(_type_of(value) for value in spoken))
        told = _annotations(self._plain(schema))
        if not self._dialect.only_strings or (kinds == ["string"] and "" not in spoken):
            told["enum"] = spoken if self._dialect.one_type else fitting
        else:
            words = ", ".join(json.dumps(value, ensure_ascii=False) for value in spoken)[:400]
            told["description"] = " ".join(filter(None, [told.get("description"), f"One of: {words}."]))
        return self._typed(told, kinds, empty)

    def _union(self, schema: Mapping[str, Any], depth: int) -> list[dict[str, Any]] | Any:
        """The choices of `anyOf` or `oneOf`; none where one is open to everything, False where all fail."""
        given = schema.get("anyOf") or schema.get("oneOf")
        if not isinstance(given, list):
            return []
        choices = [told for told in (self.of(one, depth - 1) for one in given) if told is not False]
        if not choices:
            return False
        return [] if any(not set(told) - _NOTES for told in choices) else choices

    def _joined(
        self, told: dict[str, Any], union: list[dict[str, Any]], types: list[str], empty: bool
    ) -> dict[str, Any] | Any:
        """A union, without the choices that the type beside it rules out."""
        if types:
            union = [
                one
                for one in union
                if "type" not in one or set(_listed(one["type"])) & set(_wider(types, empty))
            ]
        if not union:
            return False
        notes = _annotations(told)
        return {**notes, "anyOf": union} if len(union) > 1 else {**union[0], **notes}

    def _with_choices(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The object with the properties that its choices add, each as open as all of them together."""
        given = schema.get("anyOf") or schema.get("oneOf")
        if not isinstance(given, list):
            return schema
        choices = [self._gathered(one) if isinstance(one, Mapping) else one for one in given]
        fitting = [one if isinstance(one, Mapping) else {} for one in choices if one is not False]
        objects = [one for one in fitting if "object" in (_types(one)[0] or ["object"])]
        names = dict.fromkeys(name for one in objects for name in _properties(one))
        added = {name: _chosen_property(name, objects) for name in names}
        return {**schema, "properties": {**added, **_properties(schema)}}

    def _fields(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any] | Any:
        told = {name: self.of(one, depth - 1) for name, one in _properties(schema).items()}
        required = [name for name in schema.get("required") or () if isinstance(name, str)]
        if any(told.get(name) is False for name in required):
            return False
        kept = {name: one for name, one in told.items() if one is not False}
        named = [name for name in required if name in kept or not self._dialect.only_strings]
        return {"properties": kept, **({"required": named} if named else {})}

    def _items(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        told = self.of(schema.get("items", {}), depth - 1)
        if "prefixItems" in schema or isinstance(schema.get("items"), list) or told is False:
            return {"items": {}}
        return {"items": told}

    def _typed(self, told: dict[str, Any], types: list[str], empty: bool) -> dict[str, Any] | Any:
        """With its type; several are several choices where the dialect knows one at a time."""
        if not types:
            return {**told, "type": "null"} if empty else told
        names = [*types, "null"] if empty else types
        if not self._dialect.one_type:
            return {"type": names[0] if len(names) == 1 else names, **told}
        if len(names) == 1:
            return {"type": names[0], **_formatted(told, names[0])}
        choices = [{"type": name, **_formatted(_about(told, name), name)} for name in names]
        return {**_annotations(told), "anyOf": choices}


_NOTES = frozenset({"title", "description", "default", "examples"})
_LENGTHS, _RANGE = {"minLength", "maxLength"}, {"minimum", "maximum", "multipleOf", "format"}
_FORMATS: Mapping[str, set[str]] = {
    "string": {"date-time", "enum"},
    "integer": {"int32", "int64"},
    "number": {"float", "double"},
}
_ABOUT: Mapping[str, set[str]] = {
    "object": {"properties", "required", "minProperties", "maxProperties"},
    "array": {"items", "minItems", "maxItems", "uniqueItems"},
    "string": {*_LENGTHS, "pattern", "format", "enum"},
    "integer": _RANGE,
    "number": _RANGE,
}


def _formatted(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Without a format that is none of this type's: Gemini refuses it."""
    return {key: value for key, value in told.items() if key != "format" or value in _FORMATS.get(name, ())}


def _about(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What is told of values of this type."""
    return {key: value for key, value in told.items() if key in _ABOUT.get(name, ())}


def _annotations(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key in _NOTES}


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    given = schema.get("properties")
    return given if isinstance(given, Mapping) else {}


def _chosen_property(name: str, choices: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What any of the choices takes under this name, with what the first of them says about it."""
    taken = [_taken(name, one) for one in choices]
    first = next((one for one in taken if isinstance(one, Mapping)), {})
    closed = [one for one in taken if one is not False]
    if len(closed) == 1 and isinstance(closed[0], Mapping):
        return dict(closed[0])
    return {**_annotations(first), "anyOf": taken}


def _taken(name: str, choice: Mapping[str, Any]) -> Any:
    if name in _properties(choice):
        return _properties(choice)[name]
    return True if "patternProperties" in choice else choice.get("additionalProperties", True)


def _references(schema: Mapping[str, Any]) -> list[str]:
    """What a part refers to at its own place."""
    parts = [schema, *(schema.get("allOf") or ())]
    named = [one.get("$ref") for one in parts if isinstance(one, Mapping)]
    return [one for one in named if isinstance(one, str)]


def _has_structure(schema: Mapping[str, Any]) -> bool:
    return any(keyword in schema for keyword in ("properties", "items"))


def _types(schema: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The types but null that the schema names or suggests, and whether null is one."""
    named = _listed(schema.get("type"))
    if not named:
        named = list(dict.fromkeys(kind for keyword, kind in _SUGGESTS.items() if keyword in schema))
    return [name for name in named if name != "null"], "null" in named


def _listed(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _wider(types: Iterable[str], empty: bool = True) -> set[str]:
    """The types with those that are special cases of them."""
    names = set(types) | ({"null"} if empty else set())
    return (
        names | ({"integer"} if "number" in names else set()) | ({"number"} if "integer" in names else set())
    )


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
