"""`manage.py erase_tokens`: erases session tokens of one conversation or of one caller."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand

from conversations import tokens
from conversations.models import Conversation


class Command(BaseCommand):
    help = "Erases session tokens; a conversation that is open ends with its own."

    def add_arguments(self, parser: ArgumentParser) -> None:
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--conversation", type=UUID, help="the id of one conversation")
        whose.add_argument("--caller", help="a caller's id at the backend: all their conversations")
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["caller"] is not None:
            rows = tokens.of_caller(options["caller"])
        else:
            rows = Conversation.objects.filter(pk=options["conversation"])
        done = tokens.concerned(rows) if options["dry_run"] else tokens.erase(rows)
        would = "would be " if options["dry_run"] else ""
        self.stdout.write(f"session tokens {would}erased: {done.tokens}")
        self.stdout.write(f"open conversations {would}ended: {done.ended}")
