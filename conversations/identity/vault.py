"""Encryption at rest of what must come back in the clear: backend tokens and the phones of links."""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes


class Unreadable(Exception):
    """A ciphertext that no configured key opens, or that belongs to another row."""


def seal(text: str, bound_to: str) -> str:
    """The ciphertext of a text, good only for the row that `bound_to` names."""
    return _keys().encrypt(f"{bound_to}\n{text}".encode()).decode("ascii")


def unseal(ciphertext: str, bound_to: str) -> str:
    """The text again. Raises Unreadable."""
    try:
        owner, _, text = _keys().decrypt(ciphertext.encode("ascii", "replace")).decode().partition("\n")
    except InvalidToken as error:
        raise Unreadable("no key of S2S_TOKEN_KEYS opens it") from error
    if owner != bound_to:
        raise Unreadable("it belongs to another row")
    return text


def _keys() -> MultiFernet:
    """The newest key encrypts, all of them decrypt."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    keys = settings.VOCERO.token_keys or [_derived(force_bytes(secret)) for secret in secrets]
    return MultiFernet([Fernet(key) for key in keys])


def _derived(secret: bytes) -> bytes:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"vocero token vault")
    return base64.urlsafe_b64encode(derivation.derive(secret))
