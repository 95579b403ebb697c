"""`python -m demo.speech --port N`: loads the models, says in one line that it is ready, and serves."""

import argparse
import asyncio
import logging
import signal
import time
from pathlib import Path

from demo.speech.loading import load
from demo.speech.server import PATH, SERVICE, Door, Service, port_of, until_stopped
from demo.speech.session import Limits
from demo.speech.thinking import Thinker


def main() -> None:
    """Run the service."""
    options = _options()
    logging.basicConfig(format="speech: %(message)s", level=logging.INFO)
    logging.getLogger("websockets").setLevel(logging.WARNING)
    began = time.monotonic()
    engine = load(options.light)
    door = Door(options.host, options.port, options.api_key, options.sessions)
    lead = options.lead_ms if options.lead_ms >= 0 else None
    limits = Limits(options.session_seconds, lead, thinker=_thinker(options))
    try:
        asyncio.run(_serve(Service(engine, door, limits), began))
    finally:
        engine.close()


async def _serve(service: Service, began: float) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    try:
        server = await service.open()
    except OSError as error:
        raise SystemExit(f"speech: {error.strerror or error}") from error
    about = ", ".join(f"{key}: {value}" for key, value in service.about().items() if key != "service")
    address = f"ws://{service.door.host}:{port_of(server)}{PATH}"
    print(f"{SERVICE} ready on {address} ({about}) in {time.monotonic() - began:.1f} s", flush=True)
    await until_stopped(server, stop)


def _thinker(options: argparse.Namespace) -> Thinker | None:
    if not options.llm_url:
        return None
    key = options.llm_key_file.read_text().strip() if options.llm_key_file else "none"
    return Thinker(options.llm_url.rstrip("/"), key)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m demo.speech", description="A local stand-in for a speech service."
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)")
    parser.add_argument(
        "--port", type=int, default=8790, help="the port to listen on, 0 for a free one (8790)"
    )
    parser.add_argument("--light", action="store_true", help="run without the audio models")
    parser.add_argument("--api-key", default="", help="let in only who brings this key as a bearer")
    parser.add_argument("--sessions", type=int, default=16, help="how many sessions at once (16)")
    parser.add_argument("--session-seconds", type=float, default=3600, help="how long one may last (3600)")
    parser.add_argument(
        "--lead-ms", type=int, default=6000, help="how far sound may run ahead, -1 for no limit (6000)"
    )
    parser.add_argument("--llm-url", default="", help="base URL of chat completions that think instead")
    parser.add_argument("--llm-key-file", type=Path, help="a file that holds the key for it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
