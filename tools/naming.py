"""Names that every model API accepts, for tools whose own names are not such ones."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64
# Most APIs take these signs in any place; Gemini's wants a letter or an underscore first.
_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8


def alias(name: str) -> str:
    """The name for the model: the tool's own where it is legal, else what is legal of it and a mark.

    The mark is the beginning of the own name's SHA-256: names that differ anywhere have different aliases.
    """
    if _LEGAL.fullmatch(name):
        return name
    mark = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_MARK]
    legal = _ILLEGAL.sub("_", name).strip("_-")[: LONGEST - _MARK - len("tool__")]
    if not legal:
        return f"tool_{mark}"
    return f"{legal}_{mark}" if _LEGAL.fullmatch(legal) else f"tool_{legal}_{mark}"
