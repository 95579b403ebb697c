"""Charts as data: counts in, shares of a drawing's width and height and words out. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Every drawing is so wide and so high, and stretched to its place on the page.
SIZE = 1000.0


@dataclass(frozen=True, slots=True)
class Piece:
    """One rectangle; `tone` is what it stands for."""

    x: str
    y: str
    width: str
    height: str
    tone: str


@dataclass(frozen=True, slots=True)
class Column:
    """One bar of a stacked chart, with its words and its numbers in the order of the legend."""

    label: str
    words: str
    pieces: tuple[Piece, ...]
    counts: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A line of the scale: where it is, in per cent, and its words."""

    at: str
    label: str


@dataclass(frozen=True, slots=True)
class Stacked:
    """A chart of stacked bars; `lines` is the scale, from the bottom up, `below` the labels under it."""

    columns: tuple[Column, ...]
    lines: tuple[Mark, ...]
    below: tuple[Mark, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Range:
    """Three values of one thing on a scale that all share: a line from the first to the last."""

    start: str
    middle: str
    end: str
    width: str


def stacked(labels: Sequence[str], series: Mapping[str, Sequence[int]], words: Mapping[str, str]) -> Stacked:
    """Bars of what `series` counts by tone, the first tone at the bottom; `words` names the tones."""
    totals = [sum(counts[at] for counts in series.values()) for at in range(len(labels))]
    top = round_top(max(totals, default=0))
    columns = []
    for at, label in enumerate(labels):
        counts = {tone: series[tone][at] for tone in series}
        said = ", ".join(f"{count:,} {words[tone]}" for tone, count in counts.items() if count)
        pieces = _pile(at, len(labels), counts, top)
        columns.append(
            Column(label, f"{label}: {said or 'none'}", pieces, tuple(counts.values()), totals[at])
        )
    every = max(math.ceil(len(labels) / 6), 1)
    below = [
        Mark(share(at, len(labels)), label.partition("–")[0])
        for at, label in enumerate(labels)
        if at % every == 0
    ]
    return Stacked(tuple(columns), scale(top), tuple(below), sum(totals))


def _pile(at: int, columns: int, counts: Mapping[str, int], top: int) -> tuple[Piece, ...]:
    wide = SIZE / columns
    pieces, below = [], 0
    for tone, count in counts.items():
        if count:
            high = SIZE * count / top
            y = SIZE - SIZE * below / top - high
            pieces.append(
                Piece(
                    f"{at * wide + wide * 0.12:.1f}",
                    f"{y:.1f}",
                    f"{wide * 0.76:.1f}",
                    f"{high:.1f}",
                    tone,
                )
            )
            below += count
    return tuple(pieces)


def round_top(most: int) -> int:
    """The end of a scale that holds `most`, with a round half: 4, 6, 12, 60, 240, …"""
    unit = max(int(10 ** math.floor(math.log10(max(most, 1)))) // 5, 1)
    return max(2 * unit * math.ceil(most / 2 / unit), 4)


def scale(top: int) -> tuple[Mark, ...]:
    """Nothing, the half and the whole."""
    return tuple(Mark(share(value, top), f"{value:,}") for value in (0, top // 2, top))


def share(part: float, whole: float) -> str:
    """`12.5%`, as CSS writes it; nothing of nothing is nothing."""
    return f"{100 * part / whole if whole else 0:.2f}%"


def percent(part: float, whole: float) -> str:
    """`12 %`, `0.4 %`, and a dash of nothing."""
    if not whole:
        return "—"
    value = 100 * part / whole
    return f"{value:.1f} %" if 0 < value < 10 else f"{value:.0f} %"


def took(ms: float) -> str:
    """`830 ms`, `1.24 s`."""
    return f"{ms:,.0f} ms" if ms < 1000 else f"{ms / 1000:,.2f} s"


def ranged(values: tuple[float, float, float], longest: float) -> Range:
    """The three values on a scale that ends at `longest`."""
    start, middle, end = (SIZE * value / longest if longest else 0.0 for value in values)
    return Range(f"{start:.1f}", f"{middle:.1f}", f"{end:.1f}", f"{max(end - start, 2.0):.1f}")
