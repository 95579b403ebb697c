"""What changed between two JSON values, line by line, within bounds."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass

from tools.admin import visible

_TONES = {"+": "added", "-": "taken", "…": "place"}
MOST_LINES = 600
# What differs in more lines than these, old and new together, is not compared line by line.
MOST_COMPARED = 2_000
AROUND = 3


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff: `tone` is added, taken, place or empty."""

    text: str
    tone: str


def diff(before: object, after: object) -> list[DiffLine]:
    """What changed between two JSON values, line by line of their indented text; at most MOST_LINES."""
    old, new = _differing(_lines(before), _lines(after))
    lines = _compared(old, new) if len(old) + len(new) <= MOST_COMPARED else _replaced(old, new)
    shown = [DiffLine(line, _TONES.get(line[:1], "")) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(DiffLine(f"… {len(lines) - MOST_LINES:,} more lines are not shown here.", "place"))
    return shown


def _lines(value: object) -> list[str]:
    return visible(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)).splitlines()


def _differing(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Where the two differ, with a few lines around it: what is alike costs no comparison."""
    top = max(_alike(old, new) - AROUND, 0)
    old, new = old[top:], new[top:]
    bottom = max(_alike(old[::-1], new[::-1]) - AROUND, 0)
    return old[: len(old) - bottom], new[: len(new) - bottom]


def _alike(old: list[str], new: list[str]) -> int:
    """How many lines are the same from the beginning."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _compared(old: list[str], new: list[str]) -> list[str]:
    lines = list(difflib.unified_diff(old, new, lineterm="", n=AROUND))[2:]
    return ["…" if line.startswith("@@") else line for line in lines]


def _replaced(old: list[str], new: list[str]) -> list[str]:
    """All of the old for all of the new, the beginnings of both first."""
    gone, come, half = [f"-{line}" for line in old], [f"+{line}" for line in new], MOST_LINES // 2
    return gone[:half] + come[:half] + gone[half:] + come[half:]
