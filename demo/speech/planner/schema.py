"""A tool's JSON Schema read into the flat list of values that a question may fill."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Schema = Mapping[str, Any]
Kind = Literal["string", "integer", "number", "boolean", "date"]
Path = tuple[str, ...]

_DEPTH = 8
_KINDS: dict[str, Kind] = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}


@dataclass(frozen=True, slots=True)
class Slot:
    """One scalar argument: where it goes, what it may hold, and whether the call needs it."""

    path: Path
    kind: Kind
    description: str = ""
    values: tuple[Any, ...] = ()
    required: bool = False
    many: bool = False
    minimum: float | None = None
    maximum: float | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Shape:
    """The arguments of one tool: its slots, and the objects that must be there even when empty."""

    slots: tuple[Slot, ...] = ()
    objects: tuple[Path, ...] = ()


def read(schema: Schema) -> Shape:
    """The shape of a tool's parameters; references, `allOf`, `anyOf` and nested objects are followed."""
    slots: list[Slot] = []
    objects: list[Path] = []
    for part in _walk(schema, schema, (), True, 0):
        if isinstance(part, Slot):
            slots.append(part)
        else:
            objects.append(part)
    return Shape(tuple(slots), tuple(objects))


def _walk(schema: Schema, root: Schema, path: Path, required: bool, depth: int) -> Iterator[Slot | Path]:
    node = _resolved(schema, root, depth)
    properties = node.get("properties")
    if isinstance(properties, Mapping) and depth < _DEPTH:
        if path and required:
            yield path
        needed = node.get("required") or ()
        for name, part in properties.items():
            if isinstance(part, Mapping):
                yield from _walk(part, root, (*path, name), required and name in needed, depth + 1)
    elif path and (slot := _slot(node, root, path, required)):
        yield slot


def _slot(node: Schema, root: Schema, path: Path, required: bool) -> Slot | None:
    many = node.get("type") == "array"
    leaf = _resolved(node.get("items") or {}, root, 0) if many else node
    kind = _kind(leaf)
    if kind is None:
        return None
    return Slot(
        path=path,
        kind=kind,
        description=str(node.get("description") or leaf.get("description") or ""),
        values=tuple(leaf.get("enum") or ()),
        required=required,
        many=many,
        minimum=leaf.get("minimum"),
        maximum=leaf.get("maximum"),
    )


def _kind(leaf: Schema) -> Kind | None:
    if leaf.get("format") in ("date", "date-time"):
        return "date"
    types = leaf.get("type")
    for name in types if isinstance(types, list) else [types]:
        if name in _KINDS:
            return _KINDS[name]
    return "string" if leaf.get("enum") else None


def _resolved(schema: Schema, root: Schema, depth: int) -> dict[str, Any]:
    """One schema with its references and alternatives folded in: what any alternative allows is allowed."""
    merged = dict(schema)
    for _ in range(_DEPTH):
        reference = merged.pop("$ref", None)
        if reference is None:
            break
        merged = dict(_target(root, reference)) | merged
    if depth < _DEPTH:
        for key in ("allOf", "anyOf", "oneOf"):
            for option in merged.pop(key, None) or ():
                if isinstance(option, Mapping):
                    merged = _folded(merged, _resolved(option, root, depth + 1))
    return merged


def _folded(into: dict[str, Any], option: dict[str, Any]) -> dict[str, Any]:
    if option.get("type") == "null":
        return into
    result = option | into
    for key in ("properties", "$defs"):
        if key in into and key in option:
            result[key] = {**option[key], **into[key]}
    if "enum" in into and "enum" in option:
        result["enum"] = [*into["enum"], *option["enum"]]
    return result


def _target(root: Schema, reference: object) -> Schema:
    node: Any = root
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {}
    for part in reference[2:].split("/"):
        node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else {}
