"""`python -m demo.apipilot`: runs the stand-in until it is told to stop."""

import argparse
import contextlib
import logging

from demo.apipilot.bridge import Bridge, build_app
from demo.aquaportal.server import server_of


def parsed_arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="demo.apipilot", description="A demo stand-in for ApiPilot.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (any free one)")
    parser.add_argument("--service-token", default="", help="a credential that is a service's (none)")
    return parser.parse_args()


def main() -> None:
    """Run the server; prints one line when it accepts connections."""
    asked = parsed_arguments()
    logging.basicConfig(level=logging.WARNING)
    bridge = Bridge(service_token=asked.service_token)

    def announce(url: str) -> None:
        print(f"ApiPilot demo stand-in ready: login {url}/login, tools {url}/tools", flush=True)

    with contextlib.suppress(KeyboardInterrupt):
        server_of(build_app(bridge), bridge.portal, (asked.host, asked.port), announce).run()


if __name__ == "__main__":
    main()
