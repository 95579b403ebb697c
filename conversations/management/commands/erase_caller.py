"""`manage.py erase_caller`: erases what is known of one caller, for a privacy request."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from conversations import callers, erasure
from conversations.identity import phones
from conversations.models import Conversation

LEFT = (
    "Not reached from here: backups of the database, which keep it until they are overwritten; the logs, "
    "which hold ids of conversations but no names and no words; and what other services keep."
)


class Command(BaseCommand):
    help = "Erases transcripts, arguments, results, names, tokens and catalogs of one caller."

    def add_arguments(self, parser: ArgumentParser) -> None:
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument("--backend-user", metavar="ID", help="the caller's id at the backend")
        who.add_argument(
            "--conversation", metavar="ID", help="one conversation alone, as of an anonymous caller"
        )
        who.add_argument("--name", help="lists the callers with this in their name, and erases nothing")
        who.add_argument(
            "--phone", help="erases this phone's unused links, and lists who may have used others"
        )
        parser.add_argument(
            "--rows", action="store_true", help="also the anonymous record of turns and calls"
        )
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["name"] is not None:
            self._tell_callers(callers.named(options["name"]), options)
            raise CommandError(
                "Names are not unique. Say --backend-user with the id of the one who is meant."
            )
        if options["phone"] is not None:
            self._phone(options)
            return
        chosen = _chosen(options)
        counts = erasure.counted(chosen)
        waiting = 0
        if not options["dry_run"]:
            erasure.ask(chosen, timezone.now(), rows=options["rows"])
            waiting = erasure.complete(timezone.now())
        self._tell(counts, waiting, options)

    def _phone(self, options: Mapping[str, Any]) -> None:
        try:
            number = phones.normalised(options["phone"])
        except ValueError as error:
            raise CommandError(f"{error}".capitalize()) from error
        found, dry_run = callers.of_phone(number), options["dry_run"]
        if not dry_run:
            erasure.forget_links(found.unused)
        nameless = [str(each) for each in found.nameless]
        if options["json"]:
            body = {"phone_links": len(found.unused), "other_links": found.others, "conversations": nameless}
            self.stdout.write(json.dumps({**body, "callers": [each.as_json() for each in found.callers]}))
            return
        self.stdout.write(f"unused phone links: {'would erase' if dry_run else 'erased'} {len(found.unused)}")
        self.stdout.write(f"other links with the same last four digits: {found.others}; those who used them:")
        self._tell_callers(list(found.callers), options)
        for each in nameless:
            self.stdout.write(f"conversation {each}, of a caller without an id")
        self.stdout.write(
            "Four digits prove nobody: make sure who is meant, then say --backend-user or --conversation."
        )

    def _tell_callers(self, found: list[callers.Known], options: Mapping[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps({"callers": [each.as_json() for each in found]}))
            return
        for each in found:
            last = f"{each.last_seen_at:%Y-%m-%d}"
            self.stdout.write(
                f"{each.backend_user_id}  {each.name}  {each.conversations} conversations, last {last}"
            )
        if not found:
            self.stdout.write("no caller found")

    def _tell(self, counts: Mapping[str, int], waiting: int, options: Mapping[str, Any]) -> None:
        if options["json"]:
            body = {"dry_run": options["dry_run"], "rows": counts, "waiting": waiting}
            self.stdout.write(json.dumps(body))
            return
        verb = "would erase" if options["dry_run"] else "erased"
        for name, count in counts.items():
            self.stdout.write(f"{name.replace('_', ' ')}: {verb} {count}")
        if waiting:
            self.stdout.write(
                f"{waiting} conversations are still ending or in use; running processes finish them within a "
                "minute, and so does this command when it is run again."
            )
        self.stdout.write(LEFT)


def _chosen(options: Mapping[str, Any]) -> list[UUID]:
    """The conversations that are meant; raises CommandError where there are none."""
    if options["backend_user"] is not None:
        found = erasure.of_caller(options["backend_user"])
    else:
        try:
            found = list(Conversation.objects.filter(pk=options["conversation"]).values_list("pk", flat=True))
        except ValidationError as error:
            raise CommandError(
                "--conversation is the id of a conversation, 32 digits and letters."
            ) from error
    # What was asked for before may not be finished: it is gone on with all the same.
    if not found and not erasure.unfinished().exists():
        raise CommandError("No conversation of that caller is known here.")
    return found
