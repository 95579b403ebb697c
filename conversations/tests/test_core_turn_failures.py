"""A turn that meets a race, a failure, silence or a lost service ends all the same, once and in words."""

import json

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    Play,
    R,
    an_answer,
    assert_apologised,
    assert_asked,
    assert_call_closed,
    assert_no_tool_ran,
    assert_not_asked,
    assert_nothing_sent,
    assert_turn_ended,
    marker,
)
from conversations.tests.speech_dialects import BARE, PIPELINES

pytestmark = pytest.mark.every_dialect

ACTIVE = "conversation_already_has_active_response"


@pytest.fixture
def play():
    return Play()


@pytest.fixture
def answering():
    return an_answer()


# ---- races with the service


def test_a_service_that_answers_a_tool_s_output_by_itself_is_heard_once_case_002(play):
    play.types("What about cage four?")
    play.acknowledges()
    play.responds(ga.Calls.one("get_report"))
    play.look_away()
    play.tool_ends()
    play.acknowledges()
    play.begins_response(R)
    play.complains(ACTIVE, play.asked[0])
    play.writes(R, "Eight.")
    play.ends_response(R)
    assert_asked(play)
    assert_turn_ended(play, "done", heard_text="Eight.")
    assert "error" not in [name for name, _ in play.told]


@pytest.mark.parametrize("code", [ACTIVE, "response_cancel_not_active", "function_call_output_pending"])
def test_a_complaint_that_the_service_was_faster_reaches_nobody_case_005(answering, code):
    answering.ends_response(R)
    answering.look_away()
    answering.complains(code)
    assert_nothing_sent(answering)
    assert answering.seen == []


def test_a_late_complaint_about_a_cancel_does_not_lose_the_next_request_case_005(answering):
    answering.types("And cage five?")
    answering.ends_response(R, "completed")
    answering.complains("response_cancel_not_active")
    answering.stops()
    answering.look_away()
    answering.begins_response("second")
    assert answering.of(fx.CancelResponse) == [fx.CancelResponse("second")]


def test_a_request_goes_out_although_the_cancel_is_never_confirmed_case_003(answering):
    answering.types("And cage five?")
    answering.wait(1.9)
    assert_not_asked(answering)
    answering.wait(0.2)
    assert_asked(answering)


@pytest.mark.parametrize("frames", [["delta"], ["audio"], ["done"], ["delta", "done"]])
def test_what_comes_after_the_end_of_a_response_opens_no_turn(answering, frames):
    answering.ends_response(R)
    answering.look_away()
    if "delta" in frames:
        answering.writes(R, "More.")
    if "audio" in frames:
        answering.sounds(R)
    if "done" in frames:
        answering.ends_response(R)
    assert len(answering.rows.turns) == 1
    assert answering.words == ""


def test_the_end_of_a_response_that_nobody_waits_for_is_no_turn(play):
    play.ends_response("r9")
    assert play.rows.turns == {}
    assert play.told == []


# ---- answers that fail


@pytest.mark.except_in(*PIPELINES, because="these services have one code for all failures")
def test_a_failed_response_ends_in_an_apology_with_the_service_s_code_in_the_record_case_026(play):
    play.says("Hello.")
    play.responds(ga.Fails("rate_limit_exceeded"))
    assert_turn_ended(play, "failed", "rate_limit_exceeded")
    assert_apologised(play, "response_failed")
    play.says("Hello again.", "u2")
    play.responds("Hello.")
    assert_turn_ended(play, "done")


def test_a_failure_that_was_never_announced_is_told_too_case_026(play):
    play.ends_response("r9", "failed", code="<script>")
    assert_turn_ended(play, "failed", "response_failed")
    assert_apologised(play, "response_failed")


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_an_empty_response_ends_in_an_apology(play, status):
    play.types("Hello.")
    play.begins_response(R)
    play.ends_response(R, status)
    assert_turn_ended(play, "failed", "no_answer")
    assert_apologised(play, "no_answer")


def test_a_tool_turn_that_says_nothing_after_its_narration_ends_in_an_apology(play):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report", narration="Let me look."))
    play.tool_ends()
    play.begins_response(R)
    play.ends_response(R)
    assert_apologised(play, "no_answer")


def test_an_incomplete_answer_was_an_answer(answering):
    answering.ends_response(R, "incomplete")
    assert_turn_ended(answering, "done", heard_text="The oxygen is eight.")


@pytest.mark.except_in(*BARE, because="these services do not say what they complain about")
def test_a_request_that_the_service_refuses_ends_in_an_apology_at_once(play):
    play.types("Hello.")
    play.complains("rate_limit_exceeded", play.asked[0])
    assert_turn_ended(play, "failed", "rate_limit_exceeded")
    assert_apologised(play, "response_failed")


def test_a_complaint_about_something_else_is_told_and_ends_nothing_case_016(answering):
    answering.complains("invalid_value")
    assert [(name, fields["code"]) for name, fields in answering.told] == [("error", "invalid_value")]
    assert "No." not in json.dumps(answering.seen), "the service's own words are not repeated"
    answering.ends_response(R)
    assert_turn_ended(answering, "done")


# ---- silence


def test_an_answer_that_does_not_come_ends_in_one_apology(play):
    play.says("Hello.")
    play.wait(19.9)
    assert play.told == []
    play.wait(0.2)
    assert_turn_ended(play, "failed", "no_answer")
    assert_apologised(play, "no_answer")
    play.wait(120)
    assert len(play.told) == 1


def test_a_response_that_stalls_is_cancelled_with_an_apology(answering):
    answering.wait(20.1)
    assert answering.of(fx.CancelResponse) == [fx.CancelResponse(R)]
    assert_apologised(answering, "no_answer")


def test_every_word_sets_the_clock_of_silence_back(answering):
    for _ in range(5):
        answering.wait(15)
        answering.writes(R, " More.")
    assert answering.told == []
    assert len(answering.open_turns) == 1


def test_the_clock_of_silence_stands_while_a_tool_runs_and_starts_anew_after_it(play):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report"))
    play.wait(300)
    play.tool_ends()
    play.look_away()
    play.wait(19.9)
    assert play.told == []
    play.wait(0.2)
    assert_apologised(play, "no_answer")


def test_the_clock_of_silence_stands_while_the_browser_is_at_work(play):
    play.types("Search.")
    play.responds(ga.Calls.one("web_search"))
    play.wait(19)
    play.happens(e.BrowserOutput("call_1", "Found."), e.CreateAsked())
    play.look_away()
    play.wait(19)
    assert play.told == []


def test_a_browser_s_call_in_a_response_that_never_ends_does_not_hold_the_turn_open(play):
    play.types("Search.")
    play.begins_response(R)
    play.picks(R, "web_search", call_id="b1")
    play.wait(41)
    assert_apologised(play, "no_answer")


def test_a_typed_item_that_nobody_wants_answered_is_no_silence(play):
    play.types("For your information.", ask=False)
    play.wait(120)
    assert play.told == []


def test_a_request_that_the_service_never_answers_does_not_silence_the_next_turn(play):
    play.types("Hello.")
    play.wait(23)
    play.look_away()
    play.types("Hello?")
    assert_asked(play)


# ---- the service is lost, the call ends


@pytest.mark.except_in(*PIPELINES, because="these services are asked for no items")
def test_a_question_that_the_lost_service_did_not_answer_is_answered(play):
    play.happens(e.RetrieveAsked("item_9"), e.UpstreamLost())
    assert play.told == [("conversation.item.retrieved", {"item": None})]


def test_a_loss_while_nothing_runs_is_no_apology(play):
    play.happens(e.UpstreamLost())
    assert play.told == []
    assert play.rows.turns == {}


def test_a_new_service_is_told_what_was_heard_and_the_browser_is_not(answering):
    answering.begins_to_speak()
    answering.happens(e.Played(f"item_of_{R}", 600), e.UpstreamLost())
    answering.look_away()
    for effect in answering.machine.recall(answering.machine.history):
        answering.perform(effect)
    items = [effect.item for effect in answering.of(fx.SendItem)]
    assert [(item["role"], item["content"][0]["type"]) for item in items] == [
        ("user", "input_text"),
        ("assistant", "output_text"),
    ]
    assert answering.messages == ["What about cage four?", "The oxygen"]
    answering.acknowledges()
    assert answering.seen == []


def test_a_marker_in_the_history_is_disarmed(play):
    play.types("What does " + marker() + " mean?")
    play.responds("Nothing.")
    recalled = play.machine.recall(play.machine.history)
    assert "VOCERO_MCP_CALL" not in str(recalled)
    assert next(said.text for said in play.machine.history).startswith("What does <<<")


def test_the_history_is_that_of_the_last_turns(play):
    for number in range(40):
        play.types(f"Question {number}")
        play.responds(f"Answer {number}")
        play.wait(2)
    history = play.machine.history
    assert len(history) == 24
    assert history[-1].text == "Answer 39"


@pytest.mark.parametrize("cause", ["disconnect", "superseded", "expired", "caller_cleanup"])
def test_the_end_of_the_call_closes_everything_and_nothing_happens_after_it(answering, cause):
    answering.picks(R, call_id="c1")
    answering.happens(e.Ended(cause))
    assert answering.cancelled == list(answering.running)
    assert_turn_ended(answering, "cancelled")
    answering.look_away()
    answering.writes(R, "More.")
    answering.says("Hello?", "u2")
    answering.responds("Hello.")
    answering.types("Hello?")
    answering.happens(e.Ended(cause))
    assert_nothing_sent(answering)
    assert answering.seen == []
    assert len(answering.rows.turns) == 1
    answering.tool_ends("", "cancelled")
    assert_call_closed(answering, "failed", "cancelled")


def test_an_event_without_a_cell_is_a_bug(play):
    with pytest.raises(KeyError):
        play.machine.handle(object(), 0.0)


def test_a_malformed_marker_that_was_talked_over_is_not_held_against_anyone(answering):
    answering.writes(R, "<<<VOCERO_MCP_CA")
    answering.ends_response(R, "cancelled")
    answering.begins_to_speak()
    assert_no_tool_ran(answering)
    assert answering.rows.calls == {}
    assert_turn_ended(answering, "interrupted", heard_text="The oxygen is eight.")


# ---- trouble that ends no turn


def test_trouble_told_to_the_caller_has_a_reference_that_is_in_the_record(answering):
    answering.complains("invalid_value")
    (fields,) = [fields for name, fields in answering.told if name == "error"]
    assert answering.rows.troubled == {fields["ref"]: "invalid_value"}
    answering.ends_response(R)
    assert_turn_ended(answering, "done")


def test_trouble_before_any_turn_names_no_reference_since_nobody_could_find_it(play):
    play.complains("invalid_value")
    (fields,) = [fields for name, fields in play.told if name == "error"]
    assert "ref" not in fields


def test_a_turn_that_fails_after_trouble_keeps_its_reference(answering):
    answering.complains("invalid_value")
    answering.ends_response(R, status="failed", code="server_error")
    first, second = [fields["ref"] for name, fields in answering.told if name == "error"]
    assert first == second
