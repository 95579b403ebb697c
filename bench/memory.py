"""What a conversation holds of memory: while nothing happens, and while a browser does not read."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from bench.report import Effort, Part
from bench.servers import Stage, Target

WARM, MANY = 50, 200
IDLE_LIMIT = 150
FLOODED, FLOOD_SECONDS = 3, 12.0
FLOOD_LIMIT = 4.0
KIB, MIB = 1024, 1024 * 1024
SETTLE = 1.0
LOOK_EVERY = 0.1

ABOUT = f"""What the kernel counts for the process, as growth: over {MANY} more idle conversations, each
with its socket, its session at the speech service and its own open MCP client; and at the highest point
while {FLOODED} browsers read nothing for {FLOOD_SECONDS:.0f} seconds and the service speaks without end, by
call."""


def measure(effort: Effort, built: Stage) -> Part:
    """Memory on both servers, beside an aiohttp relay, which keeps no conversation."""
    part = Part("Memory", ABOUT)
    # What ran before has memory to give away.
    fresh = "" if effort.quick else ", fresh"
    targets = [
        built.outside("aiohttp" + fresh, "bench.outside.aiohttp_relay"),
        built.vocero("Vocero on uvicorn" + fresh),
        built.vocero("Vocero on Daphne" + fresh, "daphne"),
    ]
    warm, many = (1, 2) if effort.quick else (WARM, MANY)
    held = {target.name: _idle(built, target, warm, many) / KIB for target in targets}
    for target in targets:
        known = "" if not target.is_vocero else f"aiohttp's relay: {held[targets[0].name]:.0f} KiB"
        limit = f"≤ {IDLE_LIMIT} KiB" if target.is_vocero else ""
        met = held[target.name] <= IDLE_LIMIT if target.is_vocero else None
        part.add(f"Idle conversation: {target.name}", f"{held[target.name]:.0f} KiB", known, limit, met)
        built.leave(target)
    for target in targets[1:]:
        peak = _flooded(built, target, effort.seconds if effort.quick else FLOOD_SECONDS) / MIB
        told = f"{peak:.1f} MiB a call"
        limit = f"≤ {FLOOD_LIMIT:.0f} MiB"
        part.add(f"Browser that does not read: {target.name}", told, "", limit, peak <= FLOOD_LIMIT)
    return part


def _idle(built: Stage, target: Target, warm: int, many: int) -> float:
    """Bytes by conversation."""
    built.call(target, warm)
    before = _settled(target)
    built.call(target, many)
    return (_settled(target) - before) / many


def _flooded(built: Stage, target: Target, seconds: float) -> float:
    """Bytes by call at the highest point."""
    built.call(target, FLOODED)
    before = highest = _settled(target)
    with ThreadPoolExecutor(1) as other:
        flooding = other.submit(built.load.does, "flood", target=target.name, seconds=seconds)
        while not flooding.done():
            highest = max(highest, _memory(target))
            time.sleep(LOOK_EVERY)
        flooding.result()
    built.leave(target)
    return (highest - before) / FLOODED


def _settled(target: Target) -> int:
    time.sleep(SETTLE)
    return _memory(target)


def _memory(target: Target) -> int:
    return target.process.memory() if target.process else 0
