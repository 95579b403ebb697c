"""Listings kept in the database, where every process and the admin see them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.db import DatabaseError

from tools import declarations
from tools.catalog import Listing, as_json
from tools.contract import Tool
from tools.frozen import thaw
from tools.models import CatalogSnapshot

log = structlog.get_logger(__name__)


class SnapshotCache:
    """A CatalogCache of CatalogSnapshot rows; a failed discovery marks its row and keeps the tools there.

    With `again` nothing that is kept is good enough: every source is asked. With `pinned` a changed tool is
    held back until an operator has approved the change.
    """

    def __init__(self, ttl: float, again: bool = False, pinned: bool = False) -> None:
        self.ttl = ttl
        self._again = again
        self._pinned = pinned

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
        """Keeps the listing in place of the one before."""
        values: dict[str, Any] = {
            "fetched_at": listing.fetched_at,
            "expires_at": listing.expires_at,
            "last_error": listing.error,
        }
        if not listing.error:
            values["tools"] = [thaw(as_json(tool)) for tool in listing.tools]
            values["refused"] = [list(pair) for pair in listing.refused]
            values["digest"] = listing.digest
        try:
            await CatalogSnapshot.objects.aupdate_or_create(
                source=listing.source, caller_fingerprint=listing.fingerprint, defaults=values
            )
        except DatabaseError:
            log.warning("catalog.cache_unwritable", source=listing.source, exc_info=True)

    async def note(self, source: str, tools: Sequence[Tool], now: datetime) -> None:
        """Keeps how the tools are declared now."""
        try:
            await declarations.note(source, tools, now)
        except DatabaseError:
            log.warning("catalog.declarations_unwritable", source=source, exc_info=True)

    async def held(self, source: str, tools: Sequence[Tool]) -> Collection[str]:
        """The names that wait for an operator; all of them where that cannot be known."""
        if not self._pinned:
            return ()
        try:
            return await declarations.unapproved(source, tools)
        except DatabaseError:
            log.warning("catalog.approvals_unreadable", source=source, exc_info=True)
            return [tool.name for tool in tools]


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
