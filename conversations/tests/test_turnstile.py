"""One turn over HTTP at a time, its lease, and what a process that was killed leaves behind."""

from datetime import timedelta

import pytest
from django.utils import timezone

from conversations import lifecycle, turnstile
from conversations.models import Conversation, ToolCall, Turn, WaitingMessage
from conversations.tests.rows import ago, changed, opened

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation():
    return opened()


def enter(conversation, key="one"):
    return turnstile.enter(str(conversation.pk), key)


def test_only_one_of_two_gets_in_and_the_next_after_it_has_left(conversation):
    assert enter(conversation, "one")
    assert not enter(conversation, "two")
    turnstile.leave(str(conversation.pk), "two")
    assert not enter(conversation, "two")
    turnstile.leave(str(conversation.pk), "one")
    assert enter(conversation, "two")


def test_a_turn_keeps_its_lease_and_the_conversation_awake_until_it_is_closed(conversation):
    enter(conversation)
    changed(conversation, turn_lease_expires_at=ago(seconds=1), last_seen_at=ago(seconds=100))
    assert turnstile.keep(str(conversation.pk), "one") == ""
    kept = Conversation.objects.get()
    assert kept.turn_lease_expires_at > timezone.now() + timedelta(seconds=10)
    assert kept.last_seen_at > ago(seconds=10)
    assert turnstile.keep(str(conversation.pk), "two") == "cancelled"
    lifecycle.close(str(conversation.pk), "operator")
    assert turnstile.keep(str(conversation.pk), "one") == "conversation_closed"
    assert not enter(conversation, "three")


def test_a_turn_that_makes_room_is_told_to_end_and_the_next_enters_once_it_has(conversation):
    assert not turnstile.make_room(str(conversation.pk))
    enter(conversation, "one")
    assert turnstile.make_room(str(conversation.pk))
    assert turnstile.keep(str(conversation.pk), "one") == "cancelled"
    assert not enter(conversation, "two")
    turnstile.leave(str(conversation.pk), "one")
    assert enter(conversation, "two")
    turnstile.leave(str(conversation.pk), "one")
    assert turnstile.keep(str(conversation.pk), "two") == ""


def test_messages_wait_for_a_turn_that_runs_in_their_order_once_and_bounded(conversation):
    assert turnstile.send(str(conversation.pk), {"n": 0}) == "no_turn"
    enter(conversation)
    for number in range(turnstile.MOST_WAITING):
        assert turnstile.send(str(conversation.pk), {"n": number}) == ""
    assert turnstile.send(str(conversation.pk), {"n": 99}) == "full"
    assert [body["n"] for body in turnstile.take(str(conversation.pk))] == list(range(turnstile.MOST_WAITING))
    assert turnstile.take(str(conversation.pk)) == []
    turnstile.send(str(conversation.pk), {"n": 1})
    turnstile.leave(str(conversation.pk), "one")
    assert WaitingMessage.objects.count() == 0


def rows_of_a_turn(conversation, started_at):
    turn = Turn.objects.create(conversation=conversation, index=1, origin="http", started_at=started_at)
    call = ToolCall.objects.create(
        conversation=conversation, turn=turn, sequence=1, selection="brain", started_at=started_at
    )
    return turn, call


def swept(conversation, **lease):
    changed(conversation, **lease)
    lifecycle.sweep(timezone.now())
    return Turn.objects.get().outcome, ToolCall.objects.get().status


def test_the_sweep_leaves_a_turn_that_runs_and_closes_one_whose_process_is_gone(conversation):
    rows_of_a_turn(conversation, ago(seconds=60))
    lease = timezone.now() + timedelta(seconds=10)
    assert swept(conversation, turn_lease_expires_at=lease) == ("running", "running")
    # Its tool may be one that finishes after the turn.
    assert swept(conversation, turn_lease_expires_at=ago(seconds=1)) == ("failed", "running")
    ToolCall.objects.update(started_at=ago(seconds=300))
    assert swept(conversation) == ("failed", "failed")


def test_closing_leaves_the_rows_of_a_turn_that_runs_elsewhere_to_it(conversation):
    turn, _ = rows_of_a_turn(conversation, ago(seconds=5))
    changed(conversation, turn_key="one", turn_lease_expires_at=timezone.now() + timedelta(seconds=10))
    lifecycle.close(str(conversation.pk), "operator")
    turn.refresh_from_db()
    assert turn.outcome == "running"
