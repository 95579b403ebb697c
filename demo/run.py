"""`make demo`: starts the stand-ins and Vocero, prints where to talk, ends all of them."""

import argparse
import errno
import json
import os
import secrets
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from demo.children import Child, DemoFailure, Program, Stopped, end, start, wait_ready, watch

ROOT = Path(__file__).resolve().parent.parent
OPERATOR = "operator"
BRAIN = "demo.brains.NotebookBrain"
SAY = ("What is the oxygen level in cage four?", "Give me my briefing.", "List the latest reports.")
LABELS = {
    "list_reports": "Looking through the reports",
    "get_report": "Reading a report",
    "list_insights": "Looking for insights",
    "get_metric_history": "Reading the measurements",
    "list_podcasts": "Looking through the podcasts",
    "get_podcast": "Opening a podcast",
    "read_podcast_transcript": "Reading a transcript",
    "get_my_briefing": "Preparing your briefing",
    "list_centers": "Looking up the centers",
    "get_sea_forecast": "Asking for the sea forecast",
}
PORTALS = {
    "mcp": ("demo.aquaportal", "The demo AquaPortal"),
    "apipilot": ("demo.apipilot", "The demo ApiPilot bridge"),
}
LIMITS = {
    "portal": 60.0,
    "search": 60.0,
    "model": 60.0,
    "speech": 90.0,
    "server": 180.0,
}  # seconds; a first start on a slow machine


@dataclass(frozen=True, slots=True)
class Ports:
    """The loopback ports of the programs."""

    server: int
    portal: int
    speech: int
    search: int
    model: int


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the demo keeps between two starts, and whether the operator's password was made just now.

    `service_key` is a file: with what is in it the speech service asks Vocero to think for it.
    """

    secret_key: str
    password: str
    new_password: bool
    service_key: Path


def parsed_arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="demo.run", description="Runs the demo until Ctrl-C.")
    parser.add_argument("--port", default="8000", help="port of the page (8000)")
    parser.add_argument("--speech", choices=("full", "light"), default="full", help="light: no audio models")
    parser.add_argument("--mode", choices=("mcp", "apipilot"), default="mcp", help="where the tools live")
    parser.add_argument("--var", type=Path, default=ROOT / "var", help="folder of database, secrets and logs")
    return parser.parse_args()


def usable_port(text: str) -> int:
    """The port, which nothing listens on yet; raises DemoFailure."""
    port = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < port < 65_536:
        raise DemoFailure("PORT must be a number from 1 to 65535.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            why = "is in use" if taken else f"cannot be used ({error.strerror})"
            raise DemoFailure(f"Port {port} {why}. Choose another one: make demo PORT=8001") from error
    return port


def make_usable(folder: Path) -> None:
    """Make the folder of secrets and logs, in which files can be made; raises DemoFailure."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = f"{folder} cannot be written ({error.strerror})"
        raise DemoFailure(f"{why}. The demo keeps its secrets and logs there.") from error


def free_ports(count: int) -> list[int]:
    """Different loopback ports that were free a moment ago."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def kept_secret(file: Path) -> tuple[str, bool]:
    """The secret in the file and whether it was made just now; only its owner can read the file."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as output:
            value = secrets.token_urlsafe(48 if file.name == "secret-key" else 12)
            output.write(value)
            return value, True
    except FileExistsError:
        if kept := file.read_text().strip():
            return kept, False
    file.unlink()  # An earlier start was broken off before it could write.
    return kept_secret(file)


def kept_secrets(folder: Path) -> Secrets:
    """The demo's SECRET_KEY and the operator's password, made at the first start; raises DemoFailure."""
    make_usable(folder)
    secret_key, _ = kept_secret(folder / "secret-key")
    password, new = kept_secret(folder / "operator-password")
    kept_secret(folder / "service-key")
    return Secrets(secret_key, password, new, folder / "service-key")


def server_environment(
    base: Mapping[str, str], ports: Ports, kept: Secrets, var: Path, light: bool, mode: str = "mcp"
) -> dict[str, str]:
    """The settings of the demo's server over the given environment; a `.env` of the project is not read."""
    portal = f"http://127.0.0.1:{ports.portal}"
    bridged = mode == "apipilot"
    return {
        **base,
        "DJANGO_SETTINGS_MODULE": "vocero.settings",
        "ENV_FILE": "",
        "SECRET_KEY": kept.secret_key,
        "DEBUG": "false",
        "ALLOWED_HOSTS": "127.0.0.1,localhost",
        "CSRF_TRUSTED_ORIGINS": "",
        "DATABASE_URL": f"sqlite:///{var.resolve() / 'demo.sqlite3'}",
        "REDIS_URL": "",
        "S2S_PUBLIC_URL": f"http://127.0.0.1:{ports.server}",
        "S2S_SPEECH_URL": f"ws://127.0.0.1:{ports.speech}/v1/realtime",
        "S2S_BACKEND_LOGIN_URL": f"{portal}/login",
        "S2S_MCP_URL": "" if bridged else f"{portal}/mcp",
        "S2S_APIPILOT_TOOLS_URL": f"{portal}/tools" if bridged else "",
        "S2S_APIPILOT_TOOLS_EXECUTE_URL": f"{portal}/tools/execute" if bridged else "",
        "S2S_PROFILE_URL": f"{portal}/profile" if bridged else "",
        "S2S_SERPER_API_KEY": "any-key-will-do-for-the-stand-in",
        "S2S_SERPER_URL": f"http://127.0.0.1:{ports.search}/search",
        "S2S_BRAIN": base.get("S2S_BRAIN") or BRAIN,
        "S2S_LLM_BASE_URL": f"http://127.0.0.1:{ports.model}/v1",
        "S2S_LLM_API_KEY": "any-key-will-do-for-the-stand-in",
        "S2S_LLM_MODEL": "demo-planner",
        "S2S_SERVICE_KEYS_FILE": str(kept.service_key.resolve()),
        "S2S_UNSAFE_PHONE_SELECTOR": "true",
        "S2S_DEMO": "true",
        "S2S_TOOL_LABELS": json.dumps({"en": LABELS}),
        "S2S_DEMO_BADGE": "Demo without speech models: type" if light else "Local speech",
    }


def brain_thinks(environment: Mapping[str, str]) -> bool:
    """Whether the brain of `S2S_BRAIN` thinks for calls, in place of the speech service."""
    return environment.get("S2S_BRAIN_AS_LLM", "").strip().lower() in ("true", "1", "yes", "on")


def portal_program(ports: Ports, mode: str = "mcp") -> Program:
    """The stand-in for AquaPortal, or for the ApiPilot bridge, and the phone login."""
    module, name = PORTALS[mode]
    command = (sys.executable, "-m", module, "--port", str(ports.portal))
    return Program(name, command, ports.portal)


def search_program(ports: Ports) -> Program:
    """The stand-in for the provider of web search."""
    command = (sys.executable, "-m", "demo.search", "--port", str(ports.search))
    return Program("The demo web search", command, ports.search)


def model_program(ports: Ports) -> Program:
    """The stand-in for a language model."""
    command = (sys.executable, "-m", "demo.model", "--port", str(ports.model))
    return Program("The demo language model", command, ports.model)


def speech_program(ports: Ports, light: bool, thinks: Path | None = None) -> Program:
    """The stand-in for the speech service, with or without its audio models.

    With `thinks`, a file with a key, Vocero thinks for it.
    """
    command = [sys.executable, "-m", "demo.speech", "--port", str(ports.speech)]
    if light:
        command.append("--light")
    if thinks is not None:
        command += ["--llm-url", f"http://127.0.0.1:{ports.server}/v1", "--llm-key-file", str(thinks)]
    return Program("The demo speech service", command, ports.speech)


def server_program(ports: Ports, kept: Secrets, var: Path) -> Program:
    """Vocero itself, which prepares its database, operator and static files first."""
    command = [sys.executable, "-m", "demo.server", "--port", str(ports.server), "--var", str(var)]
    if kept.new_password:
        command.append("--new-password")
    return Program("Vocero", command, ports.server, "/readyz")


def speech_ready(child: Child, fallback: Program | None, children: list[Child], stop: Event) -> str:
    """The mode the speech service runs in; one that cannot load its models gives way to the fallback."""
    try:
        body = wait_ready(child, stop, LIMITS["speech"])
    except DemoFailure as failure:
        if fallback is None:
            raise
        print(f"{failure}\nGoing on with the light fallback, without audio models.", file=sys.stderr)
        end([child])
        children.remove(child)
        other = start(fallback, os.environ, child.log)
        children.append(other)
        body = wait_ready(other, stop, LIMITS["speech"])
    return declared_mode(body)


def declared_mode(body: bytes) -> str:
    """What the speech service says it is; empty when it does not say."""
    try:
        said = json.loads(body)
    except ValueError:
        return ""
    return str(said.get("mode", "")) if isinstance(said, dict) else ""


def banner(ports: Ports, kept: Secrets, mode: str, logs: Path) -> str:
    """What the person needs: one address, one admin address with its login, three things to say."""
    address = f"http://127.0.0.1:{ports.server}/"
    light = (
        "\n  Voice   light fallback, without speech models: type your questions" if mode == "light" else ""
    )
    return (
        f"\nVocero is ready.\n\n"
        f"  Talk    {address}\n"
        f"  Admin   {address}admin/   {OPERATOR} / {kept.password}{light}\n\n"
        f"Say or type, for example:\n\n"
        + "".join(f"  {sentence}\n" for sentence in SAY)
        + f"\nThe services behind it are stand-ins with made-up data; logs are in {logs}.\n"
        "Ctrl-C ends all of it."
    )


def short_path(path: Path) -> Path:
    """The path as seen from here, where that is shorter."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def run(asked: argparse.Namespace, stop: Event, children: list[Child]) -> None:
    """Start everything, say so, and watch it; `children` holds what was started, whatever happens."""
    ports = Ports(usable_port(asked.port), *free_ports(4))
    logs, light = asked.var / "demo", asked.speech == "light"
    kept = kept_secrets(logs)
    environment = server_environment(os.environ, ports, kept, asked.var, light, asked.mode)
    thinks = kept.service_key if brain_thinks(environment) else None
    services = {
        asked.mode: portal_program(ports, asked.mode),
        "search": search_program(ports),
        "model": model_program(ports),
        "speech": speech_program(ports, light, thinks),
    }
    started: dict[str, Child] = {}
    for name, program in services.items():
        started[name] = start(program, os.environ, logs / f"{name}.log")
        children.append(started[name])
    server = start(server_program(ports, kept, asked.var), environment, logs / "server.log")
    children.append(server)
    for name, limit in ((asked.mode, "portal"), ("search", "search"), ("model", "model")):
        wait_ready(started[name], stop, LIMITS[limit])
    fallback = None if light else speech_program(ports, True, thinks)
    mode = speech_ready(started["speech"], fallback, children, stop)
    wait_ready(server, stop, LIMITS["server"])
    print(banner(ports, kept, mode, short_path(logs)), flush=True)
    watch(children, stop)


def main() -> int:
    """Exit code 0 when the person ended the demo, 1 when it could not start or a part of it died."""
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup is respected
            signal.signal(number, lambda *_: stop.set())
    children: list[Child] = []
    try:
        run(parsed_arguments(), stop, children)
    except Stopped:
        pass
    except DemoFailure as failure:
        print(failure, file=sys.stderr)
        return 1
    finally:
        end(children)
    return 0


if __name__ == "__main__":
    sys.exit(main())
