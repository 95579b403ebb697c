"""Arguments as a model sends them, read strictly: one JSON object, or nothing at all."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from tools.schema import depth_exceeds

MAX_BYTES = 256 * 1024
MAX_DEPTH = 64


class ArgumentsMalformed(ValueError):
    """Arguments that are not one strict JSON object; the text tells the model why."""


def read(arguments: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments as an object of plain JSON values; nothing, blanks and null are an empty object.

    Duplicate keys, NaN, infinite numbers, lone surrogates and trailing text raise ArgumentsMalformed.
    """
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, allow_nan=False)
        if len(text.encode()) > MAX_BYTES:
            raise ArgumentsMalformed(f"The arguments are larger than {MAX_BYTES // 1024} KB.")
        value = _parse(text) if text.strip() else None
        json.dumps(value, ensure_ascii=False).encode()
    except ArgumentsMalformed:
        raise
    except UnicodeEncodeError as error:
        raise ArgumentsMalformed("The arguments contain half of a surrogate pair.") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentsMalformed("The arguments are not valid JSON.") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ArgumentsMalformed("The arguments are not a JSON object.")
    if depth_exceeds(value, MAX_DEPTH):
        raise ArgumentsMalformed(f"The arguments are nested more than {MAX_DEPTH} levels deep.")
    return value


def canonical(arguments: str | Mapping[str, Any] | None) -> tuple[str, str] | None:
    """One text for all spellings of the same arguments, and its SHA-256; None when they are malformed."""
    try:
        value = _canonical(read(arguments))
    except ArgumentsMalformed:
        return None
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text, hashlib.sha256(text.encode()).hexdigest()


def _parse(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ArgumentsMalformed("The arguments name one key twice.")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ArgumentsMalformed(f"{name} is not JSON.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ArgumentsMalformed("A number is too large.")
    return number


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    # 1.0 and 1 are one JSON number.
    return int(value) if isinstance(value, float) and value.is_integer() else value
