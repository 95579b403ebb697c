"""Tools asked for anew on an operator's wish: kept catalogs end now, live calls ask for their next turn."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from conversations import nudging, toolbox
from conversations.models import Conversation
from tools import listings
from tools.models import CatalogSnapshot

log = structlog.get_logger(__name__)

# More calls than these notice by their heartbeats, so that they do not all ask in the same moment.
MOST_NUDGED = 50


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How many kept catalogs are, or would be, good no more, and how many live calls ask anew at once."""

    catalogs: int
    calls: int


def concerned(fingerprints: Collection[str] | None = None) -> Refreshed:
    """What a refresh for these credentials, or for all, would reach now."""
    return Refreshed(_kept(fingerprints).count(), _live(fingerprints).count())


def refresh(fingerprints: Collection[str] | None = None) -> Refreshed:
    """Has the tools of these credentials, or of all, asked for anew; running turns keep the ones they have.

    A live call learns it by a nudge or by its next heartbeat, whichever process holds it.
    """
    with transaction.atomic():
        # Before the calls are told: what they ask for must not come from what is kept.
        catalogs = _kept(fingerprints).update(expires_at=timezone.now())
        calls = list(_live(fingerprints).values_list("pk", flat=True))
        Conversation.objects.filter(pk__in=calls, state=Conversation.State.OPEN).update(tools_stale=True)
        transaction.on_commit(partial(_tell, calls))
    log.info("catalog.refresh_asked", catalogs=catalogs, calls=len(calls))
    return Refreshed(catalogs, len(calls))


def _tell(calls: Collection[UUID]) -> None:
    listings.forget(timezone.now())
    if 0 < len(calls) <= MOST_NUDGED:
        nudging.nudge(*calls)


def _kept(fingerprints: Collection[str] | None) -> QuerySet[CatalogSnapshot]:
    rows = CatalogSnapshot.objects.filter(expires_at__gt=timezone.now())
    return rows if fingerprints is None else rows.filter(caller_fingerprint__in=fingerprints)


def _live(fingerprints: Collection[str] | None) -> QuerySet[Conversation]:
    calls = Conversation.objects.filter(
        ~Q(owner=""), state=Conversation.State.OPEN, lease_expires_at__gt=timezone.now()
    ).order_by()
    if fingerprints is None:
        return calls
    theirs = Q(backend_token__fingerprint__in=fingerprints)
    if toolbox.service().fingerprint in fingerprints:
        theirs |= Q(mode=Conversation.Mode.APIPILOT, backend_token=None)
    return calls.filter(theirs)
