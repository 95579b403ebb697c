"""Erasing in the admin: counts first, then done, logged under no name."""

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from conversations import erasure
from conversations.admin import erasing
from conversations.models import Conversation, ToolCall, Turn
from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

LIST = reverse("admin:conversations_conversation_changelist")


def address(row, query=""):
    return reverse("admin:conversations_conversation_erase", args=[row.pk]) + query


def closed(**values):
    long_ago = {"state": "closed", "close_reason": "idle", "closed_at": make.NOON}
    row = make.conversation(backend_user_id="u-1", **{**long_ago, **values})
    make.call(make.turn(row))
    return row


def chosen(*rows, **more):
    return {"action": "erase_selected", "_selected_action": [str(row.pk) for row in rows], **more}


def told(response):
    return [str(message) for message in response.context["messages"]]


def test_erasing_asks_first_with_counts_alone_and_changes_nothing_case_189():
    row = closed()
    response = make.operator().get(address(row))
    page = make.words(response)
    assert "Erase 1 conversation of Marta?" in page
    assert dict(response.context["facts"])["Turns that lose their words"] == "1"
    assert "spoken question" not in page
    assert Turn.objects.get().caller_text
    assert not LogEntry.objects.exists()


def test_the_preview_takes_as_many_queries_for_many_rows_as_for_few_case_189(django_assert_max_num_queries):
    client, row = make.operator(), closed()
    turn = row.turns.get()
    for sequence in range(2, 40):
        make.call(turn, sequence)
    with django_assert_max_num_queries(16):
        response = client.get(address(row))
    assert dict(response.context["facts"])["Tool calls that lose arguments and results"] == "39"


def test_erasing_takes_the_words_and_keeps_the_anonymous_record():
    row = closed()
    response = make.operator().post(address(row), {"keep": "rows"}, follow=True)
    row.refresh_from_db()
    assert (row.caller_name, row.backend_user_id, row.erasure) == ("", "", "words")
    assert Turn.objects.get().caller_text == ToolCall.objects.get().excerpt == ""
    assert told(response) == ["Erased 1 conversation."]
    assert "Anonymous caller" in make.words(response)
    entries = [(entry.object_repr, entry.get_change_message()) for entry in LogEntry.objects.order_by("pk")]
    assert entries == [
        (str(row), "Erased what is known of the caller."),
        ("Erasure", "Erased 1 conversation."),
    ]
    assert "Marta" not in str(entries)


def test_erasing_everything_leads_back_to_the_list():
    row = closed()
    response = make.operator().post(address(row), {"keep": "nothing"})
    assert response.url == LIST
    assert not Conversation.objects.exists()
    assert not ToolCall.objects.exists()


def test_all_conversations_of_a_caller_are_offered_and_erased_and_nobody_elses():
    row, same, other = closed(), closed(), closed()
    Conversation.objects.filter(pk=other.pk).update(backend_user_id="u-2")
    client = make.operator()
    assert "This caller has 1 other conversation:" in make.words(client.get(address(row)))
    assert "Erase 2 conversations of Marta?" in make.words(client.get(address(row, "?caller=1")))
    client.post(address(row, "?caller=1"), {"keep": "rows"})
    left = Conversation.objects.exclude(caller_name="")
    assert [each.pk for each in left] == [other.pk]
    same.refresh_from_db()
    assert same.erasure == "words"


def test_the_other_conversations_of_an_anonymous_caller_are_somebody_elses():
    row, other = closed(), closed()
    Conversation.objects.update(backend_user_id="")
    client = make.operator()
    assert "other conversation" not in make.words(client.get(address(row)))
    client.post(address(row, "?caller=1"), {"keep": "rows"})
    other.refresh_from_db()
    assert other.erasure == ""


def test_an_open_conversation_is_ended_and_finished_by_the_sweep():
    row = closed(state="open", close_reason="", closed_at=None)
    response = make.operator().post(address(row), {"keep": "rows"}, follow=True)
    assert told(response) == ["Erasing 1 conversation: 1 will be finished within minutes."]
    row.refresh_from_db()
    assert (row.state, row.close_reason, row.erased_at) == ("closed", "operator", None)
    assert "being erased" in make.words(response)
    erasure.proceed(timezone.now() + 2 * erasure.SETTLED)
    page = make.words(make.viewer().get(reverse("admin:conversations_conversation_change", args=[row.pk])))
    assert "being erased" not in page
    assert address(row) not in page


def test_the_selected_are_erased_after_a_yes_up_to_a_bound_case_189(monkeypatch):
    monkeypatch.setattr(erasing, "AT_ONCE", 2)
    rows = [closed() for _ in range(3)]
    client = make.operator()
    page = make.words(client.post(LIST, chosen(*rows)))
    assert "Erase 2 selected conversations?" in page
    assert "Only the first 2 of the selection" in page
    assert not Conversation.objects.exclude(erasure="").exists()
    client.post(LIST, chosen(*rows, confirmed="yes", keep="rows"))
    assert Conversation.objects.exclude(erasure="").count() == 2


@pytest.mark.parametrize("person", [make.viewer, make.auditor])
def test_nobody_but_an_operator_erases(person):
    row = closed()
    client = person()
    assert client.get(address(row)).status_code == client.post(address(row)).status_code == 403
    assert address(row) not in make.words(
        client.get(reverse("admin:conversations_conversation_change", args=[row.pk]))
    )
    client.post(LIST, chosen(row, confirmed="yes"))
    row.refresh_from_db()
    assert row.erasure == ""


def test_a_conversation_that_is_not_there_cannot_be_erased():
    row = closed()
    there = address(row)
    row.delete()
    assert make.operator().get(there).status_code == 404
