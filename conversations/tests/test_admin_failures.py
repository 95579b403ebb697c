"""Failures of all callers, grouped: what fails, how often, since when, and where the calls are."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from conversations.admin import failures
from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

PAGE = reverse("admin:conversations_toolcall_failures")


def ago(**time):
    return timezone.now() - timedelta(**time)


def called(*whens, **values):
    """A call at each of these times."""
    row = make.conversation()
    for index, when in enumerate(whens, 1):
        make.call(make.turn(row, index), started_at=when, **values)


def groups(client, query=""):
    context = client.get(f"{PAGE}{query}").context
    return {title: [(each.name, each.code, each.count, each.share) for each in rows]
            for title, rows in context["kinds"]}  # fmt: skip


def test_failures_are_grouped_by_tool_and_code_and_weighed_against_the_tools_calls():
    called(ago(hours=1), ago(hours=2), status="failed", code="timeout")
    called(ago(hours=1), status="failed", code="forbidden")
    called(ago(hours=1), ago(hours=3), ago(hours=3))
    called(ago(hours=1), name="list_reports", status="failed", code="cancelled")
    assert groups(make.viewer()) == {
        "Failures": [("get_report", "timeout", 2, "33.3%"), ("get_report", "forbidden", 1, "16.7%")],
        "The caller changed their mind": [("list_reports", "cancelled", 1, "100%")],
    }


def test_a_group_says_when_it_began_and_leads_to_exactly_its_calls():
    called(ago(hours=1), ago(hours=2), ago(days=3), status="failed", code="timeout")
    called(ago(hours=1), status="failed", code="forbidden")
    client = make.viewer()
    group = client.get(PAGE).context["kinds"][0][1][0]
    assert (group.first < group.last, group.count) == (True, 2)
    listed = client.get(group.url).context["cl"].result_list
    assert [call.code for call in listed] == ["timeout", "timeout"]


def test_a_tool_that_is_not_configured_can_be_listed_too():
    called(ago(hours=1), name="made_up", source="", status="failed", code="unknown_tool")
    client = make.viewer()
    group = client.get(PAGE).context["kinds"][0][1][0]
    assert len(client.get(group.url).context["cl"].result_list) == 1


@pytest.mark.parametrize(
    ("query", "count"), [("", 1), ("?window=1h", 0), ("?window=7d", 2), ("?window=x", 1)]
)
def test_the_window_decides_which_calls_count(query, count):
    called(ago(hours=5), ago(days=5), status="failed", code="timeout")
    found = groups(make.viewer(), query)["Failures"]
    assert sum(each[2] for each in found) == count


def test_however_long_the_window_only_the_newest_calls_are_read(monkeypatch):
    monkeypatch.setattr(failures, "MOST_CALLS", 2)
    called(ago(hours=1), ago(hours=2), ago(hours=3), status="failed", code="timeout")
    response = make.viewer().get(PAGE)
    assert response.context["kinds"][0][1][0].count == 2
    assert "the newest 2 of this time" in make.words(response)


def test_the_page_takes_three_queries_whatever_it_shows_case_187():
    client, counts = make.viewer(), []
    for rows in (3, 30):
        for number in range(rows):
            called(ago(hours=1), name=f"tool_{number}", status="failed", code="timeout")
        with CaptureQueriesContext(connection) as queries:
            client.get(PAGE)
        counts.append([query["sql"] for query in queries if "conversations_toolcall" in query["sql"]])
    assert [len(sent) for sent in counts] == [3, 3]
    assert all('"started_at" >=' in sql for sql in counts[1]), "each reads a window, none the table"


def test_only_who_may_see_tool_calls_sees_their_failures():
    assert make.signed_in("nils").get(PAGE).status_code == 403
    assert make.signed_in("carl", ["conversations.view_conversation"]).get(PAGE).status_code == 403
    assert "None in this time." in make.words(make.viewer().get(PAGE))
