"""API keys of integrators: shown once, kept as a hash, revoked for good."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from conversations.identity import binding
from conversations.models import ApiKey

# Not one write a request: an operator needs to know the day, not the second.
_NOTED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Made:
    """A fresh key; its text exists here only and is not in `repr`."""

    key_id: int
    name: str
    text: str = field(repr=False)


def make(name: str) -> Made:
    """Makes a key under a name for operators."""
    text = binding.new_value(binding.API_KEY)
    row = ApiKey.objects.create(name=name, key_hash=binding.digest(text), made_at=timezone.now())
    return Made(row.pk, name, text)


def holder(text: str) -> ApiKey | None:
    """The key's row when it is good, and notes that it was used."""
    if not text.startswith(binding.API_KEY):
        return None
    key = ApiKey.objects.filter(key_hash=binding.digest(text), revoked_at=None).first()
    if key:
        now = timezone.now()
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _NOTED_EVERY)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
    return key


def revoke(name: str) -> int:
    """Ends every key of that name; returns how many were good until now."""
    return ApiKey.objects.filter(name=name, revoked_at=None).update(revoked_at=timezone.now())
