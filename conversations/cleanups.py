"""How the cleanup has been doing: its last success, and what an operator must look into."""

from __future__ import annotations

from datetime import datetime, timedelta

from conversations.models import CleanupRun, Conversation

# A cleanup is meant to run at least once a day.
OVERDUE = timedelta(hours=48)


def last_run() -> CleanupRun | None:
    """The newest cleanup, whether or not all of it was done."""
    return CleanupRun.objects.order_by("-ended_at").first()


def last_success() -> datetime | None:
    """When a cleanup last ended without a failure."""
    good = CleanupRun.objects.filter(failures=[]).order_by("-ended_at")
    return good.values_list("ended_at", flat=True).first()


def trouble(now: datetime) -> str:
    """A sentence for operators where retention is not being applied; else empty."""
    return judged(last_run(), last_success(), _first_opened(), now)


def judged(
    last: CleanupRun | None, success: datetime | None, first_opened: datetime | None, now: datetime
) -> str:
    """Failed steps first; then a cleanup that has not succeeded for too long, or never where rows are old."""
    if last and last.failures:
        steps = ", ".join(name.replace("_", " ") for name in last.failures)
        return f"The last cleanup ({last.ended_at:%d %b %H:%M} UTC) failed in: {steps}. The log says why."
    since = success or first_opened
    if since is None or now - since <= OVERDUE:
        return ""
    told = f"since {success:%d %b %H:%M} UTC" if success else "yet"
    return f"No cleanup has succeeded {told}: rows are kept for longer than they should be."


def _first_opened() -> datetime | None:
    return Conversation.objects.order_by("opened_at").values_list("opened_at", flat=True).first()
