"""Session tokens and old contents, erased by an operator: asked once, counted, logged."""

from datetime import timedelta

import pytest
from django.contrib.admin import helpers
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from conversations.models import BackendToken, Conversation, ToolCall, Turn
from conversations.tests import operators as make
from conversations.tests.rows import ago

pytestmark = pytest.mark.django_db

LIST = reverse("admin:conversations_conversation_changelist")
OLDER = reverse("admin:conversations_conversation_cleanup_older")


def token_of(row):
    return reverse("admin:conversations_conversation_erase_token", args=[row.pk])


def tokens_of_caller(row):
    return reverse("admin:conversations_conversation_erase_caller_tokens", args=[row.pk])


def chosen(*rows, **fields):
    keys = [str(row.pk) for row in rows]
    return {"action": "erase_tokens", helpers.ACTION_CHECKBOX_NAME: keys, **fields}


def keeping():
    """The conversations whose token is kept."""
    return set(BackendToken.objects.exclude(ciphertext="").values_list("conversation", flat=True))


def ended():
    return set(Conversation.objects.filter(close_reason="operator").values_list("pk", flat=True))


def told(response):
    return [str(message) for message in get_messages(response.wsgi_request)]


def log():
    return [(entry.object_repr, entry.change_message) for entry in LogEntry.objects.all()]


def old_and_new():
    """A closed conversation with a turn and a call of 40 days ago, one of today, an old one that is open."""
    for state, days in (("closed", 40), ("closed", 0), ("open", 40)):
        row = make.conversation(state=state, opened_at=ago(days=days))
        make.call(make.turn(row, started_at=ago(days=days)))


def worded():
    return Turn.objects.exclude(caller_text="").count()


def filled():
    return ToolCall.objects.exclude(arguments=None).count()


def test_a_token_is_erased_only_after_the_confirmation_and_its_conversation_ends():
    row, bystander = make.conversation(), make.conversation()
    client = make.operator()
    asked = client.get(token_of(row))
    assert asked.context["facts"] == [
        ("Session tokens that would be erased", "1"),
        ("Open conversations that would end", "1"),
    ]
    assert (keeping(), ended()) == ({row.pk, bystander.pk}, set())
    response = client.post(token_of(row), follow=True)
    assert told(response) == ["Erased 1 session token, ended 1 conversation."]
    assert (keeping(), ended()) == ({bystander.pk}, {row.pk})
    assert log() == [(str(row), "Erased the session token.")]


def test_a_token_that_outlived_its_conversation_is_erased_and_the_reason_stays():
    row = make.conversation(state="closed", close_reason="idle")
    make.operator().post(token_of(row))
    row.refresh_from_db()
    assert (keeping(), row.close_reason) == (set(), "idle")


def test_all_tokens_of_one_caller_are_erased_and_nobody_elses():
    mine = [make.conversation(backend_user_id="u-1") for _ in range(2)]
    other, nobody = make.conversation(backend_user_id="u-2"), make.conversation()
    client = make.operator()
    assert client.get(tokens_of_caller(mine[0])).context["facts"][0][1] == "2"
    client.post(tokens_of_caller(mine[0]))
    assert keeping() == {other.pk, nobody.pk}
    assert client.post(tokens_of_caller(nobody)).status_code == 404, "nobody in particular is no caller"


def test_the_selected_lose_their_tokens_only_after_the_confirmation():
    rows, bystander = [make.conversation(), make.conversation(state="closed")], make.conversation()
    client = make.operator()
    asked = client.post(LIST, chosen(*rows))
    assert [count for _, count in asked.context["facts"]] == ["2", "2", "1"]
    assert len(keeping()) == 3
    fields = {}
    for name, value in asked.context["hidden"]:
        fields.setdefault(name, []).append(str(value))
    client.post(LIST, fields)
    assert (keeping(), ended()) == ({bystander.pk}, {rows[0].pk})
    assert len(log()) == 2


def test_where_no_token_is_kept_the_page_offers_no_button():
    row = make.conversation(state="closed")
    BackendToken.objects.update(ciphertext="")
    client = make.operator()
    assert client.get(token_of(row)).context["button"] == ""
    assert told(client.post(token_of(row), follow=True)) == ["Nothing to erase: no token was kept."]
    assert log() == []


def test_what_is_older_is_counted_first_and_erased_only_after_the_confirmation():
    old_and_new()
    client = make.operator()
    assert client.get(OLDER).status_code == 200
    asked = client.post(OLDER, {"days": "30"})
    assert [count for _, count in asked.context["facts"]] == ["1", "1"]
    assert (worded(), filled()) == (3, 3)
    response = client.post(OLDER, {name: str(value) for name, value in asked.context["hidden"]}, follow=True)
    assert told(response) == ["Erased what is older than 30 days: 1 turn, 1 tool call."]
    assert (worded(), filled(), Turn.objects.count(), ToolCall.objects.count()) == (2, 2, 3, 3)
    assert log() == [("Cleanup", "Erased what is older than 30 days: 1 turn, 1 tool call.")]


@pytest.mark.parametrize("days", ["", "0", "-1", "many", "3651"])
def test_nonsense_for_days_is_told_at_the_field_and_erases_nothing(days):
    old_and_new()
    response = make.operator().post(OLDER, {"days": days, "confirmed": "yes"})
    assert response.context["form"].errors["days"]
    assert (worded(), filled()) == (3, 3)


def test_a_turn_that_still_runs_keeps_its_words():
    row = make.conversation(state="closed")
    make.turn(row, outcome="running", started_at=ago(days=40))
    assert make.operator().post(OLDER, {"days": "30"}).context["button"] == ""


@pytest.mark.parametrize("who", ["nobody", "viewer", "auditor"])
def test_only_an_operator_may_erase(who):
    old_and_new()
    row = Conversation.objects.filter(state="open").get()
    Conversation.objects.update(backend_user_id="u-1")
    kept = keeping()
    client = {"nobody": Client, "viewer": make.viewer, "auditor": make.auditor}[who]()
    refused = 302 if who == "nobody" else 403
    for address in (token_of(row), tokens_of_caller(row), OLDER):
        assert client.get(address).status_code == refused
        assert client.post(address, {"days": "30", "confirmed": "yes"}).status_code == refused
    client.post(LIST, chosen(row, confirmed="yes"))
    assert (keeping(), worded(), filled(), log()) == (kept, 3, 3, [])


def test_the_commands_count_and_erase_the_same(capsys):
    old_and_new()
    row = Conversation.objects.filter(state="open").get()
    call_command("erase_tokens", conversation=row.pk, dry_run=True)
    assert len(keeping()) == 3
    call_command("erase_tokens", conversation=row.pk)
    assert (len(keeping()), ended()) == (2, {row.pk})
    call_command("erase_contents", older_than=30, dry_run=True)
    assert worded() == 3
    call_command("erase_contents", older_than=30)
    assert (worded(), filled()) == (1, 1), "the ended one is closed by now"
    assert "session tokens would be erased: 1" in capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("erase_contents", older_than=0)


def test_a_caller_without_an_id_is_nobody_for_the_command():
    make.conversation()
    call_command("erase_tokens", caller="")
    assert len(keeping()) == 1


def test_contents_go_in_batches(monkeypatch):
    monkeypatch.setattr("conversations.contents.BATCH", 2)
    row = make.conversation(state="closed")
    for index in range(1, 6):
        make.turn(row, index, started_at=ago(days=40) + timedelta(seconds=index))
    call_command("erase_contents", older_than=30)
    assert worded() == 0
