"""The start page: how callers fare now, each number with the list of what it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from conversations.admin import charts, words
from conversations.admin.charts import Range, percent, took
from conversations.admin.numbers import PERIODS, Numbers, Period, numbers, period_named
from conversations.admin.percentiles import Spread
from tools.sentences import TITLES

# From the bottom of a bar up, with the tones of the page.
OUTCOMES = {
    "done": "answered",
    "interrupted": "interrupted",
    "cancelled": "cancelled",
    "failed": "failed",
    "running": "running",
}
WAITS = {
    "spoken": ("Voice to voice", "voice"),
    "written": ("Typed, or over HTTP", "written"),
}


@dataclass(frozen=True, slots=True)
class Tile:
    """One number that matters: where it leads, and a line below it with a link of its own."""

    name: str
    value: str
    url: str
    note: str = ""
    note_url: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a list of counts; `share` is of the longest, as CSS writes it."""

    name: str
    why: str
    count: int
    share: str
    url: str
    tone: str = "plain"


@dataclass(frozen=True, slots=True)
class Wait:
    """Percentiles of one thing; `urls` lead to what took at least so long, empty where no list tells."""

    name: str
    values: tuple[str, str, str]
    urls: tuple[str, str, str]
    count: int
    count_url: str
    range: Range
    sampled: bool


@dataclass(frozen=True, slots=True)
class ToolLine:
    """A tool: how often it was wanted, how often it failed, how long it took."""

    name: str
    source: str
    count: int
    url: str
    failed: int
    failed_url: str
    rate: str
    rate_share: str
    took: Wait | None


def context_of(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """UNFOLD's DASHBOARD_CALLBACK: what this person may see of the chosen period."""
    may_see = request.user.has_perm("conversations.view_conversation")
    may_see_calls = request.user.has_perm("conversations.view_toolcall")
    period = period_named(request.GET.get("period", ""))
    context["periods"] = [(each.name, each.words, each is period) for each in PERIODS]
    if may_see or may_see_calls:
        found = numbers(period)
        context |= {"period": period, "numbers": found, "as_of": timezone.localtime(found.end)}
        context["tiles"] = tiles(found, may_see, may_see_calls)
    if may_see:
        context |= {
            "chart": turns_chart(found, period),
            "legend": list(OUTCOMES.items()),
            "waits": waits(found),
            "ended": ended(found),
            "turn_failures": turn_failures(found),
        }
    if may_see_calls:
        context |= {"tools": tool_lines(found), "refused": refused(found)}
    return context


class Links:
    """The addresses of lists that are narrowed to the period of these numbers."""

    def __init__(self, found: Numbers) -> None:
        self._span = {"gte": found.start.isoformat(sep=" "), "lt": found.end.isoformat(sep=" ")}

    def to(self, model: str, began: str = "started_at", **wanted: str) -> str:
        """The list of that model with these filters; `began` is the time that counts there."""
        span = {f"{began}__{bound}": at for bound, at in self._span.items()}
        return f"{reverse(f'admin:conversations_{model}_changelist')}?{urlencode({**wanted, **span})}"


def tiles(found: Numbers, may_see: bool, may_see_calls: bool) -> list[Tile]:
    """The numbers on top."""
    return [*(turn_tiles(found) if may_see else []), *(call_tiles(found) if may_see_calls else [])]


def turn_tiles(found: Numbers) -> list[Tile]:
    links = Links(found)
    live = reverse("admin:conversations_conversation_changelist") + "?state=live"
    opened = sum(found.conversations.values())
    spoken, cut = found.turn_count(origin="voice"), found.turn_count(origin="voice", outcome="interrupted")
    turns, failed = found.turn_count(), found.turn_count(outcome="failed")
    return [
        Tile(
            "Live now",
            f"{found.live:,}",
            live,
            f"{opened:,} opened in the period",
            links.to("conversation", "opened_at"),
            "live" if found.live else "",
        ),
        Tile("Turns", f"{turns:,}", links.to("turn"), f"{spoken:,} spoken", links.to("turn", origin="voice")),
        voice_tile(found.waits.get("spoken"), links),
        Tile(
            "Interrupted by the caller",
            percent(cut, spoken),
            links.to("turn", origin="voice", outcome__exact="interrupted"),
            f"{cut:,} of {spoken:,} spoken turns",
        ),
        Tile(
            "Turns that failed",
            percent(failed, turns),
            links.to("turn", outcome__exact="failed"),
            f"{failed:,} of {turns:,}",
            tone="bad" if failed else "",
        ),
        *rating_tiles(found, links),
    ]


def rating_tiles(found: Numbers, links: Links) -> list[Tile]:
    """What callers thought of their answers, once one said so."""
    good, bad = sum(one.good for one in found.turns), sum(one.bad for one in found.turns)
    liked, not_liked = links.to("turn", rating__exact="good"), links.to("turn", rating__exact="bad")
    tile = Tile(
        "Answers liked", f"{good:,}", liked, f"{bad:,} not liked", not_liked, "bad" if bad > good else ""
    )
    return [tile] if good or bad else []


def voice_tile(spread: Spread | None, links: Links) -> Tile:
    """How soon callers are answered; the slow ones are listed."""
    name = "Voice to voice, half within"
    if spread is None:
        return Tile(name, "—", links.to("turn", origin="voice", wait="0"))
    slow = links.to("turn", origin="voice", wait=f"{int(spread.p95)}")
    every = links.to("turn", origin="voice", wait="0")
    return Tile(name, took(spread.p50), every, f"95 % within {took(spread.p95)}", slow)


def call_tiles(found: Numbers) -> list[Tile]:
    links = Links(found)
    ended, failed = sum(tool.ended for tool in found.tools), sum(tool.failed for tool in found.tools)
    turned_away = sum(found.refused.values())
    return [
        Tile(
            "Tool calls that failed",
            percent(failed, ended),
            links.to("toolcall", outcome="failed"),
            f"{failed:,} of {ended:,}",
            tone="bad" if failed else "",
        ),
        Tile(
            "Tool calls refused",
            f"{turned_away:,}",
            links.to("toolcall", outcome="refused"),
            "before the tool ran",
        ),
    ]


def turns_chart(found: Numbers, period: Period) -> charts.Stacked:
    """Turns over time, by how they ended."""
    labels = [slot_words(found, period, slot) for slot in range(period.slots)]
    series = {outcome: [0] * period.slots for outcome in OUTCOMES}
    for group in found.turns:
        if group.outcome in series and 0 <= group.slot < period.slots:
            series[group.outcome][group.slot] += group.count
    return charts.stacked(labels, series, OUTCOMES)


def slot_words(found: Numbers, period: Period, slot: int) -> str:
    """`10:00–11:00`, with the day where the period has several."""
    start = timezone.localtime(found.start + slot * period.step)
    end = start + period.step
    day = f"{start:%a %d} " if period.length > timedelta(days=1) else ""
    return f"{day}{start:%H:%M}–{end:%H:%M}"


def waits(found: Numbers) -> list[Wait]:
    """How long callers waited for the first of an answer."""
    links, longest = Links(found), max((each.p99 for each in found.waits.values()), default=0.0)
    shown = []
    for kind, (name, origin) in WAITS.items():
        if spread := found.waits.get(kind):
            values = (spread.p50, spread.p95, spread.p99)
            urls = [links.to("turn", origin=origin, wait=f"{int(value)}") for value in values]
            every = links.to("turn", origin=origin, wait="0")
            shown.append(wait(name, spread, (urls[0], urls[1], urls[2]), every, longest))
    return shown


def wait(name: str, spread: Spread, urls: tuple[str, str, str], every: str, longest: float) -> Wait:
    values = (spread.p50, spread.p95, spread.p99)
    words_of = (took(spread.p50), took(spread.p95), took(spread.p99))
    return Wait(name, words_of, urls, spread.count, every, charts.ranged(values, longest), spread.sampled)


def tool_lines(found: Numbers) -> list[ToolLine]:
    """Every tool that was wanted, the most wanted first."""
    links, longest = Links(found), max((each.p99 for each in found.durations.values()), default=0.0)
    worst = max((tool.failed / tool.ended for tool in found.tools if tool.ended), default=0.0)
    lines = []
    for tool in found.tools:
        which = {"name": tool.name, "source": tool.source} if tool.source else {"source": "none"}
        spread = found.durations.get((tool.source, tool.name))
        done = links.to("toolcall", **which, status__exact="completed")
        lines.append(
            ToolLine(
                name=tool.name,
                source=TITLES.get(tool.source, tool.source),
                count=tool.count,
                url=links.to("toolcall", **which),
                failed=tool.failed,
                failed_url=links.to("toolcall", **which, outcome="failed"),
                rate=percent(tool.failed, tool.ended),
                rate_share=charts.share(tool.failed, tool.ended * worst),
                took=wait(tool.name, spread, ("", "", ""), done, longest) if spread else None,
            )
        )
    return lines


def ended(found: Numbers) -> list[Line]:
    """How the conversations that were opened in the period ended, so far."""
    links = Links(found)
    lines = []
    for reason, count in by_count(found.conversations):
        filters = {"close_reason__exact": reason} if reason else {"state": "open"}
        name = reason.replace("_", " ") or "still open"
        why = words.CLOSE_REASONS.get(reason, "") if reason else "Nobody and nothing has ended it yet."
        url = links.to("conversation", "opened_at", **filters)
        lines.append(line(name, why, count, found.conversations, url))
    return lines


def turn_failures(found: Numbers) -> list[Line]:
    """Why turns failed."""
    links = Links(found)
    counts: dict[str, int] = {}
    for group in found.turns:
        if group.outcome == "failed":
            counts[group.code] = counts.get(group.code, 0) + group.count
    lines = []
    for code, count in by_count(counts):
        url = links.to("turn", outcome__exact="failed", code=code or "none")
        why = words.turn_sentence("failed", code)
        lines.append(line(code.replace("_", " ") or "no code", why, count, counts, url, "bad"))
    return lines


def refused(found: Numbers) -> list[Line]:
    """Why attempts to use a tool were refused before it ran."""
    links = Links(found)
    lines = []
    for code, count in by_count(found.refused):
        url = links.to("toolcall", outcome="refused", code=code)
        lines.append(
            line(code.replace("_", " "), words.call_sentence(code), count, found.refused, url, "warn")
        )
    return lines


def line(name: str, why: str, count: int, among: Mapping[str, int], url: str, tone: str = "plain") -> Line:
    return Line(name, why, count, charts.share(count, max(among.values())), url, tone)


def by_count(counts: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    """The most first."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
