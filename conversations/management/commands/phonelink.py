"""`manage.py phonelink`: prints a signed single-use phone link."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from conversations.identity import links

_LONGEST = 30 * 24 * 60


class Command(BaseCommand):
    help = "Prints a signed link that logs one caller in once; without S2S_PUBLIC_URL it has no host."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("phone", help="in international form, like +34600000001")
        parser.add_argument("--minutes", type=int, default=60, help="how long it is good (60)")

    def handle(self, *args: Any, **options: Any) -> None:
        minutes = options["minutes"]
        if not 1 <= minutes <= _LONGEST:
            raise CommandError(f"--minutes must lie between 1 and {_LONGEST}.")
        try:
            issued = links.issue(options["phone"], timedelta(minutes=minutes), made_by="manage.py")
        except ValueError as error:
            raise CommandError(f"{error}".capitalize()) from error
        self.stdout.write(issued.address)
