"""What is measured, and what stands around it: Vocero on two servers, references, speech service, portal."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from bench.processes import ROOT, BenchFailure, Load, Process, free_ports, place, python

PHONE = "+34600000001"
LITELLM_KEY = "sk-only-for-the-bench-0123456789abcdef0123456789abcdef"
CSRF = "benchbenchbenchbenchbenchbenchbe"
INTERPRETER = ROOT / ".venvs" / "bench" / "bin" / "python"
VOCERO = "vocero.asgi:application"
BYTES_THROUGH = "bench.bytes_through:application"


@dataclass(frozen=True, slots=True)
class Target:
    """Something that is called: its port and process, and whether callers need a conversation there."""

    name: str
    port: int
    process: Process | None
    is_vocero: bool = False
    seat: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/v1/realtime"


@dataclass(slots=True)
class Stage:
    """Everything that runs; what was started under a name is there for whoever asks for it again."""

    folder: Path
    load: Load
    speech: int
    portal: int
    _stack: ExitStack
    processes: list[Process] = field(default_factory=list)
    targets: dict[str, Target] = field(default_factory=dict)

    def run(self, name: str, command: Sequence[str], port: int, settings: Mapping[str, str]) -> Process:
        """Starts a program and waits until it listens."""
        process = Process(name, command, self.folder / f"{name}.log".replace(" ", "-"), settings)
        self._stack.callback(process.stop)
        self.processes.append(process)
        process.wait_for(port)
        return process

    def outside(self, name: str, module: str, *options: str) -> Target:
        """A program of the bench's own environment, in front of the speech service."""
        if name not in self.targets:
            port = free_ports(1)[0]
            command = [str(INTERPRETER), "-m", module, "--port", str(port)]
            command += ["--service", str(self.speech), *options]
            self.targets[name] = Target(name, port, self.run(name, command, port, {}))
        return self.targets[name]

    def vocero(self, name: str, server: str = "uvicorn", app: str = VOCERO, **settings: str) -> Target:
        """Vocero, or an application made of its parts, on a server as the documentation starts it."""
        if name not in self.targets:
            port = free_ports(1)[0]
            command = uvicorn(port, app) if server == "uvicorn" else daphne(port, app)
            process = self.run(name, command, port, {**self.settings(), **settings})
            self.targets[name] = Target(name, port, process, is_vocero=app == VOCERO)
        return self.targets[name]

    def litellm(self, program: str) -> Target:
        """LiteLLM's proxy, installed elsewhere, in front of the speech service."""
        port, config = free_ports(1)[0], self.folder / "litellm.yaml"
        model = {
            "model": "openai/gpt-realtime",
            "api_base": f"http://127.0.0.1:{self.speech}",
            "api_key": "x",
        }
        config.write_text(json.dumps({"model_list": [{"model_name": "bench", "litellm_params": model}]}))
        command = [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
        settings = {"LITELLM_MASTER_KEY": LITELLM_KEY, "LITELLM_LOG": "ERROR", "HOME": str(self.folder)}
        seat = {"query": "model=bench", "Authorization": f"Bearer {LITELLM_KEY}"}
        return Target("LiteLLM", port, self.run("LiteLLM", command, port, settings), seat=seat)

    def settings(self) -> dict[str, str]:
        """Vocero's settings before the stand-ins, on a database of their own."""
        return {
            "ENV_FILE": "",
            "SECRET_KEY": "only-for-the-bench-Zp4vXq8sTn2wLk6yRb0cHd5fGj9m3aUe7i1oBx",
            "DJANGO_SETTINGS_MODULE": "vocero.settings",
            "ALLOWED_HOSTS": "127.0.0.1",
            "DATABASE_URL": f"sqlite:///{self.folder / 'bench.sqlite3'}",
            "S2S_SPEECH_URL": f"ws://127.0.0.1:{self.speech}/v1/realtime",
            "S2S_BACKEND_LOGIN_URL": f"http://127.0.0.1:{self.portal}/login",
            "S2S_MCP_URL": f"http://127.0.0.1:{self.portal}/mcp",
            "S2S_UNSAFE_PHONE_SELECTOR": "true",
            "S2S_MAX_CONVERSATIONS": "100000",
            "S2S_RECONNECT_GRACE": "1",
            **dict.fromkeys(("S2S_RATE_BOOTSTRAP", "S2S_RATE_SECRETS", "S2S_RATE_SOCKETS"), "1000000"),
        }

    def call(self, target: Target, callers: int) -> None:
        """Opens so many sockets at a target, each in a conversation of its own."""
        seats = seats_at(target, callers) if target.is_vocero else [dict(target.seat)] * callers
        self.load.does("open", target=target.name, url=target.url, seats=seats)

    def leave(self, target: Target) -> None:
        """Everybody at a target hangs up."""
        self.load.does("close", target=target.name)

    @property
    def cores(self) -> list[int]:
        """The cores that may be used."""
        return sorted(os.sched_getaffinity(0))

    @contextmanager
    def on_one_core(self) -> Iterator[None]:
        """Everything that runs shares one core for a while, so that nothing waits for another to wake up."""
        cores = self.cores
        self._place(cores[-1:])
        try:
            yield
        finally:
            self._place(cores)

    def _place(self, cores: Iterable[int]) -> None:
        for pid in (self.load.pid, *(process.pid for process in self.processes)):
            place(pid, cores)


@contextmanager
def stage() -> Iterator[Stage]:
    """A speech service, a portal and a prepared database; all of it ends with the block."""
    if not INTERPRETER.exists():
        raise BenchFailure("The bench's own packages are missing: run `make bench`.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vocero-bench-")))
        load = stack.enter_context(Load(INTERPRETER))
        speech, portal = free_ports(2)
        set_up = Stage(folder, load, speech, portal, stack)
        command = [str(INTERPRETER), "-m", "bench.outside.speech", "--port", str(speech)]
        set_up.run("speech service", command, speech, {})
        set_up.run("portal", python("demo.aquaportal", "--port", str(portal), "--json"), portal, {})
        migrate = Process("migrate", python("manage", "migrate"), folder / "migrate.log", set_up.settings())
        stack.callback(migrate.stop)
        migrate.succeed()
        yield set_up


def uvicorn(port: int, app: str) -> list[str]:
    """uvicorn, with the options that docs/operations.md gives it."""
    options = ["--ws", "websockets-sansio", "--loop", "uvloop", "--ws-per-message-deflate", "false"]
    options += ["--timeout-graceful-shutdown", "15", "--ws-max-size", "2097152"]
    return python("uvicorn", app, "--host", "127.0.0.1", "--port", str(port), *options)


def daphne(port: int, app: str) -> list[str]:
    """Daphne, as the demo starts it."""
    return python("daphne", "--bind", "127.0.0.1", "--port", str(port), "--verbosity", "0", app)


def seats_at(target: Target, count: int) -> list[dict[str, str]]:
    """So many conversations of one caller, each with the cookie of a browser of its own."""
    origin = f"http://127.0.0.1:{target.port}"
    seats = []
    headers = {"X-CSRFToken": CSRF, "Origin": origin, "Cookie": f"csrftoken={CSRF}"}
    with httpx2.Client(trust_env=False, timeout=30) as client:
        for _ in range(count):
            answer = client.post(f"{origin}/api/conversations", json={"phone": PHONE}, headers=headers)
            client.cookies.clear()
            if answer.status_code != 201:
                raise BenchFailure(f"{target.name} refused a conversation: {answer.text[:300]}")
            cookie = f"vocero_browser={answer.cookies['vocero_browser']}"
            seats.append({"query": f"conversation={answer.json()['id']}", "Cookie": cookie, "Origin": origin})
    return seats
