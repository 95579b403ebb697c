"""JSON Schemas of tools: checked once, compiled once a digest, asked on every call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs

from tools import unfolding

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
# Values are bounded elsewhere, too; a schema that fans out may bound them further, but not below the least.
DEEPEST_VALUE = 64
LEAST_DEPTH = 4
MAX_PROBLEMS = 3
MAX_SENTENCE = 400
# Stands in messages for what the model sent: a value may be long, private, or both.
MASK = "the value"


class SchemaRefused(ValueError):
    """A schema that cannot be used; the text says why, for the operator."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A schema ready to be asked, about values nested up to `depth`; equal digests are the same schema."""

    digest: str
    validator: jsonschema_rs.Validator
    depth: int


def compiled(schema: Any) -> Compiled:
    """The schema ready to be asked, in the draft of its `$schema` (2020-12 by default), or SchemaRefused.

    References reach no further than the schema itself, and patterns are linear-time ones.
    """
    if depth_exceeds(schema, MAX_DEPTH):
        raise SchemaRefused(f"The schema is nested more than {MAX_DEPTH} levels deep.")
    try:
        text = json.dumps(schema, ensure_ascii=False, sort_keys=True, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError) as error:
        raise SchemaRefused("The schema is not JSON.") from error
    if size > MAX_BYTES:
        raise SchemaRefused(f"The schema is larger than {MAX_BYTES // 1024} KB.")
    return _compiled(text)


def validate(schema: Compiled, value: Any) -> str | None:
    """What is wrong with the value, field by field in one text for the model; None when it fits."""
    if depth_exceeds(value, schema.depth):
        return f"it is nested more than {schema.depth} levels deep"
    problems = [_problem(error) for error in islice(schema.validator.iter_errors(value), MAX_PROBLEMS)]
    return "; ".join(problems)[:MAX_SENTENCE] if problems else None


def declared(schema: Any) -> dict[str, Any]:
    """The schema as a model must see it: an object with properties, all else kept; or SchemaRefused."""
    if not isinstance(schema, Mapping):
        raise SchemaRefused("The input schema is missing or not an object.")
    if schema.get("type", "object") not in ("object", ["object"]):
        raise SchemaRefused("The input schema does not describe an object.")
    return {**schema, "type": "object", "properties": schema.get("properties", {})}


def digest_of(value: Any) -> str:
    """SHA-256 of the JSON value, blind to key order and to null members, which servers drop at will."""
    text = json.dumps(_without_nulls(value), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def depth_exceeds(value: Any, limit: int) -> bool:
    """Whether objects and arrays are nested in the value more than `limit` levels deep."""
    level = _containers([value])
    for _ in range(limit):
        level = [child for parent in level for child in _containers(_children(parent))]
    return bool(level)


@lru_cache(maxsize=256)
def _compiled(text: str) -> Compiled:
    schema = json.loads(text)
    depth = _depth_for(schema)
    try:
        validator = jsonschema_rs.validator_for(
            schema, retriever=_deny, pattern_options=jsonschema_rs.RegexOptions(), mask=MASK
        )
    except ValueError as error:
        reason = getattr(error, "message", str(error))
        raise SchemaRefused(f"The schema cannot be used: {str(reason)[:200]}") from error
    return Compiled(hashlib.sha256(text.encode()).hexdigest(), validator, depth)


def _depth_for(schema: Any) -> int:
    """How deep values may nest: one that is looked at again and again would hold up every conversation."""
    try:
        depth = unfolding.depth_limit(schema, DEEPEST_VALUE)
    except (ValueError, RecursionError) as error:
        raise SchemaRefused("The schema refers to something that is not in it.") from error
    if depth < LEAST_DEPTH:
        raise SchemaRefused("The schema's references unfold too far.")
    return depth


def _deny(uri: str) -> Any:
    raise ValueError("references outside the schema are not followed")


def _problem(error: jsonschema_rs.ValidationError) -> str:
    field = ".".join(str(part)[:80] for part in error.instance_path)
    return f"{field}: {error.message[:200]}" if field else error.message[:200]


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, Mapping | list | tuple)]


def _children(container: Mapping[str, Any] | Sequence[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, Mapping) else container


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list | tuple) else value
