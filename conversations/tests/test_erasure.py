"""Erasing what is known of one caller: all of theirs, nothing of anybody else's."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone

from conversations import erasure, lifecycle
from conversations.identity import links
from conversations.models import (
    BackendToken,
    Conversation,
    PhoneLink,
    ToolCall,
    Turn,
    UpstreamSession,
    WaitingMessage,
)
from conversations.tests.rows import ADA, MARA, OWNER, ago, changed, open_upstream, opened, running_call
from tools.models import CatalogSnapshot

pytestmark = pytest.mark.django_db

SECRETS = (
    "Ada Admin",
    "u-1",
    "the spoken question",
    "the heard answer",
    "the argument",
    "the result",
    "0001",
)
MODELS = (Conversation, Turn, ToolCall, BackendToken, PhoneLink, CatalogSnapshot, WaitingMessage, LogEntry)


def called(identity, **values):
    """A closed conversation in which something was said, with all that may hang on it."""
    row = opened(identity, episode_id=f"episode of {identity.name}" if identity else "")
    turn = Turn.objects.create(
        conversation=row,
        index=1,
        origin="voice",
        outcome="done",
        caller_text="the spoken question",
        heard_text="the heard answer",
        started_at=ago(minutes=5),
    )
    call = running_call(turn)
    ToolCall.objects.filter(pk=call.pk).update(
        status="completed",
        arguments={"a": "the argument"},
        excerpt="the result",
        sources=["A title"],
        argument_digest="d" * 64,
    )
    invented = running_call(turn, 2)
    ToolCall.objects.filter(pk=invented.pk).update(
        name="tell_ada_admin", status="failed", code="unknown_tool", source=""
    )
    open_upstream(row)
    link = links.issue("+34600000001")
    PhoneLink.objects.filter(pk=link.link_id).update(conversation=row, used_at=ago(minutes=6))
    WaitingMessage.objects.create(conversation=row, body={"d": "the spoken question"}, sent_at=ago(minutes=5))
    if identity:
        CatalogSnapshot.objects.create(
            source="mcp", caller_fingerprint=identity.fingerprint, fetched_at=ago(hours=1), expires_at=ago()
        )
    long_ago = {"state": "closed", "close_reason": "idle", "closed_at": ago(minutes=4)}
    return changed(row, **{**long_ago, **values})


def everything():
    """All that the database says, as one text."""
    return repr([list(model.objects.order_by("pk").values()) for model in MODELS])


@pytest.fixture
def others():
    """Another caller, and an anonymous one; what is known of them must stay as it is."""
    rows = [called(MARA), called(None)]
    before = [list(model.objects.order_by("pk").values()) for model in MODELS]
    yield rows
    kept = [row.pk for row in rows]
    for model, was in zip(MODELS, before, strict=True):
        now = model.objects.order_by("pk").values()
        assert [each for each in now if each in was] == was, model
    assert Conversation.objects.filter(pk__in=kept, erasure="").count() == 2


def erase(conversations, **options):
    erasure.ask(conversations, timezone.now(), **options)
    return erasure.complete(timezone.now())


def test_the_caller_is_gone_and_the_anonymous_record_stays(others):
    row = called(ADA)
    assert erase(erasure.of_caller("u-1")) == 0
    row.refresh_from_db()
    assert (row.caller_name, row.backend_user_id, row.episode_id, row.erasure) == ("", "", "", "words")
    assert row.erased_at is not None
    turn, call = row.turns.get(), row.tool_calls.get(name="get_report")
    assert (turn.caller_text, turn.heard_text, turn.outcome) == ("", "", "done")
    assert (call.arguments, call.excerpt, call.argument_digest, call.status) == (None, "", "", "completed")
    assert call.sources is None
    assert row.tool_calls.get(code="unknown_tool").name == ""
    assert not BackendToken.objects.filter(conversation=row).exists()
    assert not CatalogSnapshot.objects.filter(caller_fingerprint=ADA.fingerprint).exists()
    assert row.phone_links.get().phone_ending == ""


def test_nothing_that_was_known_is_left_in_any_table():
    row = called(ADA)
    entry = LogEntry.objects.create(
        user=User.objects.create_user("olga"),
        content_type=ContentType.objects.get_for_model(Conversation),
        object_id=str(row.pk),
        object_repr=str(row),
        action_flag=CHANGE,
    )
    assert all(word in everything() for word in SECRETS)
    erase([row.pk])
    assert [word for word in SECRETS if word in everything()] == []
    entry.refresh_from_db()
    assert entry.object_repr == "erased"


def test_with_rows_the_record_goes_too(others):
    row = called(ADA)
    erase([row.pk], rows=True)
    for model in (Turn, ToolCall, UpstreamSession):
        assert not model.objects.filter(conversation_id=row.pk).exists()
    assert not Conversation.objects.filter(pk=row.pk).exists()


def test_a_live_call_is_ended_first_and_what_it_still_writes_is_erased_later():
    row = called(ADA, state="open", close_reason="", closed_at=None)
    lifecycle.claim(str(row.pk), OWNER)
    assert erase([row.pk]) == 1
    row.refresh_from_db()
    assert (row.state, row.close_reason, row.caller_name, row.erased_at) == ("closed", "operator", "", None)
    row.turns.update(heard_text="the last words")
    later = timezone.now() + erasure.SETTLED + timedelta(minutes=1)
    assert erasure.proceed(later).finished == 1
    row.refresh_from_db()
    assert row.turns.get().heard_text == ""
    assert row.erased_at == later


def test_a_call_that_still_holds_its_lease_is_not_finished():
    row = called(ADA, lease_expires_at=timezone.now() + timedelta(seconds=10))
    assert erase([row.pk]) == 1
    changed(row, lease_expires_at=None)
    assert erasure.complete(timezone.now()) == 0


def test_a_slice_is_bounded_and_the_next_one_goes_on(monkeypatch):
    monkeypatch.setattr(erasure, "BATCH", 2)
    row = called(ADA)
    turn = row.turns.get()
    for sequence in range(3, 10):
        call = running_call(turn, sequence)
        ToolCall.objects.filter(pk=call.pk).update(status="completed", excerpt="the result")
    erasure.ask([row.pk], timezone.now())
    first = erasure.proceed(timezone.now(), batches=2)
    assert (first.changed, first.finished, first.more) == (4, 0, True)
    assert ToolCall.objects.exclude(excerpt="").count() == 4
    assert erasure.complete(timezone.now()) == 0
    assert not ToolCall.objects.exclude(excerpt="").exists()


def test_who_asked_for_everything_is_not_given_less_by_who_asks_again():
    row = called(ADA)
    erasure.ask([row.pk], timezone.now(), rows=True)
    erasure.ask([row.pk], timezone.now())
    erasure.complete(timezone.now())
    assert not Conversation.objects.filter(pk=row.pk).exists()


def test_the_anonymous_are_nobodys():
    called(None)
    assert erasure.of_caller("") == []


def test_the_preview_counts_without_reading_rows(django_assert_num_queries):
    rows = [called(ADA), called(MARA)]
    with django_assert_num_queries(7):
        counts = erasure.counted([rows[0].pk])
    assert counts == {
        "conversations": 1,
        "open": 0,
        "turns": 1,
        "tool_calls": 2,
        "tokens": 1,
        "catalogs": 1,
        "phone_links": 1,
    }


def test_the_log_says_that_it_was_done_and_of_nobody(caplog):
    caplog.set_level("INFO")
    erase([called(ADA).pk])
    assert "erasure.asked" in caplog.text
    assert [word for word in SECRETS if word in caplog.text.partition("erasure.asked")[2]] == []
