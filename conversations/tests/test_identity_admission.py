"""Who may open a socket, to which conversation."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from conversations import lifecycle
from conversations.identity import binding
from conversations.identity.admission import Admission, Refusal, admit_socket
from conversations.tests.rows import ADA, MARA, ago, changed, opened

pytestmark = pytest.mark.django_db
SECRET = "ek_of-the-integrators-client"


def with_secret(identity=ADA, **values):
    soon = timezone.now() + timedelta(minutes=10)
    return opened(identity, **{"secret_hash": binding.digest(SECRET), "secret_expires_at": soon, **values})


def test_the_browser_of_a_conversation_is_let_in():
    conversation = opened(ADA, cookie="mine")
    assert admit_socket(str(conversation.pk), "mine", None) == Admission(str(conversation.pk), "cookie")


@pytest.mark.parametrize("cookie", [None, "", "unknown", "x" * 5000, "\ud800"])
def test_a_stranger_has_to_bootstrap(cookie):
    conversation = opened(ADA, cookie="mine")
    for wanted in (str(conversation.pk), str(uuid.uuid4()), None, ""):
        assert admit_socket(wanted, cookie, None) == Refusal(4401, "unauthorized")


def test_another_callers_conversation_answers_like_a_missing_one_case_170():
    hers = opened(ADA, cookie="hers")
    opened(MARA, cookie="mine")
    missing = admit_socket(str(uuid.uuid4()), "mine", None)
    assert missing == Refusal(4404, "not_found")
    assert admit_socket(str(hers.pk), "mine", None) == missing
    lifecycle.close(str(hers.pk), "operator")
    assert admit_socket(str(hers.pk), "mine", None) == missing


@pytest.mark.parametrize("wanted", [None, "", "nonsense", "' OR 1=1", "0" * 400, "\x00"])
def test_a_cookie_without_a_conversation_finds_none(wanted):
    opened(ADA, cookie="mine")
    assert admit_socket(wanted, "mine", None) == Refusal(4404, "not_found")


def test_a_secret_implies_its_conversation_and_opens_no_other():
    conversation, other = with_secret(), opened(MARA, cookie="theirs")
    expected = Admission(str(conversation.pk), "secret")
    assert admit_socket(None, None, SECRET) == expected
    assert admit_socket(str(conversation.pk), None, SECRET) == expected
    assert admit_socket(str(other.pk), None, SECRET) == Refusal(4404, "not_found")


def test_beside_a_secret_the_cookie_is_not_looked_at():
    opened(MARA, cookie="theirs")
    conversation = with_secret()
    assert admit_socket(None, "theirs", SECRET) == Admission(str(conversation.pk), "secret")
    assert admit_socket(None, "theirs", "ek_wrong") == Refusal(4401, "unauthorized")
    assert admit_socket(None, "theirs", "") == Refusal(4401, "unauthorized")


def test_a_cookie_is_no_secret_and_a_secret_no_cookie():
    conversation = with_secret()
    opened(MARA, cookie="ek_cookie")
    assert admit_socket(str(conversation.pk), SECRET, None) == Refusal(4401, "unauthorized")
    assert admit_socket(None, None, "ek_cookie") == Refusal(4401, "unauthorized")


def test_an_expired_secret_has_to_bootstrap():
    with_secret(secret_expires_at=ago(seconds=1))
    assert admit_socket(None, None, SECRET) == Refusal(4401, "unauthorized")


@pytest.mark.parametrize("reason", ["superseded", "operator", "caller_cleanup", "auth_expired", "error"])
def test_a_closed_conversation_says_why(reason):
    by_cookie, by_secret = opened(MARA, cookie="mine"), with_secret()
    lifecycle.close(str(by_cookie.pk), reason)
    lifecycle.close(str(by_secret.pk), reason)
    assert admit_socket(str(by_cookie.pk), "mine", None) == Refusal(4410, reason)
    assert admit_socket(None, None, SECRET) == Refusal(4410, reason)


def test_a_conversation_whose_time_is_over_is_closed_at_the_door(configure):
    configure(conversation_idle=600)
    expired = changed(opened(ADA, cookie="one"), expires_at=ago(seconds=1))
    idle = changed(opened(ADA, cookie="two"), last_seen_at=ago(seconds=601))
    assert admit_socket(str(expired.pk), "one", None) == Refusal(4410, "expired")
    assert admit_socket(str(idle.pk), "two", None) == Refusal(4410, "idle")
    expired.refresh_from_db()
    assert expired.state == "closed"
    assert expired.backend_token.ciphertext == ""
