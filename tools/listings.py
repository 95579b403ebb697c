"""Listings in the cache that all processes share, for who asks over HTTP; they vanish by themselves."""

from __future__ import annotations

from datetime import datetime

import structlog
from django.core.cache import cache
from redis.exceptions import RedisError

from tools.catalog import Listing

log = structlog.get_logger(__name__)

_FORGOTTEN = "listings.forgotten"
_LONGEST = 86_400


class SharedListings:
    """A CatalogCache of copies, kept apart by `scope`; with `again` nothing kept is good enough.

    `hit` tells whether the last listing came from here.
    """

    def __init__(self, ttl: float, scope: str, again: bool = False) -> None:
        self.ttl = ttl
        self.hit = False
        self._scope, self._again = scope, again

    async def get(self, source: str, fingerprint: str) -> Listing | None:
        """The listing of this source and credential."""
        if self._again:
            return None
        key = self._key(source, fingerprint)
        try:
            found = await cache.aget_many([key, _FORGOTTEN])
        except (RedisError, OSError) as error:
            log.warning("catalog.cache_unreadable", source=source, error=type(error).__name__)
            return None
        kept: Listing | None = found.get(key)
        forgotten: datetime | None = found.get(_FORGOTTEN)
        if kept is not None and forgotten is not None and kept.fetched_at <= forgotten:
            kept = None
        self.hit = kept is not None
        return kept

    async def put(self, listing: Listing) -> None:
        """Keeps a listing in place of the one before; one that failed is not kept."""
        self.hit = False
        if listing.error or self.ttl <= 0:
            return
        try:
            await cache.aset(self._key(listing.source, listing.fingerprint), listing, timeout=int(self.ttl))
        except (RedisError, OSError) as error:
            log.warning("catalog.cache_unwritable", source=listing.source, error=type(error).__name__)

    def _key(self, source: str, fingerprint: str) -> str:
        return f"listing:{source}:{self._scope}:{fingerprint}"


def forget(now: datetime) -> None:
    """What was listed until now is good for nobody any more."""
    try:
        cache.set(_FORGOTTEN, now, timeout=_LONGEST)
    except (RedisError, OSError) as error:
        log.warning("catalog.cache_unwritable", error=type(error).__name__)
