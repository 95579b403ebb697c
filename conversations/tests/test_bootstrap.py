"""The plan of one call."""

import pytest

from conversations import lifecycle
from conversations.bootstrap import Heard, load_plan
from conversations.models import BackendToken, Turn
from conversations.tests.rows import ADA, OWNER, ago, changed, opened, running_turn

pytestmark = pytest.mark.django_db


def plan_of(conversation):
    claim = lifecycle.claim(str(conversation.pk), OWNER)
    return load_plan(str(conversation.pk), claim.generation)


def finished(conversation, index, caller_text, heard_text, outcome="done"):
    turn = running_turn(conversation, index)
    Turn.objects.filter(pk=turn.pk).update(caller_text=caller_text, heard_text=heard_text, outcome=outcome)


def test_a_plan_holds_the_caller_with_the_token_out_of_sight(configure):
    configure(conversation_idle=600)
    conversation = opened(ADA, episode_id="ep-7", session={"voice": "ash"})
    plan = plan_of(conversation)
    assert (plan.conversation_id, plan.generation, plan.mode) == (str(conversation.pk), 1, "mcp")
    assert (plan.caller.user_id, plan.caller.token) == ("u-1", ADA.token)
    assert plan.caller.fingerprint == ADA.fingerprint
    assert (plan.caller_name, plan.episode_id, plan.session) == ("Ada Admin", "ep-7", {"voice": "ash"})
    assert (plan.expires_at, plan.idle) == (conversation.expires_at.timestamp(), 600)
    assert ADA.token not in repr(plan)


def test_nobody_in_particular_has_a_plan_too():
    plan = plan_of(lifecycle.open_conversation(lifecycle.Opening(mode="plain")))
    assert (plan.caller, plan.caller_name, plan.next_turn, plan.history) == (None, "", 1, ())


def test_history_is_what_was_heard_in_the_last_finished_turns(configure):
    configure(history_turns=2)
    conversation = opened(ADA)
    finished(conversation, 1, "First?", "One.")
    finished(conversation, 2, "Second?", "Tw", outcome="interrupted")
    finished(conversation, 3, "", "By the way.")
    running_turn(conversation, 4)
    plan = plan_of(conversation)
    assert plan.next_turn == 5
    assert plan.history == (
        Heard("caller", "Second?"),
        Heard("assistant", "Tw"),
        Heard("assistant", "By the way."),
    )


def test_no_history_is_a_choice(configure):
    configure(history_turns=0)
    conversation = opened(ADA)
    finished(conversation, 1, "First?", "One.")
    assert plan_of(conversation).history == ()


def test_a_server_tools_name_is_not_the_browsers(configure):
    configure(mcp_tools=("get_report",))
    assert plan_of(opened(ADA, browser_tools=("get_report", "web_search"))).browser_tools == ("web_search",)


def test_only_the_newest_claim_of_an_open_conversation_has_a_plan():
    conversation = opened(ADA)
    lifecycle.claim(str(conversation.pk), "a")
    lifecycle.claim(str(conversation.pk), "b")
    assert load_plan(str(conversation.pk), 1) is None
    assert load_plan(str(conversation.pk), 2) is not None
    changed(conversation, expires_at=ago(seconds=1))
    assert load_plan(str(conversation.pk), 2) is None
    lifecycle.close(str(conversation.pk), "operator")
    assert load_plan(str(conversation.pk), 2) is None


def test_a_token_that_no_key_opens_any_more_ends_the_conversation(settings, caplog):
    conversation = opened(ADA)
    settings.SECRET_KEY = "another-" + "y" * 50
    assert plan_of(conversation) is None
    conversation.refresh_from_db()
    assert (conversation.state, conversation.close_reason) == ("closed", "auth_expired")
    assert "vault.unreadable" in caplog.text


def test_a_token_moved_from_another_conversation_is_not_used():
    mine, theirs = opened(ADA), opened(ADA)
    stolen = BackendToken.objects.get(conversation=theirs).ciphertext
    BackendToken.objects.filter(conversation=mine).update(ciphertext=stolen)
    assert plan_of(mine) is None
