"""A thumb for an answer: by its caller and nobody else; kept on the turn, shown in the admin."""

import uuid

import pytest
from django.urls import reverse

from conversations.identity import binding
from conversations.models import Conversation, Turn
from conversations.tests import operators as make
from conversations.tests.login_server import ADMINISTRATOR, MANAGER
from conversations.tests.people import Integrator
from conversations.tests.rows import ADA, ago, changed, opened, running_turn

pytestmark = pytest.mark.django_db

CONVERSATIONS = reverse("admin:conversations_conversation_changelist")


@pytest.fixture
def hers(portal, caller):
    """Her conversation, with one turn."""
    body = caller.conversation(phone=ADMINISTRATOR)
    turn = running_turn(Conversation.objects.get(), 1)
    Turn.objects.filter(pk=turn.pk).update(outcome="done", heard_text="Eight.")
    return body["id"]


@pytest.fixture
def another(portal, other):
    other.conversation(phone=MANAGER)
    return other


def rate(person, conversation, rating, turn=1, **headers):
    body = {"rating": rating}
    return person.send("PUT", f"/api/conversations/{conversation}/turns/{turn}/rating", body, **headers)


def code(response):
    return response.status_code, response.json()["code"]


def test_a_rating_is_kept_changed_taken_back_and_told_with_the_turn(hers, caller):
    for rating in ("bad", "good", "good", None):
        response = rate(caller, hers, rating)
        assert (response.status_code, response.json()) == (200, {"turn": 1, "rating": rating})
        assert Turn.objects.get().rating == (rating or "")
        told = caller.get(f"/api/conversations/{hers}").json()["turns"][0]
        assert (told["rating"], told["heard_text"]) == (rating, "Eight.")


def test_another_callers_answer_is_rated_no_more_than_one_that_does_not_exist(hers, another):
    for conversation in (hers, uuid.uuid4()):
        assert code(rate(another, conversation, "bad")) == (404, "not_found")
    assert Turn.objects.get().rating == ""


def test_a_stranger_rates_nothing(hers, stranger):
    for conversation in (hers, uuid.uuid4()):
        assert code(rate(stranger, conversation, "bad")) == (401, "unauthorized")
    assert Turn.objects.get().rating == ""


def test_another_site_cannot_rate_in_the_callers_name(hers, caller):
    assert code(rate(caller, hers, "bad", forged=True)) == (403, "csrf_failed")
    assert Turn.objects.get().rating == ""


def test_an_integrators_client_rates_in_its_own_conversation():
    mine = opened(ADA, secret_hash=binding.digest("ek_mine"), secret_expires_at=ago(hours=-1))
    foreign = opened(ADA, secret_hash=binding.digest("ek_other"), secret_expires_at=ago(hours=-1))
    for conversation in (mine, foreign):
        running_turn(conversation, 1)
    client = Integrator("ek_mine")
    assert rate(client, mine.pk, "bad").status_code == 200
    assert code(rate(client, foreign.pk, "bad")) == (404, "not_found")
    assert [(turn.conversation_id, turn.rating) for turn in Turn.objects.exclude(rating="")] == [
        (mine.pk, "bad")
    ]


def test_an_answer_may_be_rated_after_the_conversation_has_closed(hers, caller):
    changed(Conversation.objects.get(), state="closed", close_reason="idle")
    assert rate(caller, hers, "good").status_code == 200


@pytest.mark.parametrize("turn", ["2", "-1", "x", str(2**31), "1.5"])
def test_a_turn_that_is_none_is_rated_by_nobody(hers, caller, turn):
    assert rate(caller, hers, "good", turn).status_code in (400, 404)
    assert Turn.objects.get().rating == ""


@pytest.mark.parametrize("body", [{}, {"rating": "ok"}, {"rating": 1}, {"rating": "good", "turn": 2}, []])
def test_a_rating_is_good_bad_or_none(hers, caller, body):
    response = caller.send("PUT", f"/api/conversations/{hers}/turns/1/rating", body)
    assert code(response) == (400, "invalid")
    assert Turn.objects.get().rating == ""


def test_the_admin_finds_conversations_by_rating_and_shows_it_at_the_turn():
    for name, rating in (("Marta", "bad"), ("Nuria", "good"), ("Pere", "")):
        make.turn(make.conversation(caller_name=name), rating=rating)
    client = make.viewer()
    found = make.words(client.get(f"{CONVERSATIONS}?rating=bad"))
    assert ("Marta" in found, "Nuria" in found, "Pere" in found) == (True, False, False)
    assert "Pere" in make.words(client.get(f"{CONVERSATIONS}?rating=nonsense"))
    for rating in ("bad", "good", ""):
        row = Conversation.objects.get(turns__rating=rating)
        page = make.words(client.get(reverse("admin:conversations_conversation_change", args=[row.pk])))
        assert [f"rated {one}" in page for one in ("bad", "good")] == [rating == "bad", rating == "good"]
