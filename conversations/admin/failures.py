"""Failed tool calls of a window, grouped by tool and code: what fails, how often, since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Max, Min, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from conversations.admin import advice, words
from conversations.models import ToolCall
from tools.admin import stamp

WINDOWS = {
    "1h": ("hour", timedelta(hours=1)),
    "24h": ("24 hours", timedelta(hours=24)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
}
USUAL = "24h"
# However long the window: no more than the newest so many calls are read.
MOST_CALLS = 100_000
MOST_GROUPS = 100


@dataclass(frozen=True, slots=True)
class Failure:
    """All failures of one tool with one code; `share` is per cent of that tool's calls in the window."""

    name: str
    code: str
    tone: str
    why: str
    then: str
    count: int
    calls: int
    share: str
    first: str
    last: str
    url: str


def failures_page(request: HttpRequest) -> Mapping[str, object]:
    """What the template shows, by three queries over an index of times."""
    asked = request.GET.get("window", "")
    window = asked if asked in WINDOWS else USUAL
    since = timezone.now() - WINDOWS[window][1]
    beyond = ToolCall.objects.filter(started_at__gte=since).order_by("-started_at")
    oldest = beyond.values_list("started_at", flat=True)[MOST_CALLS - 1 : MOST_CALLS].first()
    calls = ToolCall.objects.filter(started_at__gte=oldest or since).order_by()
    groups = grouped(calls)
    totals = {each["name"]: each["calls"] for each in calls.values("name").annotate(calls=Count("pk"))}
    broken = [each for each in groups if each["code"] not in words.QUIET_CODES]
    quiet = [each for each in groups if each["code"] in words.QUIET_CODES]
    return {
        "window": window,
        "windows": [(key, f"Last {said}") for key, (said, _) in WINDOWS.items()],
        "since": stamp(oldest or since),
        "cut": oldest is not None,
        "most_calls": MOST_CALLS,
        "calls": sum(totals.values()),
        "more": len(groups) == MOST_GROUPS,
        "kinds": [
            ("Failures", [shown(each, totals, oldest or since) for each in broken]),
            ("The caller changed their mind", [shown(each, totals, oldest or since) for each in quiet]),
        ],
    }


def grouped(calls: QuerySet[ToolCall]) -> Sequence[Mapping[str, Any]]:
    """The largest groups of failed calls, largest first."""
    failed = calls.filter(status=ToolCall.Status.FAILED).values("name", "code")
    counted = failed.annotate(count=Count("pk"), first=Min("started_at"), last=Max("started_at"))
    return list(counted.order_by("-count", "name", "code")[:MOST_GROUPS])


def shown(group: Mapping[str, Any], totals: Mapping[str, int], since: datetime) -> Failure:
    """A group as a line of the page, with the address of the list of exactly these calls."""
    name, code, count = group["name"], group["code"], group["count"]
    calls = max(totals.get(name, 0), count)
    narrowed = {"name": name, "code": code, "status__exact": "failed", "started_at__gte": since.isoformat()}
    query = urlencode({key: value for key, value in narrowed.items() if value})
    return Failure(
        name=name,
        code=code,
        tone=words.call_outcome(ToolCall.Status.FAILED, code)[1],
        why=words.call_sentence(code),
        then=advice.for_call(code),
        count=count,
        calls=calls,
        share=f"{100 * count / calls:.1f}".removesuffix(".0") + "%",
        first=stamp(group["first"]),
        last=stamp(group["last"]),
        url=f"{reverse('admin:conversations_toolcall_changelist')}?{query}",
    )
