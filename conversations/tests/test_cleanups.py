"""What is remembered of cleanups, and who is told when one goes wrong."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from conversations import cleanups, retention
from conversations.models import CleanupRun
from conversations.tests import operators as make
from conversations.tests.rows import ADA, ago, changed, opened

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3)
HOME = reverse("admin:index")
CLEANUP = reverse("admin:conversations_conversation_cleanup")


@pytest.fixture
def broken(monkeypatch):
    """A database that refuses to erase transcripts."""

    def refuse(now):
        raise DatabaseError("a row's own words")

    step = retention.Step(refuse, retention.STEPS["transcripts"].apply)
    monkeypatch.setattr(retention, "STEPS", {**retention.STEPS, "transcripts": step})


def run(ended_at=NOW, failures=()):
    return CleanupRun(started_at=ended_at, ended_at=ended_at, failures=list(failures))


def test_a_cleanup_is_remembered_with_what_it_changed():
    changed(opened(ADA), expires_at=ago(seconds=1))
    before = timezone.now()
    retention.clean_up(timezone.now())
    kept = CleanupRun.objects.get()
    assert before <= kept.started_at <= kept.ended_at == cleanups.last_success()
    assert (kept.rows["expired"], kept.rows["tokens"], kept.failures) == (1, 0, [])


def test_a_dry_run_is_not_a_cleanup():
    retention.clean_up(timezone.now(), dry_run=True)
    assert cleanups.last_run() is None


def test_a_cleanup_that_failed_is_no_success(broken):
    with pytest.raises(CommandError, match="transcripts"):
        call_command("cleanup")
    assert cleanups.last_run().failures == ["transcripts"]
    assert cleanups.last_success() is None


def test_notes_of_cleanups_go_with_the_rows(configure):
    configure(retention_rows=10)
    run(ago(days=11)).save()
    run(ago(days=9)).save()
    assert retention.clean_up(timezone.now()).rows["old_cleanup_runs"] == 1
    assert CleanupRun.objects.count() == 2


@pytest.mark.parametrize(
    ("last", "success", "first_opened", "told"),
    [
        (None, None, None, ""),
        (None, None, NOW - timedelta(hours=47), ""),
        (None, None, LONG_AGO, "No cleanup has succeeded yet"),
        (run(), NOW, LONG_AGO, ""),
        (run(LONG_AGO), LONG_AGO, LONG_AGO, "No cleanup has succeeded since 27 Nov 12:00 UTC"),
        (run(failures=["old_turns"]), LONG_AGO, LONG_AGO, "(30 Nov 12:00 UTC) failed in: old turns."),
    ],
)
def test_trouble_is_a_failure_or_no_success_for_too_long(last, success, first_opened, told):
    said = cleanups.judged(last, success, first_opened, NOW)
    assert told in said
    assert bool(told) == bool(said)


def test_a_failed_cleanup_shows_in_the_probe_and_makes_nobody_unready(broken):
    retention.clean_up(timezone.now())
    response = Client().get("/readyz")
    assert (response.status_code, response.json()["failing"]) == (200, [])
    assert "failed in: transcripts" in response.json()["details"]["retention"]
    assert "words" not in response.content.decode()


def test_a_failed_cleanup_shows_on_the_first_page_until_one_succeeds(broken, monkeypatch):
    retention.clean_up(timezone.now())
    client = make.viewer()
    assert "failed in: transcripts" in make.words(client.get(HOME))
    assert CLEANUP not in make.words(client.get(HOME))
    assert CLEANUP in make.words(make.operator().get(HOME))
    monkeypatch.undo()
    retention.clean_up(timezone.now())
    assert "failed in" not in make.words(client.get(HOME))


def test_somebody_without_permission_is_told_nothing_of_it(broken):
    retention.clean_up(timezone.now())
    assert "failed in" not in make.words(make.signed_in("nils").get(HOME))


def test_the_page_of_the_cleanup_says_how_the_last_one_went(broken, monkeypatch):
    client = make.operator()
    assert "could not be counted, their tables are busy: transcripts." in make.words(client.get(CLEANUP))
    retention.clean_up(timezone.now())
    assert "failed in: transcripts" in make.words(client.get(CLEANUP))
    monkeypatch.undo()
    retention.clean_up(timezone.now())
    assert "and all of it was done" in make.words(client.get(CLEANUP))
