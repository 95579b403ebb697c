"""Cleaning up the selected conversations: counted first, done for them alone, logged."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from conversations.models import Conversation, ToolCall
from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

LIST = reverse("admin:conversations_conversation_changelist")


def called(days, **values):
    """A conversation of so many days ago, closed unless it is said otherwise."""
    at = timezone.now() - timedelta(days=days)
    closed = {"state": "closed", "close_reason": "idle", "opened_at": at, "closed_at": at}
    row = make.conversation(**{**closed, **values})
    make.call(make.turn(row, started_at=at), started_at=at)
    return row


def running():
    return make.conversation(state="open", close_reason="", closed_at=None)


def chosen(*rows, **more):
    return {"action": "clean_up_selected", "_selected_action": [str(row.pk) for row in rows], **more}


def payloads():
    return {call.conversation_id for call in ToolCall.objects.exclude(arguments=None)}


def test_it_asks_with_the_counts_and_changes_nothing_by_asking():
    rows = running(), called(40), called(1)
    response = make.operator().post(LIST, chosen(*rows))
    assert "Clean up 3 selected conversations?" in make.words(response)
    facts = {name.partition(":")[0]: count for name, count in response.context["facts"]}
    assert facts["Open conversations"] == "1"
    assert facts["Tool calls whose payloads are past their days"] == "1"
    assert "Tool calls past their days" not in facts
    rows[0].refresh_from_db()
    assert rows[0].state == "open"
    assert payloads() == {rows[1].pk, rows[2].pk}
    assert not LogEntry.objects.exists()


def test_a_yes_ends_the_open_ones_and_applies_retention_to_the_selected_alone():
    live, old, young, other_live, other_old = running(), called(40), called(1), running(), called(40)
    ancient = called(400)
    make.operator().post(LIST, chosen(live, old, young, ancient, confirmed="yes"))
    live.refresh_from_db()
    other_live.refresh_from_db()
    assert (live.state, live.close_reason, live.backend_token.ciphertext) == ("closed", "operator", "")
    assert other_live.state == "open"
    assert payloads() == {young.pk, other_old.pk}
    assert not Conversation.objects.filter(pk=ancient.pk).exists()
    said = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert said[:4] == ["Cleaned up."] * 4
    assert said[4].startswith("Cleaned up: ended 1, transcripts ")


def test_where_nothing_is_due_there_is_nothing_to_say_yes_to():
    page = make.words(make.operator().post(LIST, chosen(called(1))))
    assert "None of the selected is open" in page
    assert "Yes, clean up" not in page


@pytest.mark.parametrize("person", [make.viewer, make.auditor, Client])
def test_nobody_but_an_operator_cleans_up(person):
    live, old = running(), called(40)
    person().post(LIST, chosen(live, old, confirmed="yes"))
    live.refresh_from_db()
    assert live.state == "open"
    assert payloads() == {old.pk}


def test_the_command_does_the_same():
    live, old, other = running(), called(40), called(40)
    ids = [word for row in (live, old) for word in ("--conversation", str(row.pk))]
    out = StringIO()
    call_command("cleanup", *ids, "--dry-run", stdout=out)
    assert "ended: would change 1" in out.getvalue()
    assert payloads() == {old.pk, other.pk}
    call_command("cleanup", *ids, stdout=StringIO())
    live.refresh_from_db()
    assert (live.state, payloads()) == ("closed", {other.pk})
