"""What time and dead processes leave behind."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from conversations import lifecycle
from conversations.identity import links
from conversations.lifecycle import LEASE
from conversations.models import BackendToken, Conversation, PhoneLink
from conversations.tests.rows import (
    ADA,
    MARA,
    OWNER,
    ago,
    changed,
    open_upstream,
    opened,
    running_call,
    running_turn,
)

pytestmark = pytest.mark.django_db


def swept():
    return lifecycle.sweep(timezone.now())


def closed_as(conversation):
    conversation.refresh_from_db()
    return conversation.close_reason


def test_what_expired_or_idled_is_closed_and_its_token_erased(configure):
    configure(conversation_idle=600)
    expired = changed(opened(ADA), expires_at=ago(seconds=1))
    idle = changed(opened(ADA), last_seen_at=ago(seconds=601))
    fresh = changed(opened(MARA), last_seen_at=ago(seconds=590))
    result = swept()
    assert [closed_as(row) for row in (expired, idle, fresh)] == ["expired", "idle", ""]
    assert (result.changed["expired"], result.changed["idle"], result.failures) == (1, 1, ())
    assert set(BackendToken.objects.exclude(ciphertext="").values_list("conversation", flat=True)) == {
        fresh.pk
    }


def test_a_second_sweep_finds_nothing():
    changed(opened(ADA), expires_at=ago(seconds=1))
    running_turn(opened(MARA))
    swept()
    assert set(swept().changed.values()) == {0}


def test_more_than_a_batch_is_closed_in_one_sweep(monkeypatch):
    monkeypatch.setattr(lifecycle, "_BATCH", 2)
    for _ in range(5):
        changed(opened(None), expires_at=ago(seconds=1))
    assert swept().changed["expired"] == 5


def test_a_conversation_that_came_back_to_life_meanwhile_stays_open():
    conversation = opened(ADA)
    idle_since = ago(seconds=600)
    with lifecycle.transaction.atomic():
        assert not lifecycle._close(
            conversation.pk, "idle", timezone.now(), lifecycle.Q(last_seen_at__lte=idle_since)
        )
    assert closed_as(conversation) == ""


def test_rows_of_a_dead_lease_are_closed_as_connection_lost():
    conversation = opened(ADA)
    lifecycle.claim(str(conversation.pk), OWNER)
    turn = running_turn(conversation)
    call = running_call(turn)
    assert swept().changed["turns"] == 0
    changed(conversation, lease_expires_at=ago(seconds=1))
    result = swept()
    turn.refresh_from_db()
    call.refresh_from_db()
    assert (result.changed["turns"], result.changed["tool_calls"]) == (1, 1)
    assert (turn.outcome, turn.code, call.status, call.code) == (
        "failed",
        "connection_lost",
        "failed",
        "connection_lost",
    )
    assert closed_as(conversation) == ""


def test_a_session_at_the_service_whose_end_nobody_wrote_down_is_closed_with_the_reason(configure):
    configure(tool_timeout=30)
    conversation = opened(ADA)
    lifecycle.claim(str(conversation.pk), OWNER)
    lost = open_upstream(conversation, opened_at=ago(seconds=90))
    assert swept().changed["upstream_sessions"] == 0
    lifecycle.claim(str(conversation.pk), "process-b")
    own = open_upstream(conversation, opened_at=timezone.now())
    changed(conversation, claimed_at=ago(seconds=60))
    assert (swept().changed["upstream_sessions"], swept().changed["upstream_sessions"]) == (1, 0)
    changed(conversation, lease_expires_at=ago(seconds=1))
    assert swept().changed["upstream_sessions"] == 1
    for session in (lost, own):
        session.refresh_from_db()
        assert (bool(session.closed_at), session.close_reason) == (True, "lost: process gone")


def test_a_conversation_that_closes_without_a_call_closes_its_session_at_the_service():
    conversation = opened(ADA)
    session = open_upstream(conversation)
    lifecycle.close(str(conversation.pk), "operator")
    session.refresh_from_db()
    assert session.close_reason == "lost: process gone"


def test_finished_rows_are_left_alone():
    turn = running_turn(opened(ADA))
    type(turn).objects.filter(pk=turn.pk).update(outcome="done")
    swept()
    turn.refresh_from_db()
    assert turn.outcome == "done"


def test_rows_of_a_killed_process_are_closed_though_the_caller_came_back_at_once(configure):
    configure(tool_timeout=30)
    conversation = opened(ADA)
    lifecycle.claim(str(conversation.pk), OWNER)
    lost = running_call(running_turn(conversation, started_at=ago(seconds=60)))
    lifecycle.claim(str(conversation.pk), "process-b")
    own = running_call(running_turn(conversation, index=2))
    settled = LEASE + timedelta(seconds=30)
    changed(conversation, claimed_at=timezone.now() - settled + timedelta(seconds=5))
    assert swept().changed["tool_calls"] == 0
    changed(conversation, claimed_at=timezone.now() - settled)
    assert (swept().changed["tool_calls"], swept().changed["tool_calls"]) == (1, 0)
    lost.refresh_from_db()
    own.refresh_from_db()
    assert (lost.status, own.status) == ("failed", "running")


def test_a_token_that_outlived_its_conversation_is_erased():
    conversation = opened(ADA)
    Conversation.objects.filter(pk=conversation.pk).update(state="closed")
    assert swept().changed["tokens"] == 1
    assert BackendToken.objects.get().ciphertext == ""


def test_the_phone_of_a_stale_link_is_erased_and_that_of_a_good_one_kept():
    stale, good = links.issue("+34600000001"), links.issue("+34600000002")
    PhoneLink.objects.filter(pk=stale.link_id).update(expires_at=ago(seconds=1))
    assert swept().changed["phone_links"] == 1
    assert PhoneLink.objects.get(pk=stale.link_id).phone_ciphertext == ""
    assert PhoneLink.objects.get(pk=good.link_id).phone_ciphertext != ""


def test_one_failing_step_does_not_stop_the_others_case_193(monkeypatch, caplog):
    conversation = changed(opened(ADA), expires_at=ago(seconds=1))
    running_turn(opened(MARA))

    def broken(now):
        raise OperationalError("database is locked")

    steps = [(name, broken if name == "expired" else step) for name, step in lifecycle.SWEEP_STEPS]
    monkeypatch.setattr(lifecycle, "SWEEP_STEPS", steps)
    result = swept()
    assert result.failures == ("expired",)
    assert result.changed["turns"] == 1
    assert closed_as(conversation) == ""
    assert "sweep.failed" in caplog.text


def test_waiting_counts_what_a_sweep_would_change_and_changes_nothing():
    changed(opened(ADA), expires_at=ago(seconds=1))
    running_call(running_turn(opened(MARA)))
    open_upstream(opened(ADA))
    links.issue("+34600000001")
    PhoneLink.objects.update(expires_at=ago(seconds=1))
    counted = lifecycle.waiting(timezone.now())
    assert counted == lifecycle.waiting(timezone.now())
    assert counted == swept().changed
    expected = {"expired": 1, "idle": 0, "tokens": 0, "turns": 1, "tool_calls": 1}
    assert counted == {**expected, "upstream_sessions": 1, "phone_links": 1}
