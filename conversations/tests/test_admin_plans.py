"""How PostgreSQL answers the lists: by index, with what a few thousand rows tell it of their spread."""

import json

import pytest
from django.db import connection
from django.db.models import Count
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conversations.madeup import Amounts
from conversations.management.commands.make_rows import TABLES, fill
from conversations.models import Conversation, ToolCall, Turn
from conversations.tests import operators as make

pytestmark = [pytest.mark.django_db, pytest.mark.database_server]

CONVERSATIONS = reverse("admin:conversations_conversation_changelist")
CALLS = reverse("admin:conversations_toolcall_changelist")
BIG = {model._meta.db_table for model in TABLES}
AMOUNTS = Amounts(conversations=3_000, turns=6_000, tool_calls=12_000, largest=2_000)


@pytest.fixture(scope="module", autouse=True)
def filled(django_db_setup, django_db_blocker):
    """Rows that every test of the module reads; they are committed, so that they can be analyzed."""
    with django_db_blocker.unblock():
        fill(AMOUNTS)
        yield
        tables = ", ".join(sorted(BIG))
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {tables} CASCADE")


def nodes(plan):
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def plans(address):
    """The plan of each statement of a page that reads a big table."""
    client = make.root()
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    found = []
    for sql in (query["sql"] for query in captured):
        if sql.startswith("SELECT") and any(f'"{table}"' in sql for table in BIG):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (FORMAT JSON) {sql.replace('%', '%%')}")
                answer = cursor.fetchone()[0]
            found.append((sql, (answer if isinstance(answer, list) else json.loads(answer))[0]["Plan"]))
    return found


def used(found):
    return {node["Index Name"] for _, plan in found for node in nodes(plan) if "Index Name" in node}


def read_whole(found):
    """What is read from one end to the other, with a condition for each row."""
    return [
        (node["Relation Name"], node["Filter"], sql[:300])
        for sql, plan in found
        for node in nodes(plan)
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in BIG and "Filter" in node
    ]


PAGES = [
    (CONVERSATIONS, "conversation_opened"),
    (f"{CONVERSATIONS}?p=4", "conversation_opened"),
    (f"{CONVERSATIONS}?state=open", "conversation_seen"),
    (f"{CONVERSATIONS}?state=live", "conversation_lease"),
    (f"{CONVERSATIONS}?trouble=turn", "turn_failed"),
    (f"{CONVERSATIONS}?mode__exact=plain", "conversation_mode"),
    (f"{CONVERSATIONS}?close_reason__exact=operator", "conversation_reason"),
    (f"{CONVERSATIONS}?dialect=s2s-1.1", "upstream_dialect"),
    (f"{CONVERSATIONS}?origin=http", "turn_origin"),
    (f"{CONVERSATIONS}?rating=bad", "turn_rated"),
    (f"{CONVERSATIONS}?opened_at__lt=2020-01-01T00:00:00Z", "conversation_opened"),
    (f"{CONVERSATIONS}?q=zzzzz", "conversation_caller"),
    (f"{CONVERSATIONS}?q=ZZZZZZZ", "conversations_turn_ref"),
    (f"{CONVERSATIONS}?q=12345678-1234", "conversations_conversation_pkey"),
    (CALLS, "conversations_toolcall_started_at"),
    (f"{CALLS}?p=4", "conversations_toolcall_started_at"),
    (f"{CALLS}?o=0", "conversations_toolcall_started_at"),
    (f"{CALLS}?name=get_podcast", "toolcall_name"),
    (f"{CALLS}?source=none", "toolcall_source"),
    (f"{CALLS}?selection__exact=brain", "toolcall_selection"),
    (f"{CALLS}?status__exact=running", "toolcall_status"),
    (f"{CALLS}?code=forbidden", "toolcall_code"),
    (f"{CALLS}?took=very-slow", "toolcall_very_slow"),
    (f"{CALLS}?caller=made-up-7", "conversations_conversation_backend_user_id"),
    (f"{CALLS}?started_at__lt=2020-01-01T00:00:00Z", "conversations_toolcall_started_at"),
    (f"{CALLS}?q=zzzzz", "toolcall_name_begins"),
    (f"{CALLS}?q=ZZZZZZZ", "conversations_toolcall_ref"),
    (f"{CALLS}?q=12345678-1234", "toolcall_conversation"),
    (reverse("admin:tools_catalogsnapshot_changelist"), "catalog_fetched"),
]


@pytest.mark.parametrize(("address", "index"), PAGES, ids=lambda part: part.replace("/admin/", ""))
def test_a_list_is_found_by_its_index_and_no_table_is_read_whole_case_186(address, index):
    found = plans(address)
    assert any(name.startswith(index) for name in used(found)), used(found)
    assert read_whole(found) == []


@pytest.mark.parametrize("address", [CONVERSATIONS, CALLS, f"{CALLS}?code=timeout"])
def test_no_list_is_counted_without_a_bound_case_187(address):
    counts = [plan for sql, plan in plans(address) if sql.startswith("SELECT COUNT(*)")]
    assert len(counts) == 1
    assert any(node["Node Type"] == "Limit" for node in nodes(counts[0]))


def test_a_conversation_is_read_by_index():
    most = ToolCall.objects.values("conversation").annotate(n=Count("pk")).order_by("-n").first()
    found = plans(reverse("admin:conversations_conversation_change", args=[most["conversation"]]))
    assert read_whole(found) == []
    # Of few rows the whole conversation's index is as good as that of the failed ones alone.
    assert used(found) & {"turn_failed", "turn_once"}
    assert used(found) & {"toolcall_failed", "toolcall_conversation"}


def test_the_made_up_rows_are_those_that_were_asked_for():
    counted = (Conversation.objects.count(), ToolCall.objects.count())
    assert counted == (AMOUNTS.conversations, AMOUNTS.tool_calls)
    # The largest one has more turns than its share.
    assert Turn.objects.count() > AMOUNTS.turns
