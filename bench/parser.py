"""What the marker parser costs for each character, however long the text and however it is cut."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from bench.report import Effort, Part
from conversations.core.markers import MarkerParser

LENGTHS = (500, 4_000, 16_000, 64_000)
CUTS = (1, 6, 60, 64_000)
LIMIT = 0.5
FLAT = 1.2
ROUNDS = 5
PROSE = "The oxygen in cage four is at 7.4 milligrams per liter, and 2 < 3 as ever; nothing to worry about. "
OPENING = '<<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS={"request":{"note":"'

ABOUT = f"""CPU time of the bench's own process, by character of the text: *talk* is prose with a stray
bracket, *marker* one selection whose arguments are almost all of the text. Pieces of 6 characters are about
what a model streams. Flat means that a character of the longest text costs at most {FLAT} times as much as
one of the shortest."""


def measure(effort: Effort) -> Part:
    """Microseconds by character."""
    part = Part("Marker parser", ABOUT)
    lengths = LENGTHS[:2] if effort.quick else LENGTHS
    rounds = 1 if effort.quick else ROUNDS
    for name in ("talk", "marker"):
        for cut in CUTS:
            costs = [_cost(_text(name, length), cut, rounds) for length in lengths]
            label = f"{name}, pieces of {cut:,}" if cut < CUTS[-1] else f"{name}, in one piece"
            told = ", ".join(f"{cost:.3f}" for cost in costs)
            growth = costs[-1] / costs[0]
            met = max(costs) <= LIMIT and growth <= FLAT
            compared = f"{growth:.2f}× from {lengths[0]:,} to {lengths[-1]:,} characters"
            part.add(label, f"{told} µs", compared, f"≤ {LIMIT} µs, flat", met)
    return part


def _text(name: str, length: int) -> str:
    if name == "talk":
        return (PROSE * (length // len(PROSE) + 1))[:length]
    ending = '"}}>>>'
    return OPENING + "x" * (length - len(OPENING) - len(ending)) + ending


def _cost(text: str, cut: int, rounds: int) -> float:
    """The median of the rounds, each long enough for the clock."""
    pieces = list(_pieces(text, cut))
    repeats = max(1, 40_000 // len(text)) if rounds > 1 else 1
    costs = []
    for _ in range(rounds):
        before = time.process_time_ns()
        for _ in range(repeats):
            parser = MarkerParser()
            for piece in pieces:
                parser.feed(piece)
            parser.finish()
        costs.append((time.process_time_ns() - before) / 1e3 / repeats / len(text))
    return median(costs)


def _pieces(text: str, cut: int) -> Iterator[str]:
    return (text[start : start + cut] for start in range(0, len(text), cut))
