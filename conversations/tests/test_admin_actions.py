"""What an operator does: asked once, done by the same functions as everywhere, and logged."""

from datetime import timedelta
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from conversations import retention
from conversations.admin import words
from conversations.identity import keys, links
from conversations.models import ApiKey, Conversation, PhoneLink
from conversations.tests import operators as make

pytestmark = pytest.mark.django_db

CONVERSATIONS = reverse("admin:conversations_conversation_changelist")
CLEANUP = reverse("admin:conversations_conversation_cleanup")
MAKE_LINK = reverse("admin:conversations_phonelink_make")
MAKE_KEY = reverse("admin:conversations_apikey_make")
PHONE = "+34600000001"


def end_address(row):
    return reverse("admin:conversations_conversation_end", args=[row.pk])


def log():
    return [(entry.object_repr, entry.get_change_message()) for entry in LogEntry.objects.order_by("pk")]


def told(response):
    return [str(message) for message in response.context["messages"]]


def chosen(*rows, **more):
    return {"action": "end_selected", "_selected_action": [str(row.pk) for row in rows], **more}


def test_ending_asks_first_and_changes_nothing_by_asking():
    row = make.conversation()
    page = make.words(make.operator().get(end_address(row)))
    row.refresh_from_db()
    assert "End the conversation of Marta?" in page
    assert row.state == "open"
    assert log() == []


def test_ending_closes_the_conversation_for_the_operator_and_erases_the_token():
    row = make.conversation()
    response = make.operator().post(end_address(row), follow=True)
    row.refresh_from_db()
    assert (row.state, row.close_reason) == ("closed", "operator")
    assert row.backend_token.ciphertext == ""
    assert told(response) == ["Ended 1 conversation."]
    assert log() == [(str(row), "Ended the conversation.")]


def test_ending_twice_is_told_and_logged_once():
    row, client = make.conversation(), make.operator()
    client.post(end_address(row))
    assert told(client.post(end_address(row), follow=True))[-1] == "Nothing to end: it was closed already."
    assert len(log()) == 1


def test_a_closed_conversation_offers_no_end():
    row = make.conversation(state="closed", close_reason="idle")
    page = make.words(make.operator().get(reverse("admin:conversations_conversation_change", args=[row.pk])))
    assert end_address(row) not in page


def test_no_action_works_without_the_csrf_token():
    row, client = make.conversation(), make.operator(csrf=True)
    for address in (end_address(row), CLEANUP, MAKE_LINK, MAKE_KEY, CONVERSATIONS):
        assert client.post(address, chosen(row, confirmed="yes", phone=PHONE, name="x")).status_code == 403
    assert Conversation.objects.get().state == "open"
    assert not PhoneLink.objects.exists()
    assert not ApiKey.objects.exists()


def test_ending_the_selected_shows_the_counts_and_waits_for_the_confirmation():
    rows = [make.conversation(), make.conversation(), make.conversation(state="closed", close_reason="idle")]
    response = make.operator().post(CONVERSATIONS, chosen(*rows))
    assert response.context["facts"] == [
        ("Selected", 3),
        ("Open, these will be ended", 2),
        ("Closed already, nothing happens to these", 1),
    ]
    assert Conversation.objects.filter(state="open").count() == 2


def test_the_confirmation_page_ends_exactly_the_selected_that_are_open():
    rows = [make.conversation(), make.conversation(state="closed", close_reason="idle")]
    bystander = make.conversation()
    client = make.operator()
    asked = client.post(CONVERSATIONS, chosen(*rows))
    fields = {}
    for name, value in asked.context["hidden"]:
        fields.setdefault(name, []).append(str(value))
    response = client.post(CONVERSATIONS, fields, follow=True)
    assert told(response) == ["Ended 1 conversation."]
    for row in (*rows, bystander):
        row.refresh_from_db()
    assert [row.close_reason for row in rows] == ["operator", "idle"]
    assert bystander.state == "open"
    assert log() == [(str(rows[0]), "Ended the conversation.")]


def test_a_viewer_is_not_offered_to_end_the_selected_and_cannot():
    row = make.conversation()
    make.viewer().post(CONVERSATIONS, chosen(row, confirmed="yes"))
    row.refresh_from_db()
    assert row.state == "open"


def test_the_cleanup_shows_what_it_would_change_and_changes_nothing():
    long_ago = timezone.now() - timedelta(hours=5)
    make.conversation(opened_at=long_ago, last_seen_at=long_ago, expires_at=long_ago)
    response = make.operator().get(CLEANUP)
    assert response.context["facts"] == [("Conversations at the end of their time: close", "1")]
    assert Conversation.objects.get().state == "open"
    assert log() == []


def test_the_cleanup_does_what_it_showed_and_is_logged():
    long_ago = timezone.now() - timedelta(hours=5)
    row = make.conversation(opened_at=long_ago, last_seen_at=long_ago, expires_at=long_ago)
    response = make.operator().post(CLEANUP, follow=True)
    row.refresh_from_db()
    assert (row.state, row.close_reason) == ("closed", "expired")
    assert told(response) == ["Cleaned up: expired 1."]
    assert log() == [("Cleanup", "Cleaned up: expired 1.")]


def test_every_step_of_the_cleanup_has_words():
    of_all, of_some = retention.clean_up, partial(retention.clean_chosen, [])
    done = [of(now=timezone.now(), dry_run=True).rows for of in (of_all, of_some)]
    assert set(words.CLEANUP) == {*done[0], *done[1]}


def test_with_nothing_to_clean_up_the_page_says_so_and_offers_no_button():
    page = make.words(make.operator().get(CLEANUP))
    assert "There is nothing to clean up now" in page
    assert "vo-button-danger" not in page


def test_failed_steps_of_a_cleanup_are_told(monkeypatch):
    monkeypatch.setattr(retention, "clean_up", lambda now: retention.Cleaned({"idle": 2}, ("payloads",)))
    response = make.operator().post(CLEANUP, follow=True)
    assert told(response) == ["Cleaned up: idle 2. Failed: payloads."]


def test_a_phone_link_is_shown_once_and_works():
    client = make.operator()
    response = client.post(MAKE_LINK, {"phone": "0034 600 000 001"})
    address = response.context["value"]
    found = links.look_up(parse_qs(urlsplit(address).query)["link"][0], "")
    assert urlsplit(address).netloc == "testserver"
    assert found == links.Unused(PhoneLink.objects.get().pk, PHONE)
    assert "no-store" in response.headers["Cache-Control"]
    for page in ("changelist", "change"):
        pk = [PhoneLink.objects.get().pk] if page == "change" else []
        seen = make.words(client.get(reverse(f"admin:conversations_phonelink_{page}", args=pk)))
        assert "0001" in seen
        assert PHONE[1:] not in seen
        assert address not in seen


def test_making_a_phone_link_is_logged_with_its_maker_and_without_the_phone():
    make.operator().post(MAKE_LINK, {"phone": PHONE})
    assert PhoneLink.objects.get().made_by == "olga"
    assert log() == [("link for …0001", "Made a phone link.")]


@pytest.mark.parametrize("phone", ["", "12", "not a phone", "+34 <script>"])
def test_what_is_no_phone_is_told_at_the_field(phone):
    response = make.operator().post(MAKE_LINK, {"phone": phone})
    assert response.context["form"].errors["phone"]
    assert not PhoneLink.objects.exists()


def test_links_are_listed_as_waiting_used_or_expired():
    links.issue(PHONE)
    links.issue(PHONE, lifetime=timedelta(seconds=-1))
    used = links.issue(PHONE)
    links.consume(used.link_id, "hash", make.conversation(), timezone.now())
    page = make.words(make.operator().get(reverse("admin:conversations_phonelink_changelist")))
    for state in ("waiting", "used", "expired"):
        assert page.count(f"\n{state}\n") == 1


def test_an_api_key_is_shown_once_and_works():
    client = make.operator()
    text = client.post(MAKE_KEY, {"name": "kiosk"}).context["value"]
    key = keys.holder(text)
    assert key.name == "kiosk"
    assert log() == [("kiosk", "Made an API key.")]
    seen = make.words(client.get(reverse("admin:conversations_apikey_change", args=[key.pk])))
    assert text not in seen
    assert key.key_hash not in seen


def test_revoking_asks_first_and_then_ends_every_key_of_that_name():
    made = [keys.make("kiosk"), keys.make("kiosk"), keys.make("other")]
    client, address = make.operator(), reverse("admin:conversations_apikey_revoke", args=[made[0].key_id])
    assert client.get(address).context["facts"] == [("Keys of this name that are good now", 2)]
    assert keys.holder(made[0].text)
    assert told(client.post(address, follow=True)) == ["Revoked 2 keys of kiosk."]
    assert [bool(keys.holder(key.text)) for key in made] == [False, False, True]
    assert log() == [("kiosk", "Revoked."), ("kiosk", "Revoked.")]
