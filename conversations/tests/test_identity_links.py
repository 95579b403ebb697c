"""Signed phone links and API keys."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from conversations.identity import binding, keys, links
from conversations.identity.links import Unused, Used
from conversations.identity.refusal import Refused
from conversations.lifecycle import close
from conversations.models import ApiKey, PhoneLink
from conversations.tests.rows import ADA, ago, opened

pytestmark = pytest.mark.django_db
PHONE = "+34600000001"
MINE = binding.digest("mine")


def text_of(issued):
    return parse_qs(urlsplit(issued.address).query)["link"][0]


def refusal(link, browser_hash=""):
    with pytest.raises(Refused) as refused:
        links.look_up(link, browser_hash)
    return refused.value.code


def used_by_me():
    issued = links.issue(PHONE)
    return text_of(issued), opened(ADA, cookie="mine", link_id=issued.link_id)


def test_a_fresh_link_leads_to_its_phone(configure):
    configure(public_url="https://talk.example")
    issued = links.issue(" 34 600 000 001")
    assert issued.address.startswith("https://talk.example/?link=")
    assert links.look_up(text_of(issued), "") == Unused(issued.link_id, PHONE)


def test_the_phone_is_neither_in_the_link_nor_readable_in_the_row():
    issued = links.issue(PHONE, made_by="olga")
    row = PhoneLink.objects.get()
    assert "600000001" not in issued.address
    assert "600000001" not in row.phone_ciphertext
    assert (row.phone_ending, row.made_by) == ("0001", "olga")
    assert "600000001" not in repr(links.look_up(text_of(issued), ""))
    assert text_of(issued) not in repr(issued)


def test_a_changed_or_foreign_link_is_invalid(settings):
    link = text_of(links.issue(PHONE))
    for wrong in ("", "x", link[:-1], link + "x", link.replace(".", ""), "AAAA" + link[4:]):
        assert refusal(wrong) == "invalid"
    settings.SECRET_KEY = "another-" + "y" * 50
    assert refusal(link) == "invalid"


def test_a_link_ends_with_its_lifetime():
    link = text_of(links.issue(PHONE, timedelta(minutes=5)))
    PhoneLink.objects.update(expires_at=ago(seconds=1))
    assert refusal(link) == "link_expired"


def test_a_link_whose_row_was_pruned_has_expired():
    link = text_of(links.issue(PHONE))
    PhoneLink.objects.all().delete()
    assert refusal(link) == "link_expired"


def test_a_used_link_goes_on_for_the_browser_that_used_it_and_nobody_else():
    link, conversation = used_by_me()
    assert links.look_up(link, MINE) == Used(conversation.pk)
    assert refusal(link, binding.digest("theirs")) == "link_used"
    assert refusal(link, "") == "link_used"


def test_a_used_link_ends_with_its_conversation():
    link, conversation = used_by_me()
    close(str(conversation.pk), "caller_cleanup")
    assert refusal(link, MINE) == "link_used"


def test_using_a_link_erases_its_phone():
    used_by_me()
    assert PhoneLink.objects.get().phone_ciphertext == ""


def test_an_expired_link_is_not_used_up_even_where_it_was_looked_up_in_time():
    issued = links.issue(PHONE)
    PhoneLink.objects.update(expires_at=ago(seconds=1))
    with pytest.raises(Refused):
        opened(ADA, link_id=issued.link_id)


def test_what_is_no_phone_gets_no_link():
    with pytest.raises(ValueError, match="international form"):
        links.issue("not a phone")
    assert not PhoneLink.objects.exists()


def test_a_key_is_kept_as_a_hash_and_finds_its_row():
    made = keys.make("shop")
    assert made.text.startswith("vk_")
    assert made.text not in repr(made)
    row = ApiKey.objects.get()
    assert made.text not in (row.key_hash, row.name)
    assert keys.holder(made.text) == row


def test_the_use_of_a_key_is_noted_and_not_written_every_time():
    made = keys.make("shop")
    keys.holder(made.text)
    first = ApiKey.objects.get().last_used_at
    keys.holder(made.text)
    assert first is not None
    assert ApiKey.objects.get().last_used_at == first
    ApiKey.objects.update(last_used_at=ago(minutes=2))
    keys.holder(made.text)
    assert ApiKey.objects.get().last_used_at > timezone.now() - timedelta(minutes=1)


@pytest.mark.parametrize("wrong", ["", "vk_", "vk_unknown", "ek_something", "\ud800"])
def test_an_unknown_key_finds_nobody(wrong):
    keys.make("shop")
    assert keys.holder(wrong) is None


def test_a_revoked_key_finds_nobody_and_others_go_on():
    made, kept = keys.make("shop"), keys.make("store")
    assert keys.revoke("shop") == 1
    assert keys.revoke("shop") == 0
    assert keys.holder(made.text) is None
    assert keys.holder(kept.text) is not None
