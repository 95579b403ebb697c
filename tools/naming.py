"""Names that every model API accepts, for tools whose own names are not such ones."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64
_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8


def alias(name: str) -> str:
    """The name for the model: the tool's own where it is legal, else what is legal of it and a mark.

    The mark is the beginning of the own name's SHA-256: names that differ anywhere have different aliases.
    """
    if _LEGAL.fullmatch(name):
        return name
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_MARK]
    legal = _ILLEGAL.sub("_", name).strip("_")[: LONGEST - _MARK - 1]
    return f"{legal}_{mark}" if legal else f"tool_{mark}"
