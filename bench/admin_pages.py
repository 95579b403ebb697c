"""Opens the admin's pages over many rows, made up where there are none; prints what each took, as JSON."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command

django.setup()
# Hashed names of files would need a collectstatic first.
settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"

from django.contrib.auth.models import User  # noqa: E402  (the models need the apps first)
from django.db import connection  # noqa: E402
from django.db.models import Count  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.urls import reverse  # noqa: E402

from conversations.madeup import Amounts  # noqa: E402
from conversations.management.commands.make_rows import fill  # noqa: E402
from conversations.models import Conversation, ToolCall  # noqa: E402
from tools.paging import MOST_ROWS  # noqa: E402

NAME = "bench"
PER_PAGE = 25
CONVERSATIONS = {
    "list": "",
    "last page": "?p={last}",
    "sort": "?o=8",
    "state live": "?state=live",
    "state open": "?state=open",
    "state closed": "?state=closed",
    "something failed": "?trouble=any",
    "a turn failed": "?trouble=turn",
    "a tool call failed": "?trouble=tool",
    "mode": "?mode__exact=plain",
    "close reason": "?close_reason__exact=operator",
    "dialect": "?dialect=s2s-1.1",
    "asked over HTTP": "?origin=http",
    "rating": "?rating=bad",
    "dialect that none has": "?dialect=s2s-0.2.12",
    "date": "?opened_at__lt=2020-01-01T00:00:00Z",
    "search, name": "?q=vidal+mir",
    "search, common name": "?q=marta",
    "search, id": "?q={conversation}",
    "search, ref": "?q={ref}",
    "search, nothing matches": "?q=zzzzzz",
}
CALLS = {
    "list": "",
    "last page": "?p={last}",
    "sort": "?o=0",
    "tool": "?name=get_podcast",
    "tool that nobody used": "?name=web_search",
    "source": "?source=none",
    "selection": "?selection__exact=brain",
    "status": "?status__exact=running",
    "code": "?code=forbidden",
    "very slow": "?took=very-slow",
    "one caller": "?caller={caller}",
    "tool and code that do not meet": "?name=get_report&code=result_budget",
    "date": "?started_at__lt=2020-01-01T00:00:00Z",
    "search, tool": "?q=get_re",
    "search, caller": "?q=marta+mir",
    "search, common caller": "?q=marta",
    "search, id": "?q={call}",
    "search, ref": "?q={ref}",
    "search, nothing matches": "?q=zzzzzz",
}


def addresses() -> Iterator[tuple[str, str]]:
    """Every page with its name."""
    call = ToolCall.objects.exclude(ref="").order_by("started_at")[:1].get()
    largest = ToolCall.objects.order_by().values("conversation").annotate(n=Count("pk")).order_by("-n")[0]
    conversation = call.conversation
    known = {
        "call": call.pk,
        "ref": call.ref,
        "conversation": conversation.pk,
        "caller": conversation.backend_user_id,
    }
    for model, pages in ((Conversation, CONVERSATIONS), (ToolCall, CALLS)):
        kind = model._meta.model_name
        listed = reverse(f"admin:conversations_{kind}_changelist")
        last = -(-min(model._default_manager.count(), MOST_ROWS) // PER_PAGE)
        for name, query in pages.items():
            yield f"{kind}: {name}", listed + query.format(**known, last=last)
    page = "admin:conversations_conversation_change"
    yield "conversation: page", reverse(page, args=[call.conversation_id])
    yield (
        f"conversation: page with {largest['n']:,} tool calls",
        reverse(page, args=[largest["conversation"]]),
    )
    yield "toolcall: page", reverse("admin:conversations_toolcall_change", args=[call.pk])
    yield "catalog: list", reverse("admin:tools_catalogsnapshot_changelist")
    yield "conversation: clean up?", reverse("admin:conversations_conversation_cleanup")
    yield "first page of the admin", reverse("admin:index")


def selected() -> dict[str, object]:
    """What an operator sends who asks to erase all conversations, of which a thousand are taken."""
    one = Conversation.objects.order_by("opened_at")[:1].get()
    return {"action": "erase_selected", "_selected_action": [str(one.pk)], "select_across": "1"}


def timed(opened: Callable[[], Any], rounds: int) -> dict[str, object]:
    """Milliseconds of each round, and how many queries the page takes."""
    opened()
    with CaptureQueriesContext(connection) as captured:
        response = opened()
        queries = len(captured)
    if response.status_code != 200:
        raise SystemExit(f"{response.request['PATH_INFO']} answered {response.status_code}")
    spent = []
    for _ in range(rounds):
        began = time.monotonic()
        opened()
        spent.append((time.monotonic() - began) * 1e3)
    return {"ms": spent, "queries": queries}


def main() -> None:
    """Fills an empty database, opens every page."""
    parser = argparse.ArgumentParser(prog="bench.admin_pages", description="Times the admin's pages.")
    parser.add_argument("--conversations", type=int, required=True)
    parser.add_argument("--tool-calls", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    asked = parser.parse_args()
    call_command("migrate", interactive=False, verbosity=0)
    if not Conversation.objects.exists():
        of_one = asked.tool_calls // 20
        fill(Amounts(asked.conversations, 6 * asked.conversations, asked.tool_calls, largest=of_one))
    user, _ = User.objects.get_or_create(username=NAME, is_staff=True, is_superuser=True)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    found = {name: timed(partial(client.get, address), asked.rounds) for name, address in addresses()}
    listed, chosen = reverse("admin:conversations_conversation_changelist"), selected()
    found["conversation: erase 1,000 selected?"] = timed(partial(client.post, listed, chosen), asked.rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
