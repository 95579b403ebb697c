"""`manage.py erase_contents`: erases what was said, arguments and results of longer ago."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from conversations import contents

_LONGEST = 3_650


class Command(BaseCommand):
    help = "Erases what was said, arguments and results of closed conversations; their rows stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--older-than", type=int, required=True, metavar="DAYS")
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["older_than"]
        if not 1 <= days <= _LONGEST:
            raise CommandError(f"--older-than must lie between 1 and {_LONGEST}.")
        do = contents.concerned if options["dry_run"] else contents.erase
        done = do(days, timezone.now())
        would = "would lose" if options["dry_run"] else "lost"
        self.stdout.write(f"turns that {would} their words: {done.turns}")
        self.stdout.write(f"tool calls that {would} arguments and results: {done.calls}")
