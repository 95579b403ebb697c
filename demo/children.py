"""The processes of the demo: started in groups of their own, watched until ready, ended together."""

import http.client
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

SHOWN_LINES = 15
POLL_SECONDS = 0.1


class DemoFailure(Exception):
    """The demo cannot go on; the text is for the person at the terminal."""


class Stopped(Exception):
    """The person ended the demo."""


@dataclass(frozen=True, slots=True)
class Child:
    """One process; `path` on its loopback port answers 200 when it is ready."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    port: int
    path: str = "/"


@dataclass(frozen=True, slots=True)
class Program:
    """What to start: a name for people, a command line, the port and path of its readiness."""

    name: str
    command: Sequence[str]
    port: int
    path: str = "/"


def start(program: Program, environment: Mapping[str, str], log: Path) -> Child:
    """Start the program in a process group of its own, so that Ctrl-C reaches it only through `end`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            program.command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Child(program.name, process, log, program.port, program.path)


def wait_ready(child: Child, stop: Event, limit: float) -> bytes:
    """The body of the first 200; raises DemoFailure when the child ends or `limit` seconds pass."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        check_alive(child)
        status, body = answer(child.port, child.path)
        if status == http.client.OK:
            return body
        if stop.wait(POLL_SECONDS):
            raise Stopped
    raise DemoFailure(f"{child.name} was not ready after {limit:g} seconds. {last_lines(child.log)}")


def watch(children: Sequence[Child], stop: Event) -> None:
    """Return when the person ends the demo; raises DemoFailure when a child ends before that."""
    while not stop.wait(POLL_SECONDS * 5):
        for child in children:
            check_alive(child)


def check_alive(child: Child) -> None:
    """Raises DemoFailure, with the child's last lines, when it has ended."""
    code = child.process.poll()
    if code is not None:
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        raise DemoFailure(f"{child.name} ended ({how}). {last_lines(child.log)}")


def last_lines(log: Path) -> str:
    """The end of a child's output, indented, with the file that holds all of it."""
    lines = log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]
    return "\n".join([f"The end of {log}:", *(f"    {line}" for line in lines or ["(it is empty)"])])


def answer(port: int, path: str) -> tuple[int, bytes]:
    """Status and body of a GET on loopback; status 0 when nothing answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def end(children: Sequence[Child], limit: float = 5.0) -> None:
    """Ask every group to end, newest first; kill what is still there after `limit` seconds."""
    for child in reversed(children):
        send(child, signal.SIGTERM)
    deadline = time.monotonic() + limit
    for child in children:
        try:
            child.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            send(child, signal.SIGKILL)
            child.process.wait()


def send(child: Child, number: signal.Signals) -> None:
    """Signal the child's whole group, unless it has ended."""
    if child.process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.process.pid, number)
