"""Nothing that a caller, a model or a tool server wrote is ever markup in the admin."""

import json
from html.parser import HTMLParser

import pytest
from django.urls import reverse

from conversations.tests import admin_walk as walk
from conversations.tests import operators as make
from conversations.tests import test_admin_exports as exported
from conversations.tests.admin_walk import EVIL, poison

pytestmark = pytest.mark.django_db


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
    return poison()


def dangers(response):
    page = Markup()
    page.feed(make.words(response))
    return page.dangers


def text(response):
    page = Markup()
    page.feed(make.words(response))
    return "".join(page.text)


def test_stored_markup_is_text_on_every_page_of_the_url_table_case_181(poisoned):
    root, opened = make.root(), set()
    addresses = walk.addresses(poisoned)
    for name, address in addresses.items():
        for query in ("", "?q=%3Cscript%3Ealert(1)") if name.endswith("_changelist") else ("",):
            response = root.get(address + query)
            if response.status_code == 200:
                assert dangers(response) == [], address
                opened.add(name)
    expected = {f"{model}_{page}" for model in poisoned for page in ("changelist", "change", "history")}
    expected |= {f"conversations_conversation_{page}" for page in ("live", "end", "cleanup", "export")}
    expected |= {"conversations_toolcall_failures", "conversations_toolcall_export", "index"}
    assert expected <= opened


def test_stored_markup_is_data_in_every_file_case_181(poisoned):
    root = make.root()
    row = poisoned["conversations_conversation"]
    for address in (
        reverse("admin:conversations_conversation_export"),
        reverse("admin:conversations_toolcall_export"),
        reverse("admin:conversations_conversation_export_one", args=[row]),
    ):
        for kind, said in (("csv", "text/csv; charset=utf-8"), ("json", "application/json")):
            response = root.post(address, {"kind": kind})
            assert response.headers["Content-Type"] == said
            assert response.headers["Content-Disposition"].startswith("attachment; ")
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            if kind == "json":
                text = exported.content(response)
                assert "<" not in text
                assert EVIL in json.dumps(json.loads(text), ensure_ascii=False).replace('\\"', '"')


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
