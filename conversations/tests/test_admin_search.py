"""How an operator finds the conversation that somebody complains about."""

import secrets
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from conversations.admin.troubles import TURNS_A_PAGE
from conversations.models import ToolCall
from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

CONVERSATIONS = reverse("admin:conversations_conversation_changelist")
CALLS = reverse("admin:conversations_toolcall_changelist")


def found(query, address=CONVERSATIONS):
    client = make.signed_in(secrets.token_hex(8), make.VIEW)
    return {str(row) for row in client.get(f"{address}?{query}").context["cl"].result_list}


@pytest.fixture
def marta():
    return make.conversation(caller_name="Marta Vidal", backend_user_id="usr-1")


@pytest.fixture(autouse=True)
def jordi():
    return make.conversation(caller_name="Jordi", state="closed", close_reason="idle")


def test_a_part_of_the_name_finds_the_caller(marta):
    assert found("q=vidal") == {str(marta)}


def test_an_id_or_its_beginning_finds_the_conversation(marta):
    assert found(f"q={marta.pk}") == {str(marta)}
    assert found(f"q={str(marta.pk)[:8]}") == {str(marta)}
    assert found(f"q={str(marta.pk)[:13].upper()}") == {str(marta)}


def test_an_id_or_its_beginning_finds_the_tool_call_and_those_of_a_conversation(marta):
    one = make.call(make.turn(marta))
    make.call(make.turn(make.conversation(caller_name="Nil")), name="list_reports")
    for term in (one.pk, str(one.pk)[:13], marta.pk, str(marta.pk)[:13]):
        assert found(f"q={term}", CALLS) == {str(one)}


@pytest.mark.parametrize("read_out", ["K7M2XQD", "k7m2xqd", "k7m-2xqd", " k7m 2xqd "])
def test_a_ref_finds_its_conversation_however_it_was_read_out(marta, read_out):
    make.turn(marta, outcome="failed", ref="K7M2XQD")
    assert found(f"q={read_out}") == {str(marta)}


def test_the_ref_of_a_tool_call_finds_its_conversation_and_the_call(marta):
    one = make.call(make.turn(marta), status="failed", code="timeout", ref="ABCDEFG")
    assert found("q=abcdefg") == {str(marta)}
    assert found("q=abcdefg", CALLS) == {str(one)}


def test_words_of_a_transcript_find_nothing(marta):
    make.call(make.turn(marta, caller_text="unmistakable"), excerpt="unmistakable")
    assert found("q=unmistakable") == found("q=unmistakable", CALLS) == set()


def test_the_conversation_opens_at_the_turn_of_the_ref_and_marks_it(marta):
    for index in range(1, TURNS_A_PAGE + 4):
        last = index == TURNS_A_PAGE + 3
        make.turn(marta, index, outcome="failed" if last else "done", ref="K7M2XQD" if last else "")
    client = make.viewer()
    row = client.get(f"{CONVERSATIONS}?q=k7m2xqd").content.decode()
    address = reverse("admin:conversations_conversation_change", args=[marta.pk])
    assert f'href="{address}?_changelist_filters=q%3Dk7m2xqd"' in row
    page = make.words(client.get(f"{address}?_changelist_filters=q%3Dk7m2xqd"))
    assert f'<article class="vo-card vo-found" id="turn-{TURNS_A_PAGE + 3}"' in page


def test_the_states_are_live_open_and_closed(marta, jordi):
    assert found("state=live") == set()
    assert found("state=open") == {str(marta)}
    assert found("state=closed") == {str(jordi)}
    marta.owner, marta.lease_expires_at = "web-1", timezone.now() + timedelta(seconds=10)
    marta.save()
    assert found("state=live") == {str(marta)}
    marta.lease_expires_at = timezone.now() - timedelta(seconds=1)
    marta.save()
    assert found("state=live") == set()


def test_trouble_finds_failures_but_no_change_of_mind(marta, jordi):
    make.call(make.turn(jordi), status="failed", code="cancelled")
    assert found("trouble=any") == set()
    make.call(make.turn(marta), status="failed", code="timeout")
    assert found("trouble=any") == found("trouble=tool") == {str(marta)}
    assert found("trouble=turn") == set()
    make.turn(jordi, 2, outcome="failed")
    assert found("trouble=turn") == {str(jordi)}


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("name=get_report", True),
        ("name=list_reports", False),
        ("source=aquaportal", True),
        ("source=none", False),
        ("selection__exact=native", True),
        ("selection__exact=marker", False),
        ("status__exact=failed", True),
        ("status__exact=completed", False),
        ("code=timeout", True),
        ("code=forbidden", False),
        ("took=usual", True),
        ("took=quick", False),
        ("took=slow", False),
        ("took=nonsense", True),
        ("caller=usr-1", True),
        ("caller=usr-2", False),
        ("q=usr-1", True),
        ("q=get_re", True),
        ("q=marta", True),
        ("q=jordi", False),
    ],
)
def test_tool_calls_are_narrowed_by_what_they_are(marta, query, matches):
    one = make.call(make.turn(marta), status="failed", code="timeout")
    assert found(query, CALLS) == ({str(one)} if matches else set())


def test_conversations_are_narrowed_by_how_the_caller_asked(marta, jordi):
    make.turn(marta)
    make.turn(jordi, origin="http")
    assert found("origin=voice") == {str(marta)}
    assert found("origin=http") == {str(jordi)}
    assert found("origin=text") == set()
    assert found("origin=nonsense") == {str(marta), str(jordi)}


def test_the_id_at_the_backend_finds_the_callers_conversations(marta):
    assert found("q=usr-1") == {str(marta)}
    assert found("q=usr") == set()


def test_a_call_that_was_never_run_has_no_source(marta):
    make.call(make.turn(marta), source="", status="failed", code="unknown_tool", name="")
    assert found("source=none", CALLS) == {str(ToolCall.objects.get())}


def test_an_empty_list_says_so_in_words(marta):
    client = make.viewer()
    assert "No tool has been called yet." in make.words(client.get(CALLS))
    assert "No row is found for “zzz”" in " ".join(
        make.words(client.get(f"{CONVERSATIONS}?q=zzz")).replace("<bdi>", "").replace("</bdi>", "").split()
    )
