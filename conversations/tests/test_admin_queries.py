"""How many queries the lists and pages take, and of what kind: the same whatever they show."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conversations.admin.troubles import TURNS_A_PAGE
from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

CONVERSATIONS = reverse("admin:conversations_conversation_changelist")
CALLS = reverse("admin:conversations_toolcall_changelist")


def queries(client, address):
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return [query["sql"] for query in captured]


def fill(conversations=1, turns=1, calls=1):
    for number in range(conversations):
        row = make.conversation(caller_name=f"Caller {number}", backend_user_id="usr-1")
        make.upstream(row)
        for index in range(1, turns + 1):
            one = make.turn(row, index, outcome="failed" if index % 2 else "done", code="timeout")
            for sequence in range(1, calls + 1):
                make.call(one, sequence, status="failed" if sequence % 2 else "completed", code="timeout")
    return row


@pytest.mark.parametrize(
    "address",
    [
        CONVERSATIONS,
        f"{CONVERSATIONS}?q=caller",
        f"{CONVERSATIONS}?trouble=any&state=open",
        CALLS,
        f"{CALLS}?q=caller",
        f"{CONVERSATIONS}?origin=voice&dialect=ga",
        f"{CALLS}?took=usual&code=timeout",
        f"{CALLS}?caller=usr-1",
    ],
)
def test_a_list_takes_as_many_queries_for_many_rows_as_for_few_case_188(address):
    client = make.root()
    fill(conversations=3)
    few = len(queries(client, address))
    fill(conversations=27, turns=2, calls=2)
    assert len(queries(client, address)) == few


def test_a_conversation_takes_as_many_queries_with_many_turns_as_with_one_case_188():
    client = make.root()
    small, big = fill(), fill(turns=TURNS_A_PAGE + 5, calls=3)
    addresses = [reverse("admin:conversations_conversation_change", args=[row.pk]) for row in (small, big)]
    few, many = (len(queries(client, address)) for address in addresses)
    assert many == few


def test_children_are_counted_for_the_rows_of_the_page_alone_and_without_a_join_case_188():
    fill(conversations=3, turns=2, calls=2)
    sent = [sql for sql in queries(make.root(), CONVERSATIONS) if "conversations_" in sql]
    rows = [sql for sql in sent if 'FROM "conversations_conversation"' in sql]
    children = [sql for sql in sent if 'FROM "conversations_turn"' in sql or "conversations_toolcall" in sql]
    assert (len(rows), len(children)) == (2, 2)
    assert not any("JOIN" in sql for sql in sent)
    assert all("GROUP BY" in sql and '"conversation_id" IN (' in sql for sql in children)


def test_a_count_of_children_is_right_beside_another_case_188():
    fill(turns=3, calls=2)
    page = make.words(make.root().get(CONVERSATIONS))
    assert 'data-label="Turns">3<' in page
    assert 'data-label="Tool calls">6<' in page
    assert "2 turns, 3 calls" in page


def test_a_list_never_reads_what_it_does_not_show_case_188():
    fill()
    client = make.root()
    sent = " ".join(queries(client, CONVERSATIONS) + queries(client, CALLS))
    for column in ("arguments", "excerpt", "caller_text", "heard_text", "browser_hash"):
        assert f'"{column}"' not in sent
