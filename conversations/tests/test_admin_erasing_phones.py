"""Erasing by phone in the admin: the links of that phone, and of the others only who was ticked."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from conversations.identity import links
from conversations.models import Conversation, PhoneLink
from conversations.tests import operators as make
from conversations.tests.rows import ago

pytestmark = pytest.mark.django_db

ADDRESS = reverse("admin:conversations_phonelink_erase")
PHONE = "+34600000001"


def called(phone, **values):
    """A closed conversation that a link for this phone opened."""
    row = make.conversation(**{"state": "closed", "close_reason": "idle", "closed_at": make.NOON, **values})
    make.call(make.turn(row))
    link = links.issue(phone)
    PhoneLink.objects.filter(pk=link.link_id).update(
        conversation=row, used_at=ago(hours=1), phone_ciphertext=""
    )
    return row


@pytest.fixture
def there():
    """The phone's own unused link; three callers whose links end like it, and one whose link does not."""
    return {
        "link": links.issue(PHONE).link_id,
        "meant": called(PHONE, backend_user_id="u-1", caller_name="Ana"),
        "other": called("+34611110001", backend_user_id="u-2", caller_name="Ben"),
        "nameless": called("+34622220001", backend_user_id="", caller_name=""),
        "far": called("+34600000009", backend_user_id="u-9", caller_name="Far"),
    }


def asked(client, **values):
    return client.post(ADDRESS, {"phone": "+34 600 000 001", **values})


def left():
    return set(Conversation.objects.filter(erasure="").values_list("pk", flat=True))


def test_looking_shows_all_who_may_be_meant_and_changes_nothing(there):
    make.conversation(backend_user_id="u-1", caller_name="Ana")
    response = asked(make.operator())
    page = make.words(response)
    assert dict(response.context["facts"])["Unused links of exactly this phone, these are erased"] == "1"
    assert dict(response.context["facts"])["Other links with the same last four digits"] == "3"
    assert "<bdi>u-1</bdi>: 2 conversations, last" in page
    assert "Ben" in page
    assert "Far" not in page
    assert str(there["nameless"].pk) in page
    assert len(left()) == 5
    assert PhoneLink.objects.get(pk=there["link"]).phone_ciphertext
    assert not LogEntry.objects.exists()


def test_a_yes_takes_the_phone_off_its_links_and_leaves_whoever_was_not_ticked(there):
    asked(make.operator(), confirmed="yes", keep="rows")
    link = PhoneLink.objects.get(pk=there["link"])
    assert (link.phone_ciphertext, link.phone_ending) == ("", "")
    assert len(left()) == 4
    (entry,) = LogEntry.objects.all()
    assert entry.get_change_message() == "Erased 1 unused phone link."
    assert PHONE[-4:] not in f"{entry.object_repr}{entry.change_message}"


def test_who_is_ticked_is_erased_with_all_their_conversations(there):
    again = make.conversation(backend_user_id="u-1", caller_name="Ana")
    ticked = {"caller": ["u-1"], "conversation": [str(there["nameless"].pk)]}
    asked(make.operator(), confirmed="yes", keep="rows", **ticked)
    assert left() == {there["other"].pk, there["far"].pk}
    again.refresh_from_db()
    assert (again.state, again.caller_name) == ("closed", "")


def test_who_was_not_shown_cannot_be_ticked(there):
    ticked = {"caller": ["u-9"], "conversation": [str(there["far"].pk)]}
    asked(make.operator(), confirmed="yes", keep="nothing", **ticked)
    assert len(left()) == 4


def test_what_is_no_phone_is_told_so(there):
    assert "This is not a phone number." in make.words(make.operator().post(ADDRESS, {"phone": "nobody"}))


@pytest.mark.parametrize("person", [make.viewer, make.auditor, Client])
def test_nobody_but_an_operator_erases_by_phone(person, there):
    asked(person(), confirmed="yes", keep="rows", caller=["u-1"])
    assert len(left()) == 4
    assert PhoneLink.objects.get(pk=there["link"]).phone_ciphertext
