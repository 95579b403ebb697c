"""How many live sessions one process carries, and whether each costs the same when there are many."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from bench.report import Effort, Part, in_turns, spread
from bench.servers import Stage, Target

RATE = 50.0
SIZE = 1_400
LATE = 20_000.0  # microseconds
STEPS = (1, 25, 50, 100, 150, 200, 250, 300, 350, 400)
QUICK_STEPS = (1, 2)
ROUNDS = 3
SECONDS = 1.5
GROWTH = 1.2
DIRECT, AIOHTTP, VOCERO = "direct", "aiohttp", "Vocero on uvicorn"

ABOUT = f"""Each session asks {RATE:.0f} times a second with 1.4 KB (20 ms of audio) and is answered as
often. A step is carried while the 99th percentile of the round trip is at most {LATE / 1000:.0f} ms later
than on direct connections, in the median of {ROUNDS} rounds. The load, the speech service and the relay
share the machine's cores, so that the numbers of sessions are floors."""


class Climb:
    """What was measured at each step, one value a round; and who still climbs."""

    def __init__(self) -> None:
        self.p99: dict[tuple[str, int], list[float]] = defaultdict(list)
        self.cpu: dict[tuple[str, int], list[float]] = defaultdict(list)
        self.carried: dict[str, int] = {}
        self.failures: dict[str, int] = defaultdict(int)

    def take(self, built: Stage, target: Target, callers: int, seconds: float) -> None:
        """One round at one step."""
        before = target.process.clock() if target.process else 0.0
        command = {"target": target.name, "size": SIZE, "callers": callers, "rate": RATE, "seconds": seconds}
        told = built.load.does("paced", **command)
        used = target.process.clock() - before if target.process else 0.0
        late = told["p99"] if told["missing"] <= told["answers"] // 100 else float("inf")
        self.p99[target.name, callers].append(late)
        self.cpu[target.name, callers].append(used / max(told["answers"], 1) / 2 * 1e6)

    def judge(self, name: str, callers: int) -> None:
        """Whether a target carries so many."""
        added = median(self.p99[name, callers]) - median(self.p99[DIRECT, callers])
        if added <= LATE:
            self.carried[name], self.failures[name] = callers, 0
        else:
            self.failures[name] += 1


def measure(effort: Effort, built: Stage) -> Part:
    """Live sessions until they come too late, and CPU per message as they grow."""
    part, climb = Part("Live sessions", ABOUT), Climb()
    steps, rounds = (QUICK_STEPS, 1) if effort.quick else (STEPS, ROUNDS)
    aiohttp = built.outside(AIOHTTP, "bench.outside.aiohttp_relay")
    targets = {one.name: one for one in (Target(DIRECT, built.speech, None), aiohttp, built.vocero(VOCERO))}
    seated = 0
    for callers in steps:
        climbing = [name for name in targets if name == DIRECT or climb.failures[name] < 2]
        if climbing == [DIRECT]:
            break
        for name in climbing:
            built.call(targets[name], callers - seated)
        seated = callers

        def once(name: str, callers: int = callers) -> None:
            climb.take(built, targets[name], callers, effort.seconds if effort.quick else SECONDS)

        in_turns(rounds, climbing, once)
        for name in climbing:
            climb.judge(name, callers)
    for target in targets.values():
        built.leave(target)
    _tell(part, climb, steps)
    return part


def _tell(part: Part, climb: Climb, steps: tuple[int, ...]) -> None:
    carried = {name: climb.carried.get(name, 0) for name in (VOCERO, AIOHTTP)}
    share = carried[VOCERO] / max(carried[AIOHTTP], 1)
    part.add(
        f"Sessions at {RATE:.0f} frames a second each way, p99 within {LATE / 1000:.0f} ms: {VOCERO}",
        f"{carried[VOCERO]}{_more(carried[VOCERO], steps)}",
        f"{share:.2f}× of {AIOHTTP}, which carries {carried[AIOHTTP]}{_more(carried[AIOHTTP], steps)}",
        f"≥ {AIOHTTP}'s",
        share >= 1,
    )
    few, many = steps[0], max((step for step in steps if step <= min(200, carried[VOCERO])), default=steps[0])
    alone, crowded = climb.cpu[VOCERO, few], climb.cpu[VOCERO, many]
    growth = median(crowded) / median(alone)
    told = f"{spread(crowded, 'µs')} with {many}, {spread(alone, 'µs')} with {few}"
    part.add("CPU a message as sessions grow", told, f"{growth:.2f}×", f"≤ {GROWTH}×", growth <= GROWTH)
    for step in steps:
        if (VOCERO, step) in climb.p99 and (AIOHTTP, step) in climb.p99:
            mine, theirs, direct = (median(climb.p99[name, step]) / 1e3 for name in (VOCERO, AIOHTTP, DIRECT))
            part.add(
                f"p99 of the round trip with {step} sessions: {VOCERO}",
                f"{mine:.1f} ms",
                f"{AIOHTTP} {theirs:.1f} ms, direct {direct:.1f} ms",
            )


def _more(carried: int, steps: tuple[int, ...]) -> str:
    return " (the most that was tried)" if carried == steps[-1] else ""
