"""A conversation's state, and who may change it."""

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from conversations import lifecycle
from conversations.identity import binding, links, vault
from conversations.identity.refusal import Refused
from conversations.lifecycle import LEASE, Claim, Opening, Standing
from conversations.models import BackendToken, Conversation, PhoneLink
from conversations.tests.rows import ADA, MARA, OWNER, ago, changed, opened, running_call, running_turn

pytestmark = pytest.mark.django_db


def state_of(conversation):
    conversation.refresh_from_db()
    return conversation.state, conversation.close_reason


def test_opening_keeps_the_token_only_encrypted():
    conversation = opened(ADA, browser_tools=("web_search",), session={"voice": "a\u0000b"})
    token = conversation.backend_token
    assert ADA.token not in token.ciphertext
    assert vault.unseal(token.ciphertext, bound_to=str(conversation.pk)) == ADA.token
    assert token.fingerprint == ADA.fingerprint
    assert conversation.browser_tools == ["web_search"]
    assert conversation.session == {"voice": "a\ufffdb"}


def test_a_new_conversation_supersedes_this_browsers_open_one():
    earlier, elsewhere = opened(ADA, cookie="mine"), opened(ADA, cookie="theirs")
    lifecycle.open_conversation(
        Opening(mode="mcp", identity=MARA, browser_hash="new", previous_hash=binding.digest("mine"))
    )
    assert state_of(earlier) == ("closed", "superseded")
    assert state_of(elsewhere) == ("open", "")


def test_without_a_previous_binding_nothing_is_superseded():
    anonymous = lifecycle.open_conversation(Opening(mode="plain"))
    lifecycle.open_conversation(Opening(mode="plain"))
    assert state_of(anonymous) == ("open", "")


def test_at_capacity_a_new_conversation_is_refused_and_the_open_one_stays(configure):
    configure(max_conversations=2)
    mine, _other = opened(ADA, cookie="mine"), opened(MARA)
    third = Opening(mode="mcp", identity=ADA, browser_hash="x")
    with pytest.raises(Refused) as refused:
        lifecycle.open_conversation(third)
    assert (refused.value.code, refused.value.retry_after) == ("rate_limited", 30)
    assert state_of(mine) == ("open", "")
    assert Conversation.objects.count() == 2


def test_the_browser_that_changes_its_caller_needs_no_second_place(configure):
    configure(max_conversations=1)
    opened(ADA, cookie="mine")
    lifecycle.open_conversation(
        Opening(mode="mcp", identity=MARA, browser_hash="x", previous_hash=binding.digest("mine"))
    )


def test_an_abandoned_conversation_takes_no_place_and_a_live_one_does(configure):
    configure(max_conversations=1)
    abandoned = changed(opened(ADA), last_seen_at=ago(minutes=5))
    live = opened(MARA)
    changed(abandoned, lease_expires_at=timezone.now() + LEASE)
    changed(live, last_seen_at=ago(minutes=5))
    with pytest.raises(Refused):
        opened(ADA)


def test_closing_happens_once_and_erases_the_token():
    conversation = opened(ADA)
    assert lifecycle.close(str(conversation.pk), "caller_cleanup") is True
    assert lifecycle.close(str(conversation.pk), "operator") is False
    assert state_of(conversation) == ("closed", "caller_cleanup")
    token = BackendToken.objects.get(conversation=conversation)
    assert (token.ciphertext, token.fingerprint) == ("", ADA.fingerprint)
    assert token.erased_at is not None


def test_closing_voids_the_link_that_led_here():
    issued = links.issue("+34600000001")
    conversation = opened(ADA, cookie="mine", link_id=issued.link_id)
    assert PhoneLink.objects.get().used_by_hash == binding.digest("mine")
    lifecycle.close(str(conversation.pk), "operator")
    assert PhoneLink.objects.get().used_by_hash == ""


def test_closing_a_conversation_that_is_not_there_is_no_error():
    assert lifecycle.close("00000000-0000-4000-8000-000000000000", "operator") is False


def test_closing_ends_running_rows_where_no_call_is_left_to_do_it():
    conversation = opened(ADA)
    turn = running_turn(conversation)
    call = running_call(turn)
    lifecycle.close(str(conversation.pk), "operator")
    turn.refresh_from_db()
    call.refresh_from_db()
    assert (turn.outcome, turn.code) == ("failed", "connection_lost")
    assert (call.status, call.code) == ("failed", "connection_lost")


def test_closing_leaves_running_rows_to_the_call_that_holds_the_lease():
    conversation = opened(ADA)
    lifecycle.claim(str(conversation.pk), OWNER)
    turn = running_turn(conversation)
    lifecycle.close(str(conversation.pk), "operator")
    turn.refresh_from_db()
    assert turn.outcome == "running"


def test_the_newest_claim_wins_and_the_older_one_learns_it():
    conversation = opened(ADA)
    key = str(conversation.pk)
    assert lifecycle.claim(key, "a") == Claim(1)
    assert lifecycle.claim(key, "b") == Claim(2)
    assert lifecycle.heartbeat(key, "a", 1, active=True) == Standing("superseded")
    assert lifecycle.heartbeat(key, "b", 2, active=True) == Standing("held")


def test_a_heartbeat_renews_the_lease_and_only_an_active_one_the_idle_clock():
    conversation = opened(ADA)
    lifecycle.claim(str(conversation.pk), OWNER)
    before = changed(conversation, last_seen_at=ago(minutes=5), lease_expires_at=ago(seconds=1)).last_seen_at
    lifecycle.heartbeat(str(conversation.pk), OWNER, 1, active=False)
    conversation.refresh_from_db()
    assert conversation.lease_expires_at > timezone.now() + LEASE - timedelta(seconds=5)
    assert conversation.last_seen_at == before
    lifecycle.heartbeat(str(conversation.pk), OWNER, 1, active=True)
    conversation.refresh_from_db()
    assert conversation.last_seen_at > before


def test_a_heartbeat_tells_once_that_the_tools_are_stale_and_keeps_the_lease_case_196():
    conversation = opened(ADA)
    key = str(conversation.pk)
    lifecycle.claim(key, OWNER)
    changed(conversation, tools_stale=True, lease_expires_at=ago(seconds=1))
    stale = lifecycle.heartbeat(key, OWNER, 1, active=False)
    conversation.refresh_from_db()
    assert stale == Standing("held", stale_tools=True)
    assert conversation.lease_expires_at > timezone.now()
    assert lifecycle.heartbeat(key, OWNER, 1, active=False) == Standing("held")


def test_a_call_that_lost_its_claim_takes_no_word_of_stale_tools_away_from_the_new_one_case_196():
    conversation = opened(ADA)
    key = str(conversation.pk)
    lifecycle.claim(key, OWNER)
    lifecycle.claim(key, "process-b")
    changed(conversation, tools_stale=True)
    assert lifecycle.heartbeat(key, OWNER, 1, active=False) == Standing("superseded")
    assert lifecycle.heartbeat(key, "process-b", 2, active=False).stale_tools


def test_a_heartbeat_renews_the_secret_and_never_shortens_it():
    short = opened(ADA, secret_hash="s1", secret_expires_at=timezone.now() + timedelta(seconds=10))
    far = timezone.now() + timedelta(hours=1)
    long = opened(ADA, secret_hash="s2", secret_expires_at=far)
    none = opened(ADA)
    for conversation in (short, long, none):
        lifecycle.claim(str(conversation.pk), OWNER)
        lifecycle.heartbeat(str(conversation.pk), OWNER, 1, active=False)
        conversation.refresh_from_db()
    assert short.secret_expires_at > timezone.now() + timedelta(minutes=9)
    assert long.secret_expires_at == far
    assert none.secret_expires_at is None


def test_a_heartbeat_tells_why_a_conversation_was_closed():
    conversation = opened(ADA)
    lifecycle.claim(str(conversation.pk), OWNER)
    lifecycle.close(str(conversation.pk), "operator")
    assert lifecycle.heartbeat(str(conversation.pk), OWNER, 1, active=True) == Standing("closed", "operator")


def test_a_heartbeat_of_a_pruned_conversation_says_closed():
    missing = "00000000-0000-4000-8000-000000000000"
    assert lifecycle.heartbeat(missing, OWNER, 1, active=True) == Standing("closed", "expired")


def test_a_closed_or_expired_conversation_cannot_be_claimed():
    closed, expired = opened(ADA), changed(opened(MARA), expires_at=ago(seconds=1))
    lifecycle.close(str(closed.pk), "operator")
    assert lifecycle.claim(str(closed.pk), OWNER) is None
    assert lifecycle.claim(str(expired.pk), OWNER) is None


def test_a_release_ends_the_lease_of_its_own_claim_only():
    conversation = opened(ADA)
    key = str(conversation.pk)
    lifecycle.claim(key, "a")
    lifecycle.claim(key, "b")
    lifecycle.release(key, "a", 1)
    conversation.refresh_from_db()
    assert conversation.owner == "b"
    lifecycle.release(key, "b", 2)
    conversation.refresh_from_db()
    assert (conversation.owner, conversation.lease_expires_at, conversation.state) == ("", None, "open")


def test_the_same_caller_comes_back_to_the_open_conversation_with_the_newer_token():
    conversation = opened(ADA, cookie="mine")
    newer = type(ADA)(user_id=ADA.user_id, name=ADA.name, token="a-newer-token-0123456789")
    again = lifecycle.rejoin(binding.digest("mine"), newer, None)
    assert again.pk == conversation.pk
    token = BackendToken.objects.get(conversation=conversation)
    assert vault.unseal(token.ciphertext, bound_to=str(conversation.pk)) == newer.token
    assert token.fingerprint == newer.fingerprint


def test_nobody_else_comes_back_to_it():
    opened(ADA, cookie="mine")
    assert lifecycle.rejoin(binding.digest("mine"), MARA, None) is None
    assert lifecycle.rejoin(binding.digest("theirs"), ADA, None) is None
    assert lifecycle.rejoin("", ADA, None) is None


def test_a_conversation_whose_time_is_over_is_not_this_browsers_current_one():
    conversation = changed(opened(ADA, cookie="mine"), expires_at=ago(seconds=1))
    assert lifecycle.current(binding.digest("mine")) is None
    assert state_of(conversation) == ("closed", "expired")


def at_once(*functions):
    """Runs functions in threads that start together; returns what they returned, or raised."""
    barrier, outcomes = threading.Barrier(len(functions)), [None] * len(functions)

    def run(position, function):
        barrier.wait()
        try:
            outcomes[position] = function()
        except Refused as refused:
            outcomes[position] = refused.code
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@pytest.mark.django_db(transaction=True)
def test_of_many_that_close_at_once_exactly_one_does():
    key = str(opened(ADA).pk)
    reasons = ["operator", "caller_cleanup", "idle", "expired", "error", "superseded"]
    outcomes = at_once(*[lambda reason=reason: lifecycle.close(key, reason) for reason in reasons])
    assert sorted(outcomes) == [False] * 5 + [True]
    assert Conversation.objects.get().close_reason == reasons[outcomes.index(True)]


@pytest.mark.django_db(transaction=True)
def test_of_many_that_claim_at_once_each_has_a_generation_of_its_own():
    key = str(opened(ADA).pk)
    outcomes = at_once(*[lambda n=n: lifecycle.claim(key, f"process-{n}") for n in range(6)])
    assert sorted(claim.generation for claim in outcomes) == [1, 2, 3, 4, 5, 6]
    standings = [
        lifecycle.heartbeat(key, f"process-{n}", claim.generation, active=False)
        for n, claim in enumerate(outcomes)
    ]
    assert standings.count(Standing("held")) == 1
    assert standings[[claim.generation for claim in outcomes].index(6)] == Standing("held")


@pytest.mark.django_db(transaction=True)
def test_of_two_that_use_one_link_at_once_one_gets_a_conversation():
    issued = links.issue("+34600000001")
    outcomes = at_once(
        *[lambda n=n: opened(ADA, cookie=f"browser-{n}", link_id=issued.link_id) for n in range(4)]
    )
    assert outcomes.count("link_used") == 3
    assert Conversation.objects.count() == 1
    assert BackendToken.objects.count() == 1
