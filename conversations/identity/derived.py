"""Keys derived from SECRET_KEY, another one for each purpose."""

from __future__ import annotations

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes


def keys(purpose: str) -> list[bytes]:
    """32 bytes from each secret, the newest first; what an older one made is still good."""
    return [_derived(secret, purpose) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


def _derived(secret: str | bytes, purpose: str) -> bytes:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode())
    return derivation.derive(force_bytes(secret))
