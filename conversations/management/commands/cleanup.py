"""`manage.py cleanup`: closes what expired, erases credentials, applies retention."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from conversations import retention


class Command(BaseCommand):
    help = "Closes what expired, erases credentials and applies retention, in batches; safe to repeat."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--conversation",
            metavar="ID",
            type=UUID,
            action="append",
            help="end this one and apply retention to it alone; may be repeated",
        )
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        now, dry_run = timezone.now(), options["dry_run"]
        if chosen := options["conversation"]:
            cleaned = retention.clean_chosen(chosen, now, dry_run)
        else:
            cleaned = retention.clean_up(now, dry_run)
        if options["json"]:
            body = {"dry_run": options["dry_run"], "rows": cleaned.rows, "failures": cleaned.failures}
            self.stdout.write(json.dumps(body))
        else:
            verb = "would change" if options["dry_run"] else "changed"
            for name, count in cleaned.rows.items():
                self.stdout.write(f"{name.replace('_', ' ')}: {verb} {count}")
        if cleaned.failures:
            raise CommandError(f"These steps failed, the others are done: {', '.join(cleaned.failures)}")
