"""Unguessable values that bind a browser or an integrator to a conversation; only their hashes are kept."""

from __future__ import annotations

import hashlib
import secrets

from vocero.hiding import LIVE

COOKIE = "vocero_browser"
CLIENT_SECRET = "ek_"  # noqa: S105  (the prefix that clients recognise it by)
API_KEY = "vk_"


def new_value(prefix: str = "") -> str:
    """The prefix and 32 random bytes in URL-safe base64."""
    value = secrets.token_urlsafe(32)
    LIVE.keep(value)
    return prefix + value


def digest(value: str) -> str:
    """SHA-256 in hex: the values are random, so nothing slower is needed."""
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
