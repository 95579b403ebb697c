"""`manage.py doctor`: what is configured, whether each service is reached, and one turn with every hop."""

from __future__ import annotations

import asyncio
import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from channels.db import database_sync_to_async
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from conversations.doctor import services
from conversations.doctor.configured import configured, written_in
from conversations.doctor.findings import Finding, as_dict, is_well
from conversations.doctor.inside import served
from conversations.doctor.own import OWN
from conversations.doctor.turn import Place, take_turn
from vocero import env

DEMOS_ADMINISTRATOR = "+34600000001"
QUESTION = "Give me my briefing."


class Command(BaseCommand):
    help = "Says what is configured and reaches each service once; --turn takes one typed turn with a tool."
    # It says itself what they find.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--turn", action="store_true", help="take one turn, and say how long each hop took"
        )
        parser.add_argument("--phone", default="", help="the caller of that turn, such as +34600000001")
        parser.add_argument("--question", default=QUESTION, help=f"what is typed ({QUESTION})")
        parser.add_argument("--url", default="", help="a running server, such as https://vocero.example.org")
        parser.add_argument("--search", action="store_true", help="ask the web search too, which is paid for")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        found = asyncio.run(_turn(options) if options["turn"] else _visit(options["search"]))
        if options["json"]:
            self.stdout.write(json.dumps({"well": is_well(found), "findings": as_dict(found)}))
        else:
            for finding in found:
                self.stdout.write(finding.line())
        if not is_well(found):
            failed = ", ".join(one.name for one in found if one.status == "failed")
            raise CommandError(f"Not well: {failed}.")


async def _visit(charged: bool) -> Sequence[Finding]:
    environment = env.environment(settings.BASE_DIR)
    written = written_in(settings.BASE_DIR / (environment.get("ENV_FILE") or ".env"))
    own = [await database_sync_to_async(look)() for look in OWN]
    outside = await asyncio.gather(
        services.speech(),
        services.login(),
        services.portal(),
        services.bridge(),
        services.model(),
        services.search(charged),
        services.collector(),
        services.clock(),
    )
    return [*configured(environment, written), *own, *outside]


async def _turn(options: dict[str, Any]) -> Sequence[Finding]:
    phone = options["phone"] or (DEMOS_ADMINISTRATOR if settings.VOCERO.demo else "")
    if not phone:
        raise CommandError("Say whose turn it is: --phone +34600000001. It is a real login of that caller.")
    if options["url"]:
        return await take_turn(_place(options["url"]), phone, options["question"])
    async with served() as place:
        return await take_turn(place, phone, options["question"])


def _place(url: str) -> Place:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CommandError("--url is an address such as https://vocero.example.org")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return Place(f"{parts.hostname}:{port}", f"{parts.scheme}://{parts.netloc}")
