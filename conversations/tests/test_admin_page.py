"""What a conversation's page says of calls that still run, and of those whose process went away."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

LEASED = {"owner": "process:1"}


def page_of(row):
    return make.words(make.auditor().get(reverse("admin:conversations_conversation_change", args=[row.pk])))


def live(**values):
    return make.conversation(lease_expires_at=timezone.now() + timedelta(seconds=15), **LEASED, **values)


def test_what_is_heard_of_a_running_turn_is_not_said_to_be_nothing():
    row = live()
    make.turn(row, outcome="running", heard_text="", answered_at=None, ended_at=None)
    assert "(known when the turn ends)" in page_of(row)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"outcome": "failed", "code": "connection_lost"}, "(not known, the call went away)"),
        ({"outcome": "failed", "code": "connection_lost", "ref": "K7M2XQD"}, "(nothing was heard)"),
        ({"outcome": "cancelled"}, "(nothing was heard)"),
    ],
)
def test_a_turn_that_was_left_behind_does_not_claim_that_nothing_was_heard(values, words):
    row = make.conversation()
    make.turn(row, heard_text="", **values)
    assert words in page_of(row)


def test_only_the_newest_session_of_a_live_call_is_open():
    row = live()
    make.upstream(row)
    make.upstream(row, opened_at=make.NOON + timedelta(minutes=1))
    shown = page_of(row)
    assert shown.count("not known, its process went away") == shown.count("still open") == 1


def test_a_session_that_a_dead_process_left_behind_is_not_open():
    row = make.conversation()
    make.upstream(row)
    assert "still open" not in page_of(row)


def test_a_search_that_finds_nothing_says_where_the_reference_of_a_refused_start_is():
    address = reverse("admin:conversations_conversation_changelist")
    shown = make.words(make.auditor().get(f"{address}?q=b7d414d4"))
    assert "request_id" in shown
    assert "request_id" not in make.words(make.signed_in("vera", make.VIEW).get(f"{address}?state=closed"))


@pytest.mark.parametrize(
    ("excerpt", "said"), [("x" * 500, "the model was sent 1,234."), ("Not reachable.", None)]
)
def test_a_result_that_is_kept_in_part_says_how_much_of_it_is(excerpt, said):
    row = make.conversation()
    one = make.call(make.turn(row), excerpt=excerpt, result_chars=1_234)
    client = make.auditor()
    for address in (
        reverse("admin:conversations_conversation_change", args=[row.pk]),
        reverse("admin:conversations_toolcall_change", args=[one.pk]),
    ):
        shown = make.words(client.get(address))
        assert (said in shown) if said else ("characters are kept" not in shown)


def test_a_result_that_is_json_is_indented_and_hidden_signs_are_written_out():
    row = make.conversation()
    make.call(make.turn(row), excerpt='{"a": 1, "b": "x\u200by"}')
    shown = page_of(row)
    assert "{\n  &quot;a&quot;: 1,\n  &quot;b&quot;: &quot;x\\u200by&quot;\n}" in shown
