"""How often one address or one caller may ask: fixed windows over the cache that all processes share."""

from __future__ import annotations

import ipaddress
import math

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

from conversations.identity.binding import digest

log = structlog.get_logger(__name__)

WINDOW = 60


def retry_after(scope: str, who: str, limit: int, now: float) -> int | None:
    """Counts one attempt of `who`; the whole seconds to wait once the window's limit is used up, else None.

    `now` is in epoch seconds. A cache that is down limits nobody: a call never depends on it.
    """
    window = int(now // WINDOW)
    key = f"rate:{scope}:{digest(who)}:{window}"
    try:
        cache.add(key, 0, timeout=2 * WINDOW)
        used = cache.incr(key)
    except ValueError:
        return None  # The entry was evicted between the two lines.
    except (RedisError, OSError) as error:
        log.warning("rates.unavailable", error=type(error).__name__)
        return None
    if used <= limit:
        return None
    return max(1, math.ceil((window + 1) * WINDOW - now))


def address_of(forwarded: str | None, peer: str, hops: int) -> str:
    """The client's address: the peer's, or what the outermost trusted proxy wrote in `X-Forwarded-For`."""
    entries = [entry.strip() for entry in (forwarded or "").split(",") if entry.strip()]
    if not hops or not entries:
        return peer
    return _address(entries[-min(hops, len(entries))]) or peer


def _address(entry: str) -> str | None:
    bare = entry.rpartition(":")[0] if entry.count(":") == 1 else entry
    bare = bare.partition("]")[0].removeprefix("[")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return None
