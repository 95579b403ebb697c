"""Figures, and how they are told: every one is a ratio of variants that were measured in turns."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from os import getloadavg, sched_getaffinity
from statistics import median

Samples = Sequence[float]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: `rounds` of every variant, of `seconds` each; with `quick` only that it works."""

    rounds: int
    seconds: float
    quick: bool
    postgres: str = ""
    litellm: str = ""

    def count(self, whole: int) -> int:
        """So many repetitions; a fraction of them where only a glance is wanted."""
        return max(2, whole // 20) if self.quick else whole


FULL = Effort(rounds=7, seconds=0.6, quick=False)
QUICK = Effort(rounds=1, seconds=0.05, quick=True)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table; `met` is None where there is no target."""

    name: str
    measured: str
    compared: str
    target: str = ""
    met: bool | None = None


@dataclass(slots=True)
class Part:
    """One table, with what must be known to read it."""

    title: str
    about: str
    figures: list[Figure] = field(default_factory=list)

    def add(self, name: str, measured: str, compared: str, target: str = "", met: bool | None = None) -> None:
        """One more line."""
        self.figures.append(Figure(name, measured, compared, target, met))


def spread(samples: Samples, unit: str, digits: int = 1) -> str:
    """The median of the rounds, and the least and the most of them."""
    low, high = min(samples), max(samples)
    return f"{median(samples):.{digits}f} {unit} ({low:.{digits}f}–{high:.{digits}f})"


def ratio(samples: Samples, others: Samples) -> list[float]:
    """How much more it was in each round than the other of the same round."""
    return [one / other for one, other in zip(samples, others, strict=True)]


def times(ratios: Samples) -> str:
    """Ratios as they are told."""
    return f"{median(ratios):.2f}× ({min(ratios):.2f}–{max(ratios):.2f})"


def machine() -> str:
    """What the figures were taken on, in neutral words."""
    cores = len(sched_getaffinity(0))
    return (
        f"{cores} cores, {platform.system()}, Python {platform.python_version()}, "
        f"{date.today().isoformat()}, load {getloadavg()[1]:.1f} when it ended"
    )


def printed(part: Part) -> str:
    """A table for a terminal."""
    rows = [
        ("figure", "measured", "compared", "target", ""),
        *(_row(one, "yes", "NO") for one in part.figures),
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([f"\n{part.title}", *(line.rstrip() for line in lines)])


def document(parts: Iterable[Part], command: str) -> str:
    """docs/performance.md."""
    told = list(parts)
    figures = [one for part in told for one in part.figures if one.met is not None]
    missed = [one for one in figures if not one.met]
    lines = [
        _HEAD.format(command=command, machine=machine(), met=len(figures) - len(missed), all=len(figures))
    ]
    for part in told:
        lines += [f"## {part.title}", "", part.about, "", "| figure | measured | compared | target | met |"]
        lines += ["|---|---|---|---|---|"]
        lines += [f"| {' | '.join(_row(one, 'yes', '**no**'))} |" for one in part.figures]
        lines.append("")
    return "\n".join(lines)


def _row(figure: Figure, good: str, bad: str) -> tuple[str, str, str, str, str]:
    met = "" if figure.met is None else good if figure.met else bad
    return figure.name, figure.measured, figure.compared, figure.target, met


def in_turns(rounds: int, variants: Sequence[str], measure: Callable[[str], None]) -> None:
    """Every variant once in each round, so that what else the machine does touches all of them alike."""
    for number in range(rounds):
        for variant in variants if number % 2 == 0 else reversed(variants):
            measure(variant)


_HEAD = """# How fast it is

Written by `{command}`; run it again and this file is written anew. {machine}.

Every figure compares variants that were measured in turns in one run, since the same machine gives other
figures an hour later: trust the ratios, less so the microseconds. What is told are medians over the rounds,
with the least and the most in parentheses. Of {all} targets {met} are met.

## What is missed, and why

CPU a message: *bytes through* are cheap, since frames go between Vocero's sockets without a queue or a
task for each. Above them every frame is read as JSON, both ways, held against its list and its gate, and
counted for what was heard: half to two thirds of their cost again, in plain Python. Live sessions and p99
are measured on cores that the load shares. Memory: the MCP SDK's client, with the stream in which its
server tells of changes, holds some 110 KiB in six tasks and two connections for as long as it is open,
which is a minute after its last use; the buffers of the speech service's socket grow to the largest
frame, the declared session, and stay so; the rest are the call's own tasks and what they wait for, in
many small pieces. A browser that does not read is bounded by the outbox, which holds half a minute of
sound, by what the service has sent ahead, and by what the allocator cannot give back. Tool turn: the
opening row is committed before the request leaves, in the journal's thread: more than half of what is
added, and more the busier the machine is. Journal: a row of a batch on PostgreSQL still costs its own
statement and its way there. Other work on the machine moves p99 and the number of sessions most.
"""
