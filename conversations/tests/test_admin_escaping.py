"""Nothing that a caller, a model or a tool server wrote is ever markup in the admin."""

from datetime import timedelta
from html.parser import HTMLParser

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from conversations.identity import keys
from conversations.models import PhoneLink
from conversations.tests import operators as make
from tools.models import CatalogSnapshot

pytestmark = pytest.mark.django_db

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'</script>{{ 7|add:7 }}"
LINK = "javascript:alert(3)"


class Markup(HTMLParser):
    """Collects what could run: inline scripts, event attributes, script addresses; and the page's text."""

    def __init__(self):
        super().__init__()
        self.dangers, self.text, self.inside = [], [], ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.inside = tag
        if tag == "script" and "src" not in given and given.get("type") != "application/json":
            self.dangers.append("an inline script")
        for name, value in given.items():
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.dangers.append(f"{tag} {name}={value}")
            if name.startswith(("x-", ":", "@", "hx-")) and "alert(" in (value or ""):
                self.dangers.append(f"an expression: {name}={value}")

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def poisoned():
    """Every row with markup in every field that others can fill; the addresses that show them."""
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
        code=EVIL[:24],
        ref="<b>X</b>",
    )
    make.upstream(
        row, dialect=EVIL[:20], tool_names=[EVIL], instruction_digest=EVIL[:64], close_reason=EVIL[:40]
    )
    now = timezone.now()
    link = PhoneLink.objects.create(
        phone_ending="<b>1", made_by=EVIL, made_at=now, expires_at=now, used_at=now, conversation=row
    )
    key = keys.make(EVIL)
    catalog = CatalogSnapshot.objects.create(
        source=EVIL[:40],
        caller_fingerprint="f" * 64,
        tools=[
            {"name": EVIL, "description": EVIL, "parameters": {EVIL: EVIL}, "output_schema": {EVIL: LINK}}
        ],
        refused=[[EVIL, EVIL]],
        digest=EVIL[:64],
        last_error=EVIL,
        fetched_at=now,
        expires_at=now + timedelta(minutes=1),
    )
    rows = {"conversations_conversation": row, "conversations_toolcall": one, "conversations_phonelink": link}
    rows |= {"conversations_apikey": key, "tools_catalogsnapshot": catalog}
    return {name: getattr(each, "pk", None) or each.key_id for name, each in rows.items()}


def dangers(response):
    page = Markup()
    page.feed(make.words(response))
    return page.dangers


def text(response):
    page = Markup()
    page.feed(make.words(response))
    return "".join(page.text)


def test_stored_markup_is_text_on_every_page_case_181(poisoned):
    root = make.root()
    LogEntry.objects.create(
        user=make.User.objects.get(), object_id=poisoned["conversations_conversation"], object_repr=EVIL,
        content_type_id=1, action_flag=2, change_message=EVIL,
    )  # fmt: skip
    addresses = [
        reverse("admin:index"),
        reverse("admin:conversations_conversation_end", args=[poisoned["conversations_conversation"]]),
    ]
    addresses.append(reverse("admin:conversations_apikey_revoke", args=[poisoned["conversations_apikey"]]))
    for name, pk in poisoned.items():
        lists = reverse(f"admin:{name}_changelist")
        addresses += [lists, f"{lists}?q=%3Cscript%3Ealert(1)", reverse(f"admin:{name}_change", args=[pk])]
        addresses.append(reverse(f"admin:{name}_history", args=[pk]))
    for address in addresses:
        response = root.get(address)
        assert response.status_code == 200, address
        assert dangers(response) == [], address


def test_the_markup_can_still_be_read_as_it_was_written_case_181(poisoned):
    root = make.root()
    page = text(
        root.get(reverse("admin:conversations_toolcall_change", args=[poisoned["conversations_toolcall"]]))
    )
    assert EVIL in page
    assert '"</script>": ' in page
    catalog = text(
        root.get(reverse("admin:tools_catalogsnapshot_change", args=[poisoned["tools_catalogsnapshot"]]))
    )
    assert EVIL in catalog


def test_markup_in_the_list_of_selected_conversations_is_text_case_181(poisoned):
    address = reverse("admin:conversations_conversation_changelist")
    chosen = {"action": "end_selected", "_selected_action": [poisoned["conversations_conversation"]]}
    assert dangers(make.root().post(address, chosen)) == []


def test_inline_scripts_are_refused_under_the_admin_too(poisoned):
    header = make.root().get(reverse("admin:index")).headers["Content-Security-Policy"]
    policy = dict(part.strip().split(" ", 1) for part in header.split(";") if " " in part.strip())
    assert "'unsafe-inline'" not in policy["script-src"]
