"""What the speech service spoke, as operators see it."""

import uuid

import pytest
from django.urls import reverse

from conversations import rows
from conversations.admin import words
from conversations.core.records import UpstreamOpened, UpstreamRecognised
from conversations.models import UpstreamSession
from conversations.realtime.dialects import ALL
from conversations.tests import operators as make

CONVERSATIONS = reverse("admin:conversations_conversation_changelist")


def test_every_dialect_has_words_and_a_choice():
    assert set(words.DIALECTS) == set(ALL)


@pytest.mark.django_db
def test_conversations_are_found_by_what_the_service_spoke(client):
    for caller, dialect in (("Marta", "ga"), ("Jordi", "s2s-0.2.12")):
        make.upstream(make.conversation(caller_name=caller), dialect=dialect)
    client = make.signed_in("vera", make.VIEW)
    found = client.get(f"{CONVERSATIONS}?dialect=s2s-0.2.12").context["cl"].result_list
    assert [row.caller_name for row in found] == ["Jordi"]
    page = client.get(reverse("admin:conversations_conversation_change", args=[found[0].pk]))
    assert "speech-to-speech 0.2" in page.text


@pytest.mark.django_db(transaction=True)
def test_the_row_says_what_the_service_turned_out_to_speak():
    key, row = str(uuid.uuid4()), make.conversation()
    opened = UpstreamOpened(key, str(row.pk), "s2s-1.1", "native", (), "i" * 64, 1.0)
    assert rows.write((opened, UpstreamRecognised(key, "s2s-0.2.12"))) == [True, True]
    assert UpstreamSession.objects.get(pk=key).dialect == "s2s-0.2.12"
