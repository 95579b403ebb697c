"""Listings kept in the database, where every process and the admin see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from django.db import DatabaseError
from django.db.models import F, Q

from tools.catalog import Listing, as_json
from tools.contract import Tool
from tools.frozen import thaw
from tools.models import CatalogSnapshot

log = structlog.get_logger(__name__)

# A row that never got an answer shows no tools either, but had none before.
_LISTED = ~Q(digest="") | Q(last_error="")


class SnapshotCache:
    """A CatalogCache of CatalogSnapshot rows; a failed discovery marks its row and keeps the tools there.

    With `again` nothing that is kept is good enough: every source is asked.
    """

    def __init__(self, ttl: float, again: bool = False) -> None:
        self.ttl = ttl
        self._again = again

    async def get(self, source: str, fingerprint: str) -> Listing | None:
        """The listing of this source and credential, stale or failed ones included."""
        if self._again:
            return None
        try:
            row = await CatalogSnapshot.objects.filter(source=source, caller_fingerprint=fingerprint).afirst()
        except DatabaseError:
            log.warning("catalog.cache_unreadable", source=source, exc_info=True)
            return None
        return _listing(row) if row else None

    async def put(self, listing: Listing) -> None:
        """Keeps the listing in place of the one before, whose tools stay beside it where they were others."""
        values: dict[str, Any] = {
            "fetched_at": listing.fetched_at,
            "expires_at": listing.expires_at,
            "last_error": listing.error,
        }
        if not listing.error:
            values["tools"] = [thaw(as_json(tool)) for tool in listing.tools]
            values["refused"] = [list(pair) for pair in listing.refused]
            values["digest"] = listing.digest
        row: dict[str, Any] = {"source": listing.source, "caller_fingerprint": listing.fingerprint}
        try:
            if not listing.error:
                kept = CatalogSnapshot.objects.filter(_LISTED, **row).exclude(digest=listing.digest)
                await kept.aupdate(previous_tools=F("tools"), changed_at=listing.fetched_at)
            await CatalogSnapshot.objects.aupdate_or_create(**row, defaults=values)
        except DatabaseError:
            log.warning("catalog.cache_unwritable", source=listing.source, exc_info=True)


def _listing(row: CatalogSnapshot) -> Listing:
    return Listing(
        source=row.source,
        fingerprint=row.caller_fingerprint,
        tools=tuple(_tool(kept) for kept in row.tools),
        refused=tuple((name, reason) for name, reason in row.refused),
        digest=row.digest,
        fetched_at=row.fetched_at,
        expires_at=row.expires_at,
        error=row.last_error,
    )


def _tool(kept: Mapping[str, Any]) -> Tool:
    return Tool(
        name=kept["name"],
        description=kept["description"],
        parameters=kept["parameters"],
        source=kept["source"],
        output_schema=kept["output_schema"],
        requires_auth=kept.get("requires_auth", False),
    )
