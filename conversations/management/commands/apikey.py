"""`manage.py apikey`: makes an integrator's API key, or revokes it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from conversations.identity import keys

_LONGEST_NAME = 100


class Command(BaseCommand):
    help = "Makes an API key and prints it, this one time; or revokes all keys of a name."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what operators call it")
        parser.add_argument("--revoke", action="store_true", help="end every key of that name")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"].strip()
        if not 1 <= len(name) <= _LONGEST_NAME:
            raise CommandError(f"A name has 1 to {_LONGEST_NAME} characters.")
        if not options["revoke"]:
            self.stdout.write(keys.make(name).text)
        elif not keys.revoke(name):
            raise CommandError("No key of that name is in use.")
        else:
            self.stdout.write("revoked")
