"""`python -m bench`: measures, prints each table as it is done, and writes docs/performance.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from bench import arguments, crowd, journal, memory, parser, relay, stalls, turns
from bench.processes import ROOT, BenchFailure
from bench.report import FULL, QUICK, Effort, Part, document, printed

PARTS: Mapping[str, Callable[[Effort], Part]] = {
    "relay": relay.measure,
    "crowd": crowd.measure,
    "memory": memory.measure,
    "stalls": stalls.measure,
    "turns": turns.measure,
    "parser": parser.measure,
    "arguments": arguments.measure,
    "journal": journal.measure,
}


def parsed_arguments(given: list[str] | None = None) -> argparse.Namespace:
    """What the command line asks for."""
    options = argparse.ArgumentParser(prog="bench", description="Measures Vocero beside other ways to relay.")
    options.add_argument(
        "parts", nargs="*", choices=[[], *PARTS], help="only these parts; nothing is written then"
    )
    options.add_argument(
        "--quick", action="store_true", help="only that everything works; nothing is written"
    )
    options.add_argument(
        "--postgres", default="", help="URL of a PostgreSQL server, to measure the journal there, too"
    )
    options.add_argument(
        "--litellm", default="", help="LiteLLM's program, installed elsewhere, to compare with"
    )
    return options.parse_args(given)


def main() -> int:
    """Exit code 1 when something could not be measured."""
    asked = parsed_arguments()
    effort = replace(QUICK if asked.quick else FULL, postgres=asked.postgres, litellm=asked.litellm)
    done: list[Part] = []
    for name in asked.parts or PARTS:
        began = time.monotonic()
        try:
            done.append(PARTS[name](effort))
        except BenchFailure as failure:
            print(f"{name}: {failure}", file=sys.stderr)
            return 1
        print(printed(done[-1]), f"\n({time.monotonic() - began:.0f} s)", flush=True)
    if not asked.quick and not asked.parts:
        (ROOT / "docs" / "performance.md").write_text(document(done, "make bench"))
        print("\nWritten to docs/performance.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
