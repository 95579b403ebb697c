"""The processes of a measurement: started, placed on a core, read out, ended."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
START_LIMIT = 60.0
STOP_LIMIT = 10.0
PAGE = os.sysconf("SC_PAGE_SIZE")


class BenchFailure(Exception):
    """A measurement could not be made; the text says which and why."""


class Process:
    """One program, with its output in a file; `clock` and `memory` are what the kernel counts of it."""

    def __init__(self, name: str, command: Sequence[str], log: Path, settings: Mapping[str, str]) -> None:
        self.name, self._log = name, log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=dict(settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def clock(self) -> float:
        """Seconds of CPU that the process has used, user and system."""
        # What `clock_getcpuclockid` of C gives for another process.
        return time.clock_gettime((~self.pid << 3) | 2)

    def memory(self) -> int:
        """Bytes of memory that the process holds now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE

    def wait_for(self, port: int) -> None:
        """Returns once it listens; raises BenchFailure when it ends, or after a minute."""
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return
            time.sleep(0.05)
        raise BenchFailure(f"{self.name} did not start:\n{self._last_lines()}")

    def succeed(self, limit: float = START_LIMIT) -> None:
        """Returns once it has ended well; raises BenchFailure when it has not, or not in so many seconds."""
        try:
            ended = self._process.wait(limit)
        except subprocess.TimeoutExpired as error:
            raise BenchFailure(f"{self.name} took longer than {limit:.0f} s") from error
        if ended != 0:
            raise BenchFailure(f"{self.name} failed:\n{self._last_lines()}")

    def _last_lines(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Load:
    """The load generator, which is told what to do in JSON."""

    def __init__(self, interpreter: Path) -> None:
        self._process = subprocess.Popen(
            [str(interpreter), "-m", "bench.outside.load"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def does(self, command: str, **fields: Any) -> dict[str, Any]:
        """What came of a command; raises BenchFailure when the generator is gone."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(BrokenPipeError):
            stdin.write(json.dumps({"do": command, **fields}) + "\n")
            stdin.flush()
        line = stdout.readline()
        if not line:
            raise BenchFailure(f"the load generator failed at {command}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def place(pid: int, cores: Iterable[int]) -> None:
    """Every thread of a process runs on these cores."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), set(cores))


def free_ports(count: int) -> list[int]:
    """Different loopback ports that were free a moment ago."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module in Vocero's own environment."""
    return [sys.executable, "-m", module, *arguments]
