"""The page of a conversation follows the call: what is read again, when it changes, and what it costs."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from conversations.admin.troubles import TURNS_A_PAGE
from conversations.tests import operators as make

pytestmark = pytest.mark.django_db


def live(**values):
    soon = timezone.now() + timedelta(seconds=15)
    return make.conversation(owner="process:1", lease_expires_at=soon, **values)


def address(row):
    return reverse("admin:conversations_conversation_live", args=[row.pk])


def test_what_did_not_change_is_not_sent_again():
    row, client = live(), make.viewer()
    one = make.turn(row)
    first = client.get(address(row))
    tag = {"If-None-Match": first.headers["ETag"]}
    again = client.get(address(row), headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    make.call(one)
    assert "get_report" in make.words(client.get(address(row), headers=tag))


def test_a_page_is_read_again_as_long_as_the_conversation_is_not_closed():
    def every(row):
        page = make.words(client.get(reverse("admin:conversations_conversation_change", args=[row.pk])))
        assert ('id="pause"' in page) == (row.state == "open")
        return page.partition('data-every="')[2].partition('"')[0]

    client = make.viewer()
    rows = [live(), make.conversation(), make.conversation(state="closed", close_reason="idle")]
    assert [every(row) for row in rows] == ["1000", "5000", ""]


def test_the_newest_thing_is_said_in_a_sentence():
    row, client = live(), make.viewer()
    assert 'data-news="Nothing was said yet."' in make.words(client.get(address(row)))
    running = make.turn(row, outcome="running", answered_at=None, ended_at=None)
    make.call(running, status="running", ended_at=None, duration_ms=None)
    assert 'data-news="Turn 1: running, get_report at work."' in make.words(client.get(address(row)))
    row.state, row.close_reason = "closed", "idle"
    row.save()
    said = 'data-news="The conversation is closed. Nothing was heard from the caller for too long."'
    assert said in make.words(client.get(address(row)))


def test_a_live_call_is_followed_at_its_end():
    row, client = live(), make.viewer()
    for index in range(1, TURNS_A_PAGE + 2):
        make.turn(row, index)
    shown = make.words(client.get(address(row)))
    assert f'id="turn-{TURNS_A_PAGE + 1}"' in shown
    assert 'id="turn-1"' not in shown
    assert 'id="turn-1"' in make.words(client.get(f"{address(row)}?page=1"))


def test_following_costs_the_same_few_queries_for_a_long_call_as_for_a_short_one_case_188():
    client = make.viewer()
    rows = [live(), live()]
    for row, turns in zip(rows, (3, 30), strict=True):
        for index in range(1, turns + 1):
            one = make.turn(row, index, outcome="failed", code="timeout", ref=f"K7M2X{index:02}")
            for sequence in (1, 2, 3):
                make.call(one, sequence, status="failed", code="timeout")
            make.upstream(row)
    counts = []
    for row in rows:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address(row)).status_code == 200
        counts.append(len(queries))
    # Session, person, permissions twice; the row, token, sessions, troubles twice, last turn, turns, calls.
    assert counts == [12, 12]


def test_only_who_may_see_conversations_follows_them_and_only_an_auditor_reads_along():
    row = live()
    make.call(make.turn(row))
    assert make.signed_in("nils").get(address(row)).status_code == 403
    viewer, auditor = make.viewer(), make.auditor()
    hidden = ("the spoken question", "the heard answer", "the secret argument", "the secret result")
    assert not any(text in make.words(viewer.get(address(row))) for text in hidden)
    assert all(text in make.words(auditor.get(address(row))) for text in hidden)
    gone = address(row)
    row.delete()
    assert viewer.get(gone).status_code == 404


def test_reading_along_takes_no_message_from_the_next_page():
    row, client = live(), make.operator()
    client.post(reverse("admin:conversations_conversation_end", args=[row.pk]))
    client.get(address(row))
    shown = make.words(client.get(reverse("admin:conversations_conversation_change", args=[row.pk])))
    assert "Ended 1 conversation." in shown
