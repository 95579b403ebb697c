"""`manage.py cleanup`, `phonelink` and `apikey`."""

import json
from io import StringIO
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError

from conversations import retention
from conversations.identity import keys, links
from conversations.models import (
    ApiKey,
    BackendToken,
    Conversation,
    PhoneLink,
    ToolCall,
    Turn,
    UpstreamSession,
)
from conversations.tests.rows import ADA, MARA, ago, changed, opened, running_call, running_turn
from tools.models import CatalogSnapshot

pytestmark = pytest.mark.django_db


def run(*words):
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def cleaned(*words):
    return json.loads(run("cleanup", "--json", *words))


def closed(days, identity=ADA):
    """A closed conversation of so many days ago, with a finished turn, its call, and an upstream session."""
    when = ago(days=days)
    conversation = opened(identity)
    turn = running_turn(conversation, started_at=when)
    call = running_call(turn)
    Turn.objects.filter(pk=turn.pk).update(outcome="done", caller_text="How many?", heard_text="Eight.")
    ToolCall.objects.filter(pk=call.pk).update(
        status="completed", arguments={"a": 1}, excerpt="eight", sources=["A"]
    )
    UpstreamSession.objects.create(conversation=conversation, dialect="ga", opened_at=when)
    return changed(conversation, opened_at=when, state="closed", close_reason="idle")


def test_cleanup_closes_what_is_over_and_erases_its_token():
    changed(opened(ADA), expires_at=ago(seconds=1))
    assert cleaned()["rows"]["expired"] == 1
    assert Conversation.objects.get().close_reason == "expired"
    assert BackendToken.objects.get().ciphertext == ""


def test_words_and_payloads_go_after_their_days_and_the_rows_stay(configure):
    configure(retention_transcripts=30, retention_payloads=30)
    old, young = closed(31), closed(29, MARA)
    rows = cleaned()["rows"]
    assert (rows["transcripts"], rows["payloads"], rows["old_turns"]) == (1, 1, 0)
    turn, call = Turn.objects.get(conversation=old), ToolCall.objects.get(conversation=old)
    assert (turn.caller_text, turn.heard_text, turn.outcome) == ("", "", "done")
    assert (call.arguments, call.excerpt, call.sources, call.status) == (None, "", None, "completed")
    assert Turn.objects.get(conversation=young).heard_text == "Eight."
    assert ToolCall.objects.get(conversation=young).arguments == {"a": 1}


def test_rows_go_after_theirs_with_everything_that_hangs_on_them(configure):
    configure(retention_rows=365)
    closed(366)
    kept = closed(364, MARA)
    links.issue("+34600000001")
    PhoneLink.objects.update(expires_at=ago(days=366))
    moment = ago(days=40)
    CatalogSnapshot.objects.create(source="mcp", caller_fingerprint="f", fetched_at=moment, expires_at=moment)
    cleaned()
    assert Conversation.objects.get() == kept
    for model in (Turn, ToolCall, UpstreamSession, BackendToken):
        assert model.objects.count() == 1, model
    assert not PhoneLink.objects.exists()
    assert not CatalogSnapshot.objects.exists()


def test_an_open_conversation_is_never_pruned(configure):
    configure(retention_rows=0, conversation_idle=86_400)
    turn = running_turn(opened(ADA), started_at=ago(days=400))
    Turn.objects.filter(pk=turn.pk).update(outcome="done")
    cleaned()
    assert Turn.objects.filter(pk=turn.pk).exists()


def test_a_dry_run_counts_the_same_and_changes_nothing(configure):
    configure(retention_rows=365)
    closed(366)
    changed(opened(MARA), last_seen_at=ago(days=1))
    counted = cleaned("--dry-run")
    assert counted["dry_run"] is True
    assert counted == cleaned("--dry-run")
    done = cleaned()["rows"]
    assert {
        name: counted["rows"][name] for name in ("idle", "transcripts", "payloads", "old_tool_calls")
    } == {name: done[name] for name in ("idle", "transcripts", "payloads", "old_tool_calls")}
    assert done["idle"] == 1


def test_a_second_cleanup_finds_nothing():
    closed(400)
    cleaned()
    assert set(cleaned()["rows"].values()) == {0}


def test_more_than_a_batch_is_cleaned_in_one_run(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    for _ in range(5):
        closed(31)
    assert cleaned()["rows"]["transcripts"] == 5


def test_one_table_that_fails_does_not_stop_the_others_and_is_named_case_193(monkeypatch):
    closed(400)
    steps = dict(retention.STEPS)

    def refuse(batch):
        raise DatabaseError("locked")

    steps["old_conversations"] = retention.Step(steps["old_conversations"].overdue, refuse)
    monkeypatch.setattr(retention, "STEPS", steps)
    out = StringIO()
    with pytest.raises(CommandError, match="old_conversations"):
        call_command("cleanup", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert answer["failures"] == ["old_conversations"]
    assert answer["rows"]["old_turns"] == 1
    assert Conversation.objects.count() == 1
    assert not Turn.objects.exists()


def test_people_read_lines():
    closed(31)
    assert "transcripts: would change 1" in run("cleanup", "--dry-run")
    assert "transcripts: changed 1" in run("cleanup")


def test_a_phone_link_is_printed_and_works(configure):
    configure(public_url="https://talk.example")
    address = run("phonelink", "+34 600 000 001", "--minutes", "5").strip()
    link = parse_qs(urlsplit(address).query)["link"][0]
    assert address.startswith("https://talk.example/?link=")
    assert links.look_up(link, "").phone == "+34600000001"


@pytest.mark.parametrize(
    "words", [("nonsense",), ("+34600000001", "--minutes", "0"), ("+34600000001", "--minutes", "999999")]
)
def test_a_phone_link_for_nonsense_is_refused(words):
    with pytest.raises(CommandError):
        run("phonelink", *words)
    assert not PhoneLink.objects.exists()


def test_a_key_is_printed_once_and_revoked_by_name():
    text = run("apikey", "shop").strip()
    assert keys.holder(text).name == "shop"
    assert run("apikey", "shop", "--revoke").strip() == "revoked"
    assert keys.holder(text) is None
    with pytest.raises(CommandError, match="in use"):
        run("apikey", "shop", "--revoke")


@pytest.mark.parametrize("name", ["", "  ", "n" * 101])
def test_a_key_needs_a_name(name):
    with pytest.raises(CommandError, match="characters"):
        run("apikey", name)
    assert not ApiKey.objects.exists()
