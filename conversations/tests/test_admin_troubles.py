"""Why did this caller hear an error at 10:42? The top of the page says when, what, why and what to do."""

from datetime import UTC, datetime

import pytest
from django.urls import reverse

from conversations.admin import advice, words
from conversations.admin.troubles import troubles
from conversations.realtime.words import FOR_CALLER
from conversations.tests import operators as make
from tools.contract import FAILURE_CODES

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 30, 10, 42, 7, tzinfo=UTC)


def found(row, may_read=True):
    return troubles(row, row.upstream_sessions.all(), may_read)


@pytest.fixture
def row():
    """A conversation whose second turn waited for a tool, failed, and was told so."""
    row = make.conversation(opened_at=AT)
    make.call(make.turn(row))
    failed = make.turn(row, 2, ended_at=AT, outcome="failed", code="no_answer", ref="K7M2XQD")
    make.call(failed, status="failed", code="timeout", ref="ABCDEFG")
    return row


def test_a_failed_turn_is_told_with_its_time_its_cause_the_calls_behind_it_and_what_to_do(row):
    [trouble] = found(row)
    assert (trouble.at, trouble.turn, trouble.code, trouble.ref) == (AT, 2, "no_answer", "K7M2XQD")
    assert trouble.why == words.TURN_CODES["no_answer"]
    assert trouble.told == FOR_CALLER["no_answer"]
    assert trouble.heard == "the heard answer"
    assert trouble.then == advice.TURNS["no_answer"]
    assert [(call.name, call.code, call.ref) for call in trouble.calls] == [
        ("get_report", "timeout", "ABCDEFG")
    ]
    assert trouble.refs == {"K7M2XQD", "ABCDEFG"}


def test_the_page_opens_with_it_before_any_turn(row):
    shown = make.words(make.auditor().get(reverse("admin:conversations_conversation_change", args=[row.pk])))
    top = shown.partition('id="turns"')[0]
    call = reverse("admin:conversations_toolcall_change", args=[row.tool_calls.get(code="timeout").pk])
    for part in (">10:42:07<", "ref K7M2XQD", FOR_CALLER["no_answer"], "the heard answer", call, "#turn-2"):
        assert part in top, part


def test_what_was_heard_is_the_auditors_and_what_was_told_is_everybodys(row):
    [trouble] = found(row, may_read=False)
    assert (trouble.heard, trouble.told) == ("", FOR_CALLER["no_answer"])
    shown = make.words(make.viewer().get(reverse("admin:conversations_conversation_change", args=[row.pk])))
    assert "the heard answer" not in shown


def test_a_failed_call_of_an_answered_turn_stands_by_itself(row):
    make.call(make.turn(row, 3), status="failed", code="forbidden", ref="QQQQQQQ")
    trouble = found(row)[-1]
    assert (trouble.turn, trouble.ref, trouble.told) == (3, "QQQQQQQ", FOR_CALLER["forbidden"])
    assert trouble.then == advice.CALLS["forbidden"]


def test_trouble_that_ended_no_turn_is_told_too(row):
    make.turn(row, 3, code="service_error", ref="SSSSSSS")
    trouble = found(row)[-1]
    assert trouble.what == "The caller was told of trouble, and the turn went on"
    assert trouble.why == words.TURN_CODES["service_error"]


def test_a_change_of_mind_is_no_trouble(row):
    cancelled = make.turn(row, 3, outcome="cancelled")
    make.call(cancelled, status="failed", code="cancelled", ref="CCCCCCC")
    assert len(found(row)) == 1


def test_a_turn_that_was_left_behind_was_told_to_nobody(row):
    make.turn(row, 3, outcome="failed", code="connection_lost")
    assert found(row)[-1].told == ""


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        ("lost: 1006", "The session at the speech service was lost"),
        ("unreachable: refused", "No session could be had"),
    ],
)
def test_a_session_that_ended_badly_is_trouble_of_no_turn(row, reason, what):
    make.upstream(row, closed_at=AT, close_reason=reason)
    make.upstream(row, closed_at=AT, close_reason="rotated")
    [trouble] = [each for each in found(row) if each.turn is None]
    assert trouble.what == what
    assert reason.partition(": ")[2] in trouble.why


def test_every_code_of_the_audit_has_advice():
    assert set(advice.CALLS) == FAILURE_CODES
    assert set(advice.TURNS) == set(words.TURN_CODES)


def test_an_unknown_code_sends_to_the_log():
    assert advice.for_turn("new_code") == advice.NOT_KNOWN
