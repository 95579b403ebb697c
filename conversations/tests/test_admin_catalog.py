"""The catalog in the admin: what changed against the one before, and asking for tools anew."""

import copy

import pytest
from django.contrib.admin import helpers
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from conversations import lifecycle
from conversations.admin import catalog
from conversations.models import Conversation
from conversations.tests import operators as make
from conversations.tests.rows import OWNER
from tools.models import CatalogSnapshot

pytestmark = pytest.mark.django_db

LIST = reverse("admin:tools_catalogsnapshot_changelist")
ALL = reverse("admin:tools_catalogsnapshot_refresh_all")


def page_of(row):
    return reverse("admin:tools_catalogsnapshot_change", args=[row.pk])


def refresh_of(row):
    return reverse("admin:tools_catalogsnapshot_refresh", args=[row.pk])


def chosen(*rows, **fields):
    keys = [row.pk for row in rows]
    return {"action": "refresh_selected", helpers.ACTION_CHECKBOX_NAME: keys, **fields}


def live():
    row = make.conversation()
    lifecycle.claim(str(row.pk), OWNER)
    return row


def stale():
    return {row.pk for row in Conversation.objects.filter(tools_stale=True)}


def fresh():
    return {row.pk for row in CatalogSnapshot.objects.filter(expires_at__gt=timezone.now())}


def told(response):
    return [str(message) for message in get_messages(response.wsgi_request)]


def log():
    return [(entry.object_repr, entry.change_message) for entry in LogEntry.objects.all()]


def changed_catalog():
    """One tool came, one went, one has another schema, one is as it was."""
    row = make.catalog(names=("list_reports", "get_report", "list_podcasts"), changed_at=timezone.now())
    before = copy.deepcopy(row.tools)
    before[1]["parameters"]["properties"]["report_id"]["type"] = "integer"
    before[0]["name"] = "get_my_briefing"
    CatalogSnapshot.objects.filter(pk=row.pk).update(previous_tools=before)
    return row


def test_what_was_added_removed_and_changed_is_told_apart():
    row = changed_catalog()
    row.refresh_from_db()
    found = {change.name: change for change in catalog.changes(row.previous_tools, row.tools)}
    assert {name: change.kind for name, change in found.items()} == {
        "list_reports": "added",
        "get_my_briefing": "removed",
        "get_report": "changed",
    }
    lines = [(line.text.strip(), line.tone) for line in found["get_report"].lines if line.tone]
    assert ('-        "type": "integer"', "taken") in lines
    assert ('+        "type": "string"', "added") in lines


def test_the_page_shows_the_diff_of_a_changed_schema_escaped():
    row = changed_catalog()
    tools = row.tools
    tools[1]["description"] = "<script>alert(1)</script>"
    CatalogSnapshot.objects.filter(pk=row.pk).update(tools=tools)
    page = make.words(make.viewer().get(page_of(row)))
    assert '<span class="vo-added">+  &quot;description&quot;: &quot;&lt;script&gt;' in page
    assert "<script>alert" not in page
    assert page.count(">changed<") == 1


def test_first_tools_have_nothing_before_them():
    assert "these are the first tools" in make.words(make.viewer().get(page_of(make.catalog())))


def test_a_page_of_huge_schemas_leaves_the_last_ones_to_pages_of_their_own_case_181(monkeypatch):
    monkeypatch.setattr(catalog, "PAGE_CHARS", 300)
    row, client = make.catalog(names=("first", "second", "third")), make.viewer()
    page = client.get(page_of(row))
    assert [tool.left_out for tool in page.context["tools"]] == [False, False, True]
    assert "?tool=third#tools" in make.words(page)
    alone = client.get(page_of(row) + "?tool=third").context["tools"]
    assert [(tool.name, bool(tool.parameters)) for tool in alone] == [("third", True)]


def test_asking_for_one_callers_tools_shows_the_counts_and_changes_nothing_yet():
    row, call = make.catalog(), live()
    response = make.operator().get(refresh_of(row))
    assert response.context["facts"] == [
        ("Kept catalogs that would be good no more", "1"),
        ("Live calls that would ask anew", "1"),
    ]
    assert "within 3 seconds" in make.words(response)
    assert (fresh(), stale(), log()) == ({row.pk}, set(), [])
    assert call.tools_stale is False


def test_a_confirmed_refresh_reaches_this_callers_live_calls_and_is_logged_case_196():
    row, other, call = make.catalog(), make.catalog("e" * 64), live()
    response = make.operator().post(refresh_of(row), follow=True)
    assert told(response)[0].startswith("Asked for anew: 1 catalog, 1 live call.")
    assert (fresh(), stale()) == ({other.pk}, {call.pk})
    assert log() == [(str(row), "Had the tools asked for anew: 1 catalog, 1 live call.")]


def test_the_selected_are_asked_for_only_after_the_confirmation():
    first, second, bystander = (make.catalog(letter * 64) for letter in "abc")
    client = make.operator()
    asked = client.post(LIST, chosen(first, second))
    assert asked.context["facts"][0] == ("Selected", "2")
    assert len(fresh()) == 3
    fields = {}
    for name, value in asked.context["hidden"]:
        fields.setdefault(name, []).append(str(value))
    client.post(LIST, fields)
    assert fresh() == {bystander.pk}
    assert {name for name, _ in log()} == {str(first), str(second)}


def test_all_are_asked_for_anew_as_often_as_an_operator_likes_case_196():
    make.catalog("a" * 64)
    make.catalog("b" * 64)
    call, client = live(), make.operator()
    assert client.get(ALL).context["facts"][1] == ("Live calls that would ask anew", "1")
    assert (len(fresh()), stale()) == (2, set())
    client.post(ALL)
    assert (len(fresh()), stale()) == (0, {call.pk})
    assert told(client.post(ALL, follow=True))[-1].startswith("Asked for anew: 0 catalogs, 1 live call.")
    assert log()[0] == ("Refresh", "Had all tools asked for anew: 0 catalogs, 1 live call.")


@pytest.mark.parametrize("who", ["nobody", "viewer", "auditor"])
def test_only_an_operator_may_ask_for_tools_anew(who):
    row = make.catalog()
    client = {"nobody": Client, "viewer": make.viewer, "auditor": make.auditor}[who]()
    refused = 302 if who == "nobody" else 403
    for address in (refresh_of(row), ALL):
        assert client.get(address).status_code == refused
        assert client.post(address).status_code == refused
    client.post(LIST, chosen(row, confirmed="yes"))
    page = make.words(client.get(page_of(row)))
    assert (fresh(), log()) == ({row.pk}, [])
    assert "Ask for these tools anew" not in page


@pytest.mark.parametrize("state", ["fresh", "expired", "failed", "changed"])
def test_the_list_is_narrowed_by_how_the_discovery_went(state):
    past = timezone.now()
    rows = {
        "fresh": make.catalog("a" * 64),
        "expired": make.catalog("b" * 64, expires_at=past),
        "failed": make.catalog("c" * 64, expires_at=past, last_error="unavailable"),
        "changed": make.catalog("d" * 64, expires_at=past, changed_at=past, previous_tools=[]),
    }
    found = {row.pk for row in make.viewer().get(f"{LIST}?discovery={state}").context["cl"].result_list}
    also = {rows[each].pk for each in ("failed", "changed")} if state == "expired" else set()
    assert found == {rows[state].pk} | also


def test_the_list_never_reads_whole_catalogs():
    changed_catalog()
    shown = make.viewer().get(LIST).context["cl"].result_list[0]
    assert {"tools", "refused", "previous_tools"} <= shown.get_deferred_fields()
