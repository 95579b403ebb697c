"""The catalog as operators see it: whole schemas, refusals with reasons, and nothing to change."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from tools.admin import SHOWN_CHARS, pretty
from tools.models import CatalogSnapshot

pytestmark = pytest.mark.django_db

LIST = reverse("admin:tools_catalogsnapshot_changelist")
SCHEMA = {
    "type": "object",
    "$defs": {"Cage": {"type": "string", "maxLength": 40}},
    "properties": {"request": {"anyOf": [{"$ref": "#/$defs/Cage"}, {"type": "null"}]}, "x-unknown": "</pre>"},
}


def operator(name="olga"):
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_catalogsnapshot"))
    client = Client()
    client.force_login(user)
    return client


def snapshot(fingerprint="a", **values):
    now = timezone.now()
    tool = {"name": "get_report", "description": "One <b>report</b>.", "source": "aquaportal"}
    defaults = {
        "source": "aquaportal",
        "tools": [{**tool, "parameters": SCHEMA, "output_schema": {"type": "object", "title": "Answer"}}],
        "refused": [["drop_all", "It is not in S2S_MCP_TOOLS."]],
        "fetched_at": now,
        "expires_at": now + timedelta(minutes=5),
    }
    return CatalogSnapshot.objects.create(caller_fingerprint=fingerprint * 64, **{**defaults, **values})


def page(row):
    response = operator().get(reverse("admin:tools_catalogsnapshot_change", args=[row.pk]))
    assert response.status_code == 200
    return response.content.decode()


def test_a_tool_is_shown_with_its_whole_schemas_indented_and_escaped_case_181():
    shown = page(snapshot())
    assert escape(pretty(SCHEMA)) in shown
    assert escape('"x-unknown": "</pre>"') in shown
    assert escape('"title": "Answer"') in shown
    assert escape("One <b>report</b>.") in shown


def test_a_refused_tool_is_shown_with_its_reason():
    shown = page(snapshot())
    assert "drop_all" in shown
    assert "It is not in S2S_MCP_TOOLS." in shown


def test_a_failed_discovery_is_shown_with_its_code_and_what_it_means():
    shown = page(snapshot(last_error="unavailable"))
    assert "<bdi>unavailable</bdi>" in shown
    assert "AquaPortal cannot be reached." in shown


def test_a_catalog_is_fresh_until_it_expires():
    past = timezone.now() - timedelta(seconds=1)
    assert "vo-chip-good" in page(snapshot())
    CatalogSnapshot.objects.update(expires_at=past)
    row = CatalogSnapshot.objects.get()
    client = operator("other")
    shown = client.get(reverse("admin:tools_catalogsnapshot_change", args=[row.pk])).content.decode()
    assert "vo-chip-warn" in shown


def test_the_list_counts_offered_and_refused_tools_without_reading_them():
    snapshot()
    with CaptureQueriesContext(connection) as queries:
        shown = operator().get(LIST).content.decode()
    listing = next(query["sql"] for query in queries if "json" in query["sql"] and "ORDER BY" in query["sql"])
    assert 'data-label="Tools">1<' in shown
    assert 'data-label="Refused">1<' in shown
    assert '"tools_catalogsnapshot"."tools",' not in listing


def test_the_list_takes_as_many_queries_for_many_callers_as_for_one():
    client, counts = operator(), []
    for fingerprints in ("a", "bcdefghi"):
        for fingerprint in fingerprints:
            snapshot(fingerprint)
        with CaptureQueriesContext(connection) as queries:
            client.get(LIST)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_first_letters_of_a_fingerprint_find_the_caller():
    snapshot("a")
    snapshot("b")
    found = operator().get(f"{LIST}?q=bbbb").context["cl"].result_list
    assert [row.caller_fingerprint[0] for row in found] == ["b"]


def test_an_empty_catalog_says_so_in_words():
    assert "No catalog has been fetched yet." in operator().get(LIST).content.decode()


def test_nobody_without_the_permission_sees_a_catalog():
    row = snapshot()
    address = reverse("admin:tools_catalogsnapshot_change", args=[row.pk])
    stranger = Client()
    stranger.force_login(User.objects.create_user("nils", is_staff=True))
    assert Client().get(address).status_code == 302
    assert stranger.get(address).status_code == 403
    assert stranger.get(LIST).status_code == 403


def test_a_catalog_can_only_be_looked_at():
    row, client = snapshot(), operator()
    address = reverse("admin:tools_catalogsnapshot_change", args=[row.pk])
    assert client.post(address, {"source": "other"}).status_code == 403
    assert client.get(reverse("admin:tools_catalogsnapshot_delete", args=[row.pk])).status_code == 403
    assert client.get(reverse("admin:tools_catalogsnapshot_add")).status_code == 403


def test_very_long_json_is_cut_and_says_by_how_much():
    text = pretty("x" * (SHOWN_CHARS + 10))
    assert text.endswith("… 12 more characters are not shown here.")
    assert len(text) < SHOWN_CHARS + 100
