"""Text as every database keeps it: no NUL, no lone surrogates; the meaning of a call never hangs on that."""

from __future__ import annotations

import json
import re
from typing import Any

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def text(value: str, limit: int | None = None) -> str:
    """The text with U+FFFD for what a database refuses, cut at `limit` code points."""
    return _UNSTORABLE.sub("\ufffd", value)[:limit]


def document(source: str) -> Any:
    """The value of a JSON text, storable throughout; where it is no strict JSON, the text itself."""
    try:
        return storable(json.loads(source, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return text(source)


def storable(value: Any) -> Any:
    """A JSON value whose texts and keys any database keeps."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {text(key): storable(item) for key, item in value.items()}
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
