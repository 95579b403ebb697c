"""Every address of the admin with rows to fill it in, and rows full of markup."""

from datetime import timedelta

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.urls import URLPattern, reverse
from django.utils import timezone

from conversations.identity import keys
from conversations.models import PhoneLink
from conversations.tests import operators as make
from tools.models import CatalogSnapshot

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'</script>{{ 7|add:7 }}"
LINK = "javascript:alert(3)"

# They show nothing of ours, or lead away.
ELSEWHERE = {"jsi18n", "logout", "autocomplete", "view_on_site", "login", "app_list", None}


def addresses(rows):
    """The address of each named page; `rows` has the primary key of a row for each `app_model`."""
    found = {}
    for pattern in flat(admin.site.get_urls()):
        if pattern.name in ELSEWHERE:
            continue
        arguments = list(pattern.pattern.converters)
        assert len(arguments) <= 1, f"{pattern.name} takes more than a test knows of"
        model = next((name for name in rows if pattern.name.startswith(f"{name}_")), None)
        if arguments and model is None:
            continue
        values = {arguments[0]: rows[model]} if arguments else {}
        found[pattern.name] = reverse(f"admin:{pattern.name}", kwargs=values)
    return found


def flat(patterns):
    for each in patterns:
        if isinstance(each, URLPattern):
            yield each
        else:
            yield from flat(each.url_patterns)


def poison():
    """Every row with markup in every field that others can fill; the primary keys of those with pages."""
    row, one = poisoned_call()
    now = timezone.now()
    link = PhoneLink.objects.create(
        phone_ending="<b>1", made_by=EVIL, made_at=now, expires_at=now, used_at=now, conversation=row
    )
    user = User.objects.create_user("evil", first_name=EVIL, last_name=EVIL)
    for shown in (row, one):
        LogEntry.objects.create(
            user=user, object_id=shown.pk, object_repr=EVIL, change_message=EVIL, action_flag=CHANGE,
            content_type=ContentType.objects.get_for_model(shown),
        )  # fmt: skip
    return {
        "conversations_conversation": row.pk,
        "conversations_toolcall": one.pk,
        "conversations_phonelink": link.pk,
        "conversations_apikey": keys.make(EVIL).key_id,
        "tools_catalogsnapshot": poisoned_catalog(now).pk,
        "tools_tooldeclaration": make.declaration(EVIL, name=EVIL).pk,
    }


def poisoned_call():
    """A conversation and its failed call."""
    row = make.conversation(caller_name=f"{EVIL} {LINK}", backend_user_id=EVIL, state="closed")
    bad_turn = make.turn(
        row, caller_text=EVIL + LINK, heard_text=EVIL, outcome="failed", code=EVIL[:40], ref="<b>X</b>"
    )
    one = make.call(
        bad_turn,
        name=EVIL,
        source=EVIL[:40],
        arguments={EVIL: [EVIL, LINK, {"</script>": EVIL}]},
        excerpt=EVIL,
        status="failed",
        started_at=timezone.now(),
        code=EVIL[:24],
        ref="<b>X</b>",
    )
    lost = f"lost: {EVIL}"[:40]
    make.upstream(row, dialect=EVIL[:20], tool_names=[EVIL], instruction_digest=EVIL[:64], close_reason=lost)
    return row, one


def poisoned_catalog(now):
    """What a tool server may have declared."""
    tool = {"name": EVIL, "description": EVIL, "parameters": {EVIL: EVIL}, "output_schema": {EVIL: LINK}}
    return CatalogSnapshot.objects.create(
        source=EVIL[:40],
        caller_fingerprint="f" * 64,
        tools=[tool],
        refused=[[EVIL, EVIL]],
        digest=EVIL[:64],
        last_error=EVIL,
        fetched_at=now,
        expires_at=now + timedelta(minutes=1),
    )
