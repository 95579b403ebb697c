"""Encryption at rest of what must come back in the clear: backend tokens and the phones of links."""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from conversations.identity import derived
from vocero.hiding import LIVE


class Unreadable(Exception):
    """A ciphertext that no configured key opens, or that belongs to another row."""


def seal(text: str, bound_to: str) -> str:
    """The ciphertext of a text, good only for the row that `bound_to` names."""
    LIVE.keep(text)
    return _keys().encrypt(f"{bound_to}\n{text}".encode()).decode("ascii")


def unseal(ciphertext: str, bound_to: str) -> str:
    """The text again. Raises Unreadable."""
    try:
        owner, _, text = _keys().decrypt(ciphertext.encode("ascii", "replace")).decode().partition("\n")
    except InvalidToken as error:
        raise Unreadable("no key of S2S_TOKEN_KEYS opens it") from error
    if owner != bound_to:
        raise Unreadable("it belongs to another row")
    LIVE.keep(text)
    return text


def _keys() -> MultiFernet:
    """The newest key encrypts, all of them decrypt."""
    made = [base64.urlsafe_b64encode(key) for key in derived.keys("vocero token vault")]
    return MultiFernet([Fernet(key) for key in settings.VOCERO.token_keys or made])
