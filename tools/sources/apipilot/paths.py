"""Addresses with `{placeholders}`: values are encoded, and what comes out is proven to be no other address.

Encoding alone proves nothing: it leaves dots alone, and a server may decode once more than one thinks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx2

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]{0,63})\}")
MAX_VALUE = 200
DECODINGS = 5
_STRUCTURE = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class PathRefused(ValueError):
    """A value that may not stand in a path; the text says which and why, without repeating it."""


def placeholders(template: str) -> tuple[str, ...]:
    """The names that the address leaves open, in order."""
    return tuple(PLACEHOLDER.findall(template))


def filled(template: str, values: Mapping[str, Any]) -> str:
    """The address with each placeholder replaced by its value, one segment or part of one; or PathRefused."""
    for name in placeholders(template):
        _check(name, values.get(name))
    address = PLACEHOLDER.sub(lambda found: quote(str(values[found[1]]), safe=""), template)
    if not _is_within(address, template):
        raise PathRefused("The values lead to another address.")
    return address


def _check(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PathRefused(f"{name} must be a text or a whole number.")
    text = str(value)
    if not 0 < len(text) <= MAX_VALUE:
        raise PathRefused(f"{name} must have 1 to {MAX_VALUE} characters.")
    plain = _decoded(text)
    if plain is None or _STRUCTURE.search(text) or _STRUCTURE.search(plain):
        raise PathRefused(f"{name} must not hold slashes or control characters.")
    # What follows a semicolon is a parameter of the segment to some servers, and dots before it still climb.
    if plain.partition(";")[0].strip() in ("", ".", ".."):
        raise PathRefused(f"{name} must not be made of dots.")


def _decoded(text: str) -> str | None:
    """The text as a server may read it at last; None where it changes with every decoding."""
    for _ in range(DECODINGS):
        further = unicodedata.normalize("NFKC", unquote(text))
        if further == text:
            return text
        text = further
    return None


def _is_within(address: str, template: str) -> bool:
    """Whether the address, as it will be sent, is the template's but for the segments it leaves open."""
    sent, wanted = httpx2.URL(address), httpx2.URL(PLACEHOLDER.sub("x", template))
    if (sent.scheme, sent.netloc, sent.query) != (wanted.scheme, wanted.netloc, wanted.query):
        return False
    open_segments = [PLACEHOLDER.search(part) for part in (urlsplit(template).path or "/").split("/")]
    segments, literal = _segments(sent), _segments(wanted)
    if not len(segments) == len(literal) == len(open_segments):
        return False
    pairs = zip(segments, literal, open_segments, strict=True)
    return all(
        unquote(one) not in ("", ".", "..") if is_open else one == other for one, other, is_open in pairs
    )


def _segments(url: httpx2.URL) -> list[str]:
    return url.raw_path.decode().partition("?")[0].split("/")
