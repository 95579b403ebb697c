"""`python -m demo.model`: runs the stand-in until it is told to stop."""

import argparse
import contextlib
import logging

from demo.aquaportal.portal import Portal
from demo.aquaportal.server import server_of
from demo.model.server import Model, build_app


def parsed_arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="demo.model", description="A demo stand-in for a language model.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (any free one)")
    parser.add_argument("--api-key", default="", help="let in only who brings this key as a bearer")
    return parser.parse_args()


def main() -> None:
    """Run the server; prints one line when it accepts connections."""
    asked = parsed_arguments()
    logging.basicConfig(level=logging.WARNING)
    portal = Portal()

    def announce(url: str) -> None:
        print(f"Language model demo stand-in ready: {url}/v1", flush=True)

    with contextlib.suppress(KeyboardInterrupt):
        server_of(build_app(Model(portal, asked.api_key)), portal, (asked.host, asked.port), announce).run()


if __name__ == "__main__":
    main()
