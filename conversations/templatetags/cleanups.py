"""What the admin's pages ask about the cleanup."""

from __future__ import annotations

from django import template
from django.utils import timezone

from conversations import cleanups

register = template.Library()


@register.simple_tag
def cleanup_trouble() -> str:
    """A sentence where retention is not being applied, else empty."""
    return cleanups.trouble(timezone.now())
