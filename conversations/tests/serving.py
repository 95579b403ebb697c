"""Vocero behind a real port: uvicorn in a thread of this process, uvicorn or Daphne in one of their own."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from channels.db import database_sync_to_async
from django.db import connections

from vocero.asgi import application

ROOT = Path(__file__).resolve().parents[2]
STARTED = ("Uvicorn running on", "Listening on TCP address")
START_SECONDS = 60.0
APPLICATION = "vocero.asgi:application"


@dataclass(frozen=True)
class Address:
    """Where a Vocero answers."""

    port: int

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def socket(self):
        return f"ws://127.0.0.1:{self.port}/v1/realtime"


class InThread(uvicorn.Server):
    """uvicorn as documented, with its event loop open to tests."""

    def __init__(self):
        config = uvicorn.Config(
            application,
            host="127.0.0.1",
            port=0,
            loop="asyncio",
            ws="websockets-sansio",
            ws_per_message_deflate=False,
            ws_max_size=2 * 1024 * 1024,
            timeout_graceful_shutdown=3,
            lifespan="off",
            proxy_headers=False,
            log_config=None,
        )
        super().__init__(config)
        self.accepting = threading.Event()
        self.event_loop = None

    async def startup(self, sockets=None):
        await super().startup(sockets)
        self.event_loop = asyncio.get_running_loop()
        self.accepting.set()

    @property
    def address(self):
        return Address(self.servers[0].sockets[0].getsockname()[1])

    def ask(self, question):
        """The answer of a function that runs in the server's own loop."""

        async def answer():
            return question()

        return asyncio.run_coroutine_threadsafe(answer(), self.event_loop).result(10)


@contextlib.asynccontextmanager
async def in_thread():
    """A server in this process, which sees the settings and the database of the test."""
    server = InThread()
    thread = threading.Thread(target=server.run, name="vocero")
    thread.start()
    try:
        assert await asyncio.to_thread(server.accepting.wait, START_SECONDS)
        yield server
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join)
        # The thread that asked the database for the server lives on; its connection must not.
        await database_sync_to_async(connections.close_all)()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(**settings):
    """The environment of a server of its own, on the database of the tests unless it names another."""
    own = {"DATABASE_URL": database_url(), "LOG_LEVEL": "INFO", "PYTHONUNBUFFERED": "1"}
    limits = dict.fromkeys(("S2S_RATE_BOOTSTRAP", "S2S_RATE_SECRETS", "S2S_RATE_SOCKETS"), "1000000")
    selector = {"S2S_UNSAFE_PHONE_SELECTOR": "true"}
    return {
        **os.environ,
        **own,
        **limits,
        **selector,
        **{name: str(value) for name, value in settings.items()},
    }


def database_url():
    """Where the tests' database is."""
    kept = connections["default"].settings_dict
    if connections["default"].vendor == "sqlite":
        return f"sqlite:///{kept['NAME']}"
    return f"postgres://{kept['USER']}:{kept['PASSWORD']}@{kept['HOST']}:{kept['PORT']}/{kept['NAME']}"


def uvicorn_command(port, app=APPLICATION):
    """As the documentation starts it."""
    options = ["--ws", "websockets-sansio", "--loop", "uvloop", "--ws-per-message-deflate", "false"]
    options += ["--timeout-graceful-shutdown", "15", "--ws-max-size", "2097152"]
    return [sys.executable, "-m", "uvicorn", app, "--host", "127.0.0.1", "--port", str(port), *options]


def daphne_command(port, app=APPLICATION):
    return [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(port), app]


class Process:
    """A server in a process of its own; `log` is what it has written so far."""

    def __init__(self, command, settings):
        self.log = []
        self._ready = threading.Event()
        self._process = subprocess.Popen(
            command, env=settings, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = Address(int(command[command.index("--port" if "--port" in command else "-p") + 1]))

    @property
    def pid(self):
        return self._process.pid

    def wait_until_ready(self):
        assert self._ready.wait(START_SECONDS), "".join(self.log)[-4000:]
        assert self._process.poll() is None, "".join(self.log)[-4000:]

    def kill(self):
        """Ends it like a power cut."""
        self._end(signal.SIGKILL)

    def stop(self):
        self._end(signal.SIGTERM)

    def _end(self, number):
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(30)
        self._reader.join(10)
        self._process.stdout.close()

    def _read(self):
        for line in self._process.stdout:
            self.log.append(line)
            if any(words in line for words in STARTED):
                self._ready.set()
        self._ready.set()


@contextlib.contextmanager
def process(command, settings):
    """A server in a process of its own, accepting connections."""
    server = Process(command, settings)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.stop()
