"""`python -m bench`: measures, prints each table as it is done, and writes docs/performance.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from bench import admin, arguments, crowd, journal, memory, parser, relay, stalls, turns
from bench.processes import ROOT, BenchFailure
from bench.report import FULL, QUICK, Effort, Part, document, printed
from bench.servers import Stage, stage

ALONE: Mapping[str, Callable[[Effort], Part]] = {
    "parser": parser.measure,
    "arguments": arguments.measure,
    "admin": admin.measure,
}
STAGED: Mapping[str, Callable[[Effort, Stage], Part]] = {
    "relay": relay.measure,
    "crowd": crowd.measure,
    "memory": memory.measure,
    "stalls": stalls.measure,
    "turns": turns.measure,
    "journal": journal.measure,
}
PARTS = (*STAGED, *ALONE)


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
        "--postgres",
        default="",
        help="URL of a PostgreSQL server, to measure the journal and the admin there, too",
    )
    options.add_argument(
        "--litellm", default="", help="LiteLLM's program, installed elsewhere, to compare with"
    )
    return options.parse_args(given)


def measured(names: Sequence[str], effort: Effort) -> Iterator[Part]:
    """The parts, each as soon as it is done; raises BenchFailure."""
    with ExitStack() as stack:
        built = stack.enter_context(stage()) if set(names) & set(STAGED) else None
        for name in names:
            began = time.monotonic()
            part = ALONE[name](effort) if built is None or name in ALONE else STAGED[name](effort, built)
            print(printed(part), f"\n({time.monotonic() - began:.0f} s)", flush=True)
            yield part


def main() -> int:
    """Exit code 1 when something could not be measured."""
    asked = parsed_arguments()
    effort = replace(QUICK if asked.quick else FULL, postgres=asked.postgres, litellm=asked.litellm)
    try:
        done = list(measured(asked.parts or PARTS, effort))
    except BenchFailure as failure:
        print(failure, file=sys.stderr)
        return 1
    if not asked.quick and not asked.parts:
        (ROOT / "docs" / "performance.md").write_text(document(done, "make bench"))
        print("\nWritten to docs/performance.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
