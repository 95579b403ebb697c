"""The cleanup beside others on PostgreSQL: it waits for nobody for long, and nobody waits for it."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from conversations import erasure, locks, retention
from conversations.models import CleanupRun, Conversation, ToolCall, Turn
from conversations.tests import operators as make
from conversations.tests.another_connection import another

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database_server]


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch):
    monkeypatch.setattr(locks, "WAIT", "200ms")


@pytest.fixture
def old():
    """Five closed conversations of long ago."""
    return [called(timezone.now() - timedelta(days=400 + number)) for number in range(5)]


def called(at):
    row = make.conversation(
        state="closed", close_reason="idle", opened_at=at, last_seen_at=at, expires_at=at, closed_at=at
    )
    make.call(make.turn(row, started_at=at), started_at=at)
    return row


def test_a_row_that_somebody_holds_is_left_for_the_next_time_case_193(old):
    held = old[2].tool_calls.get()
    with another() as cursor:
        cursor.execute("SELECT 1 FROM conversations_toolcall WHERE id = %s FOR UPDATE", [held.pk])
        cleaned = retention.clean_up(timezone.now())
    # Its turn cannot go either, and that is the one thing that could not be done.
    assert cleaned.rows["old_tool_calls"] == 4
    assert list(ToolCall.objects.values_list("pk", flat=True)) == [held.pk]
    assert retention.clean_up(timezone.now()).failures == ()
    assert not Conversation.objects.exists()


def test_a_locked_table_stops_its_own_step_alone_case_193(old):
    with another() as cursor:
        cursor.execute("LOCK TABLE conversations_phonelink IN ACCESS EXCLUSIVE MODE")
        cleaned = retention.clean_up(timezone.now())
    assert {"phone_links", "old_phone_links"} <= set(cleaned.failures)
    assert not {"old_tool_calls", "old_turns", "transcripts"} & set(cleaned.failures)
    assert not Turn.objects.exists()
    assert CleanupRun.objects.get().failures == list(cleaned.failures)


def test_inserts_wait_for_no_batch(old, monkeypatch):
    """While a batch is being deleted and not yet committed, a live call writes its rows."""
    live = make.conversation()
    inserted = []

    def insert(batch):
        batch.delete()
        with another() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1s'")
            cursor.execute(
                "INSERT INTO conversations_turn (id, conversation_id, index, origin, caller_text, heard_text,"
                " outcome, code, ref, rating, started_at) VALUES (gen_random_uuid(), %s, %s, 'voice', '', '',"
                " 'running', '', '', '', now()) RETURNING index",
                [live.pk, len(inserted) + 1],
            )
            inserted.append(cursor.fetchone()[0])

    steps = {name: retention.Step(step.overdue, insert) for name, step in retention.STEPS.items()}
    chosen = ("old_tool_calls", "old_turns", "old_conversations")
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "STEPS", {name: steps[name] for name in chosen})
    assert retention.clean_up(timezone.now()).failures == ()
    assert inserted == list(range(1, 10))


def test_two_cleanups_at_once_share_the_work(old, monkeypatch):
    """A batch that one has locked is not waited for by the other."""
    with transaction.atomic():
        first = retention.STEPS["old_tool_calls"].overdue(timezone.now())
        held = [row.pk for row in first.select_for_update(skip_locked=True, of=("self",)).only("pk")[:3]]
        with another() as cursor:
            cursor.execute(
                "SELECT count(*) FROM (SELECT 1 FROM conversations_toolcall FOR UPDATE SKIP LOCKED) AS free"
            )
            assert cursor.fetchone() == (2,)
    assert len(held) == 3


def test_an_erasure_beside_a_held_row_is_finished_when_it_is_free(old):
    row = old[0]
    with another() as cursor:
        cursor.execute("SELECT 1 FROM conversations_turn WHERE conversation_id = %s FOR UPDATE", [row.pk])
        erasure.ask([row.pk], timezone.now())
        assert erasure.complete(timezone.now()) == 1
        assert Turn.objects.get(conversation=row).heard_text
        assert not ToolCall.objects.get(conversation=row).excerpt
    assert erasure.complete(timezone.now()) == 0
    assert not Turn.objects.get(conversation=row).heard_text
