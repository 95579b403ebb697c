"""The load: sockets that ask and count answers. Takes one JSON command a line, and prints one JSON answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from bench import frames

READY_LIMIT = 20.0
DRAIN_LIMIT = 2.0
SPACES = 40
KIND_WITHIN = 64


class Caller(WSListener):
    """One socket. `again` asks anew after each answer; `delays` are round trips in nanoseconds."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.gone = asyncio.Event()
        self.answered = asyncio.Event()
        self.all_answered = asyncio.Event()
        self.again = False
        self.count = 0
        self.delays: list[int] = []
        self._size = 0
        self._ask = b""
        self._asked_at: deque[int] = deque()
        self._transport: WSTransport | None = None

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.gone.set()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type != WSMsgType.TEXT:
            return
        if self._asked_at and self._is_answer(frame):
            self.delays.append(time.monotonic_ns() - self._asked_at.popleft())
            self.count += 1
            if self.again:
                self.ask()
            else:
                self.answered.set()
                if not self._asked_at:
                    self.all_answered.set()
        elif not self.ready.is_set() and b'"session.created"' in frame.get_payload_as_bytes()[:64]:
            self.ready.set()

    def _is_answer(self, frame: WSFrame) -> bool:
        """Whether it is the piece that was asked for; a relay that writes JSON anew may add some spaces."""
        in_size = self._size <= frame.payload_size < self._size + SPACES
        return in_size and b".delta" in bytes(frame.get_payload_as_memoryview()[:KIND_WITHIN])

    def sends(self, size: int) -> None:
        """From now on its pieces have this size."""
        self._size, self._ask = size, frames.asked(size)
        self.delays, self.count = [], 0
        self._asked_at.clear()
        self.answered.clear()

    def ask(self) -> None:
        """Sends a piece."""
        self.all_answered.clear()
        self._asked_at.append(time.monotonic_ns())
        self.send(self._ask)

    def send(self, frame: bytes) -> None:
        """Sends a frame as it is."""
        if self._transport is not None:
            self._transport.send(WSMsgType.TEXT, frame)

    @property
    def unanswered(self) -> int:
        return len(self._asked_at)

    def stop_reading(self) -> None:
        if self._transport is not None:
            self._transport.underlying_transport.pause_reading()

    def leave(self) -> None:
        if self._transport is not None:
            self._transport.disconnect(graceful=False)


class Crowd:
    """The callers by the name of what they call."""

    def __init__(self) -> None:
        self._callers: dict[str, list[Caller]] = {}

    async def open(self, target: str, url: str, seats: Sequence[dict[str, str]]) -> dict[str, Any]:
        """Opens a socket for each seat: its query and its headers."""
        for seat in seats:
            headers = {name: value for name, value in seat.items() if name != "query"}
            address = f"{url}?{seat['query']}" if seat.get("query") else url
            caller = Caller()
            await ws_connect(lambda caller=caller: caller, address, extra_headers=headers)
            async with asyncio.timeout(READY_LIMIT):
                await caller.ready.wait()
            self._callers.setdefault(target, []).append(caller)
        return {"open": len(self._callers.get(target, []))}

    async def close(self, target: str) -> dict[str, Any]:
        """All of them leave."""
        for caller in self._callers.pop(target, []):
            caller.leave()
            await caller.gone.wait()
        return {}

    async def one_by_one(self, target: str, size: int, count: int) -> dict[str, Any]:
        """One caller asks so often, each time after the answer."""
        caller = self._callers[target][0]
        caller.sends(size)
        async with asyncio.timeout(READY_LIMIT):
            for _ in range(count):
                caller.answered.clear()
                caller.ask()
                await caller.answered.wait()
        return delays_of([caller])

    async def at_once(self, target: str, size: int, callers: int, seconds: float) -> dict[str, Any]:
        """So many callers, each of whom asks again as soon as there is an answer."""
        chosen = self._callers[target][:callers]
        for caller in chosen:
            caller.sends(size)
            caller.again = True
            caller.ask()
        await asyncio.sleep(seconds)
        counted = sum(caller.count for caller in chosen)
        for caller in chosen:
            caller.again = False
        await self._drain(chosen)
        return {"answers": sum(caller.count for caller in chosen), "in_time": counted, **delays_of(chosen)}

    async def paced(
        self, target: str, size: int, callers: int, rate: float, seconds: float
    ) -> dict[str, Any]:
        """So many callers, each asking `rate` times a second, whether there are answers or not."""
        loop, chosen = asyncio.get_running_loop(), self._callers[target][:callers]
        for caller in chosen:
            caller.sends(size)
        begin, step = loop.time() + 0.05, 1.0 / rate
        for turn in range(int(seconds * rate)):
            for place, caller in enumerate(chosen):
                due = begin + (turn + place / len(chosen)) * step
                if (wait := due - loop.time()) > 0.001:
                    await asyncio.sleep(wait)
                caller.ask()
        await self._drain(chosen)
        missing = sum(caller.unanswered for caller in chosen)
        return {"answers": sum(caller.count for caller in chosen), "missing": missing, **delays_of(chosen)}

    async def flood(self, target: str, seconds: float) -> dict[str, Any]:
        """The callers stop reading while the service speaks without end; whether they were cut off."""
        chosen = self._callers[target]
        for caller in chosen:
            caller.stop_reading()
            caller.send(frames.flood())
        await asyncio.sleep(seconds)
        return {"callers": len(chosen)}

    async def _drain(self, callers: Sequence[Caller]) -> None:
        """The last answers come in, within a limit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_LIMIT):
                for caller in callers:
                    await caller.all_answered.wait()


def delays_of(callers: Sequence[Caller]) -> dict[str, Any]:
    """Median, 99th percentile and longest round trip, in microseconds."""
    delays = sorted(delay for caller in callers for delay in caller.delays)
    if not delays:
        return {"median": 0.0, "p99": 0.0, "longest": 0.0}
    p99 = delays[min(len(delays) - 1, int(len(delays) * 0.99))]
    return {"median": delays[len(delays) // 2] / 1e3, "p99": p99 / 1e3, "longest": delays[-1] / 1e3}


async def obey() -> None:
    """Does what each line says, until there are no more lines."""
    crowd, lines = Crowd(), asyncio.StreamReader(limit=2**24)
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    commands: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
        "open": crowd.open,
        "close": crowd.close,
        "one_by_one": crowd.one_by_one,
        "at_once": crowd.at_once,
        "paced": crowd.paced,
        "flood": crowd.flood,
    }
    while line := await lines.readline():
        command = json.loads(line)
        answer = await commands[command.pop("do")](**command)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    uvloop.run(obey())
