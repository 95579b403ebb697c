"""`python -m demo.aquaportal`: runs the stand-in until it is told to stop."""

import argparse
import contextlib
import logging
from datetime import date

from demo.aquaportal.faults import Faults, Switches
from demo.aquaportal.portal import Portal
from demo.aquaportal.server import build


def parsed_arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="demo.aquaportal", description="A demo stand-in for AquaPortal.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (any free one)")
    parser.add_argument("--json", action="store_true", help="answer MCP with JSON instead of event streams")
    parser.add_argument("--stateless", action="store_true", help="keep no MCP sessions")
    parser.add_argument("--legacy", action="store_true", help="speak only MCP of the handshake era")
    parser.add_argument("--today", type=date.fromisoformat, help="the day of all questions (today's date)")
    parser.add_argument("--expiring-calls", type=int, default=2, help="tool calls before a token expires (2)")
    return parser.parse_args()


def main() -> None:
    """Run the server; prints one line when it accepts connections."""
    asked = parsed_arguments()
    logging.basicConfig(level=logging.WARNING)
    switches = Switches(
        json_answers=asked.json,
        stateless=asked.stateless,
        legacy_only=asked.legacy,
        expiring_calls=asked.expiring_calls,
    )
    portal = Portal(faults=Faults(switches))
    if asked.today is not None:
        portal.today = lambda: asked.today

    def announce(url: str) -> None:
        print(f"AquaPortal demo stand-in ready: login {url}/login, MCP {url}/mcp", flush=True)

    with contextlib.suppress(KeyboardInterrupt):
        build(portal, asked.host, asked.port, announce).run()


if __name__ == "__main__":
    main()
