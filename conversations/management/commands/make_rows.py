"""`manage.py make_rows`: fills an empty database with made-up calls."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from conversations import bulk
from conversations.madeup import Amounts, Maker
from conversations.models import BackendToken, Conversation, ToolCall, Turn, UpstreamSession
from tools.models import CatalogSnapshot

TABLES = (Conversation, BackendToken, UpstreamSession, Turn, ToolCall, CatalogSnapshot)


class Command(BaseCommand):
    help = "Fills an empty database with made-up calls, to see how the admin and the cleanup do at that size."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--conversations", type=int, default=1_000)
        parser.add_argument("--turns", type=int, default=0, help="six for each conversation (0)")
        parser.add_argument("--tool-calls", type=int, default=10_000)
        parser.add_argument("--largest", type=int, default=0, help="tool calls in one conversation alone")
        parser.add_argument("--days", type=int, default=365, help="how far back they go (365)")
        parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same rows (1)")
        parser.add_argument("--yes-fill-this-database", action="store_true", help="nothing is done without")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["yes_fill_this_database"]:
            raise CommandError("This fills the database with made-up calls. Say --yes-fill-this-database.")
        if Conversation.objects.exists():
            raise CommandError("There are conversations already: made-up ones belong into an empty database.")
        if min(options[name] for name in ("conversations", "tool_calls", "days")) < 1:
            raise CommandError("--conversations, --tool-calls and --days must be at least 1.")
        amounts = Amounts(
            conversations=options["conversations"],
            turns=options["turns"] or 6 * options["conversations"],
            tool_calls=options["tool_calls"],
            largest=options["largest"],
            days=options["days"],
            seed=options["seed"],
        )
        began = time.monotonic()
        fill(amounts)
        self.stdout.write(f"{amounts.tool_calls:,} tool calls made in {time.monotonic() - began:.0f} s")


def fill(amounts: Amounts) -> None:
    """Makes these rows and lets the database learn of them."""
    for rows in Maker(amounts, timezone.now()).batches():
        for model, values in rows.items():
            bulk.insert(model, values)
    bulk.settle(TABLES)
