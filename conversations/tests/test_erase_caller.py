"""`manage.py erase_caller`: a privacy request from the command line."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from conversations.identity import links
from conversations.models import Conversation, PhoneLink, Turn
from conversations.tests.rows import ADA, MARA, ago, changed, opened, running_turn

pytestmark = pytest.mark.django_db


def run(*words):
    out = StringIO()
    call_command("erase_caller", *words, stdout=out)
    return out.getvalue()


def called(identity):
    row = opened(identity)
    turn = running_turn(row)
    Turn.objects.filter(pk=turn.pk).update(outcome="done", caller_text="How many?")
    return changed(row, state="closed", close_reason="idle", closed_at=ago(minutes=5))


@pytest.fixture
def three():
    """Ada, Mara and somebody anonymous; Ada called twice."""
    return [called(ADA), called(ADA)], called(MARA), called(None)


def wordless():
    return set(Turn.objects.filter(caller_text="").values_list("conversation", flat=True))


def test_only_the_caller_of_that_id_is_erased(three):
    ada = three[0]
    answer = json.loads(run("--backend-user", "u-1", "--json"))
    assert (answer["rows"]["conversations"], answer["rows"]["turns"], answer["waiting"]) == (2, 2, 0)
    assert wordless() == {row.pk for row in ada}
    assert {*Conversation.objects.values_list("caller_name", flat=True)} == {"", "Mara Manager"}


def test_one_conversation_alone_can_be_erased(three):
    anonymous = three[2]
    run("--conversation", str(anonymous.pk))
    assert wordless() == {anonymous.pk}


def test_with_rows_nothing_is_left_of_it(three):
    run("--backend-user", "u-1", "--rows")
    assert Conversation.objects.count() == 2


def test_a_dry_run_counts_and_changes_nothing(three):
    said = run("--backend-user", "u-1", "--dry-run")
    assert "conversations: would erase 2" in said
    assert wordless() == set()


def test_it_says_what_is_not_reached(three):
    said = run("--backend-user", "u-1")
    assert "turns: erased 2" in said
    assert "backups" in said
    assert "logs" in said


def test_names_are_listed_and_never_erased(three):
    out = StringIO()
    with pytest.raises(CommandError, match="not unique"):
        call_command("erase_caller", "--name", "a", stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert any(line.startswith("u-1  Ada Admin  2 conversations, last ") for line in lines)
    assert wordless() == set()


@pytest.fixture
def linked(three):
    """An unused link of a phone, and used ones of others that end like it; one is of somebody anonymous."""
    mine, other, used, nameless = (
        links.issue(phone) for phone in ("+34600000001", "+34600000002", "+34611110001", "+34622220001")
    )
    PhoneLink.objects.filter(pk=used.link_id).update(
        conversation=three[0][0], used_at=ago(hours=1), phone_ciphertext=""
    )
    PhoneLink.objects.filter(pk=nameless.link_id).update(
        conversation=three[2], used_at=ago(hours=1), phone_ciphertext=""
    )
    return mine.link_id, other.link_id


def test_a_phone_loses_its_unused_links_and_names_all_who_may_be_meant(three, linked):
    answer = json.loads(run("--phone", "+34 600 000 001", "--json"))
    assert (answer["phone_links"], answer["other_links"]) == (1, 2)
    assert [each["backend_user_id"] for each in answer["callers"]] == ["u-1"]
    assert answer["conversations"] == [str(three[2].pk)]
    erased = PhoneLink.objects.get(pk=linked[0])
    assert (erased.phone_ciphertext, erased.phone_ending) == ("", "")
    assert PhoneLink.objects.get(pk=linked[1]).phone_ciphertext
    assert wordless() == set()


def test_a_phone_is_looked_up_without_being_erased(three, linked):
    said = run("--phone", "+34600000001", "--dry-run")
    assert "unused phone links: would erase 1" in said
    assert "u-1  Ada Admin  2 conversations" in said
    assert f"conversation {three[2].pk}" in said
    assert PhoneLink.objects.get(pk=linked[0]).phone_ciphertext


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--backend-user", "u-9"), "No conversation of that caller"),
        (("--backend-user", ""), "No conversation of that caller"),
        (("--conversation", "nonsense"), "id of a conversation"),
        (("--phone", "nonsense"), "phone"),
        ((), "required"),
    ],
)
def test_nonsense_and_strangers_are_told(words, told, three):
    with pytest.raises(CommandError, match=f"(?i){told}"):
        run(*words)
    assert wordless() == set()
