"""What a relayed message costs, and how much later it comes, beside the least that any relay can do."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from bench.frames import LOADS, Load
from bench.report import Effort, Part, in_turns, ratio, spread, times
from bench.servers import BYTES_THROUGH, Stage, Target

CALLERS = 8
PINGS = 250
DIRECT, PUMP, AIOHTTP, PARSING, LITELLM = "direct", "TCP pump", "aiohttp", "aiohttp, parsing", "LiteLLM"
UVICORN, DAPHNE, THROUGH = "Vocero on uvicorn", "Vocero on Daphne", "bytes through"

ABOUT = f"""A client sends a piece of audio, the bench's speech service answers it with a piece of speech of
the same size; {CALLERS} calls at once, each asking again when it has its answer. CPU is what the kernel
counts for the relay's process alone. Everything runs on one core. *{AIOHTTP}* relays without looking,
*{PARSING}* also parses each frame; *{THROUGH}* are Vocero's own sockets, outboxes and flow control with
nothing between them. Vocero reads each frame, holds it against its lists, lets it through the gate, counts
what was said and keeps its heartbeat and its journal meanwhile. Sizes: 200 bytes (a piece of the
transcript, which is searched for markers), 1.4 KB (20 ms of audio), 12 KB. Added latency is a frame's, half
of the difference between the round trips, alone on its connection."""

# Of the relay that parses: on uvicorn, on Daphne.
LIMITS = {"event": (1.5, 2.5), "frame": (1.5, 2.5), "delta": (1.0, 2.0)}
OF_LITELLM = {"event": 0.75, "frame": 0.75, "delta": 0.5}
OF_BYTES = 1.25
ADDED = (60.0, 150.0)


class Found:
    """What was measured of each target under each load, one value a round; latencies in microseconds."""

    def __init__(self) -> None:
        self.cpu: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.median: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.p99: dict[tuple[str, str], list[float]] = defaultdict(list)

    def take(self, built: Stage, target: Target, load: Load, effort: Effort) -> None:
        """One round of one target under one load."""
        before = target.process.clock() if target.process else 0.0
        answers = built.load.does(
            "at_once", target=target.name, size=load.size, callers=CALLERS, seconds=effort.seconds
        )["answers"]
        used = target.process.clock() - before if target.process else 0.0
        alone = built.load.does("one_by_one", target=target.name, size=load.size, count=effort.count(PINGS))
        place = target.name, load.name
        self.cpu[place].append(used / max(answers, 1) / 2 * 1e6)
        self.median[place].append(alone["median"])
        self.p99[place].append(alone["p99"])

    def added(self, of: dict[tuple[str, str], list[float]], name: str, load: str) -> list[float]:
        """How much later one frame comes than on a direct connection."""
        return [(via - direct) / 2 for via, direct in zip(of[name, load], of[DIRECT, load], strict=True)]


def measure(effort: Effort, built: Stage) -> Part:
    """CPU per message, added latency, messages a second."""
    part, found = Part("Relayed messages", ABOUT), Found()
    targets = {target.name: target for target in _targets(built, effort)}
    for target in targets.values():
        built.call(target, CALLERS)
    with built.on_one_core():
        for load in LOADS:

            def once(name: str, load: Load = load) -> None:
                found.take(built, targets[name], load, effort)

            in_turns(effort.rounds, list(targets), once)
    for target in targets.values():
        built.leave(target)
    for load in LOADS:
        _tell_cpu(part, found, load, list(targets))
    for load in LOADS:
        _tell_latency(part, found, load, list(targets))
    return part


def _targets(built: Stage, effort: Effort) -> list[Target]:
    targets = [
        Target(DIRECT, built.speech, None),
        built.outside(PUMP, "bench.outside.pump"),
        built.outside(AIOHTTP, "bench.outside.aiohttp_relay"),
        built.outside(PARSING, "bench.outside.aiohttp_relay", "--parse"),
        built.vocero(THROUGH, app=BYTES_THROUGH),
        built.vocero(UVICORN),
        built.vocero(DAPHNE, "daphne"),
    ]
    return [*targets, built.litellm(effort.litellm)] if effort.litellm else targets


def _tell_cpu(part: Part, found: Found, load: Load, names: list[str]) -> None:
    on_uvicorn, on_daphne = LIMITS[load.name]
    limits = {UVICORN: on_uvicorn, DAPHNE: on_daphne}
    for name in names:
        if name == DIRECT:
            continue
        cpu = found.cpu[name, load.name]
        ratios = ratio(cpu, found.cpu[PARSING, load.name])
        limit = limits.get(name)
        target = f"≤ {limit}×" if limit else ""
        met = median(ratios) <= limit if limit else None
        label = f"CPU a message, {load.size:,} bytes: {name}"
        part.add(label, spread(cpu, "µs"), f"{times(ratios)} of {PARSING}", target, met)
    _compare(part, found, load, THROUGH, OF_BYTES)
    if LITELLM in names:
        _compare(part, found, load, LITELLM, OF_LITELLM[load.name])
    ceiling = [1e6 / cpu for cpu in found.cpu[UVICORN, load.name]]
    others = [1e6 / cpu for cpu in found.cpu[AIOHTTP, load.name]]
    label = f"Messages a second and core, {load.size:,} bytes: {UVICORN}"
    part.add(label, spread(ceiling, "", 0), f"{times(ratio(ceiling, others))} of {AIOHTTP}")


def _compare(part: Part, found: Found, load: Load, with_name: str, limit: float) -> None:
    ratios = ratio(found.cpu[UVICORN, load.name], found.cpu[with_name, load.name])
    label = f"CPU a message, {load.size:,} bytes: {UVICORN}"
    told = spread(found.cpu[UVICORN, load.name], "µs")
    part.add(label, told, f"{times(ratios)} of {with_name}", f"≤ {limit}×", median(ratios) <= limit)


def _tell_latency(part: Part, found: Found, load: Load, names: list[str]) -> None:
    for name in names:
        if name == DIRECT:
            continue
        middle, late = found.added(found.median, name, load.name), found.added(found.p99, name, load.name)
        label = f"Added latency a frame, {load.size:,} bytes: {name}"
        target, met = "", None
        if name == UVICORN:
            target = f"≤ {ADDED[0]:.0f} / {ADDED[1]:.0f} µs"
            met = median(middle) <= ADDED[0] and median(late) <= ADDED[1]
        told = f"{spread(middle, 'µs', 0)}; p99 {spread(late, 'µs', 0)}"
        direct = f"direct round trip {median(found.median[DIRECT, load.name]):.0f} µs"
        part.add(label, told, direct, target, met)
