"""The whole demo for a test: stand-ins in this process, Vocero in its own, a real browser before it."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from demo.apipilot.testing import running_bridge
from demo.aquaportal.testing import RunningPortal, running_portal
from demo.model.testing import KEY as MODEL_KEY
from demo.model.testing import RunningModel, running_model
from demo.run import OPERATOR, Ports, Secrets, brain_thinks, free_ports, server_environment
from demo.search.testing import KEY, RunningSearch, running_search
from demo.speech import testing as speech
from demo.speech.engine import Engine
from demo.speech.thinking import Thinker

ROOT = Path(__file__).resolve().parents[3]
CHROMIUM = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if Path(p).exists()), "")
SERVICE_KEY = "key-of-the-demo-speech-service"
PORTALS = {"mcp": running_portal, "apipilot": running_bridge}
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
)


@dataclass
class Stack:
    """A running demo; `log` is the server's, `frames` what every page of it received on its socket."""

    url: str
    portal: RunningPortal
    web: RunningSearch
    model: RunningModel
    database: Path
    log: Path
    password: str
    operator: str = OPERATOR
    frames: list[str] = field(default_factory=list)

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Rows of the server's database, read as another process would."""
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=20) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values)]

    def calls(self):
        """The audit of tool calls, oldest first."""
        query = """SELECT c.name, c.status, c.code, c.selection, c.ended_at, v.caller_name AS caller
                   FROM conversations_toolcall c JOIN conversations_conversation v ON v.id = c.conversation_id
                   ORDER BY c.started_at"""
        return self.rows(query)


@contextmanager
def running_stack(
    folder: Path, mode: str = "mcp", engine: Engine | None = None, **settings: str
) -> Iterator[Stack]:
    """Everything on free loopback ports, with a database of its own; `settings` override the demo's.

    Without an `engine` the speech service has its models.
    """
    (port,) = free_ports(1)
    thinker = Thinker(f"http://127.0.0.1:{port}/v1", SERVICE_KEY) if brain_thinks(settings) else None
    with (
        PORTALS[mode]() as portal,
        running_search() as web,
        running_model() as model,
        speech.running(engine, thinker=thinker) as ears,
    ):
        password, var = "a-password-for-tests", folder / "var"
        (var / "demo").mkdir(parents=True)
        (var / "demo" / "operator-password").write_text(password)
        (var / "demo" / "service-key").write_text(SERVICE_KEY)
        ports = Ports(port, port_of(portal.url), ears.port, port_of(web.url), port_of(model.url))
        kept = Secrets("tests-only-" + "k" * 50, password, True, var / "demo" / "service-key")
        environment = server_environment(os.environ, ports, kept, var, False, mode)
        environment |= {
            "LOG_LEVEL": "DEBUG",
            "S2S_SERPER_API_KEY": KEY,
            "S2S_LLM_API_KEY": MODEL_KEY,
            **settings,
        }
        log = folder / "server.log"
        with log.open("wb") as output:
            command = [sys.executable, "-m", "demo.server", "--port", str(port), "--var", str(var)]
            command.append("--new-password")
            server = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=output, stderr=output)
        try:
            wait_until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), 180, log)
            place = f"http://127.0.0.1:{port}/"
            yield Stack(place, portal, web, model, var / "demo.sqlite3", log, password)
        finally:
            server.terminate()
            # Calls are ended in order first, which a busy machine takes its time for.
            server.wait(60)


def port_of(url: str) -> int:
    return int(url.rstrip("/").rpartition(":")[2])


@contextmanager
def browser_page(stack: Stack, folder: Path, sound: bytes = b"", **options) -> Iterator[Page]:
    """A page in real Chromium whose microphone plays `sound`, PCM16 at 24 kHz, once."""
    wav = speech.write_wav(folder / "microphone.wav", sound or silence(1.0), after_ms=60_000)
    with sync_playwright() as playwright:
        flags = [*FLAGS, f"--use-file-for-fake-audio-capture={wav}%noloop"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            context = browser.new_context(permissions=["microphone"], **options)
            page = context.new_page()
            page.complaints = []
            page.on("console", lambda message: note(page, message))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on("websocket", lambda socket: socket.on("framereceived", partial(keep, stack)))
            yield page
        finally:
            browser.close()


def keep(stack, frame):
    stack.frames.append(frame)


def note(page, message):
    if message.type in ("error", "warning"):
        page.complaints.append(f"{message.text} {message.location.get('url', '')}")


def silence(seconds: float) -> bytes:
    return b"\0" * (int(seconds * speech.RATE) * 2)


def answers(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
        return answer.status == 200
    return False


def wait_until(true, seconds: float, log: Path | None = None) -> None:
    """Waits for something that another process does; the log's end says why it did not."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            tail = log.read_text()[-3000:] if log else ""
            raise AssertionError(f"nothing after {seconds} s\n{tail}")
        threading.Event().wait(0.05)
