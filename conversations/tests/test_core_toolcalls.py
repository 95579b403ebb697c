"""The tools that the model picks: run, answered once, closed once."""

import json

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.policy import Limits
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    LABEL,
    SEARCH,
    SECRET,
    Play,
    R,
    a_question,
    assert_answered,
    assert_asked,
    assert_call_closed,
    assert_no_tool_ran,
    assert_not_asked,
    assert_nothing_sent,
    assert_tool_ran,
    assert_turn_ended,
    marker,
)
from conversations.tests.speech_dialects import BARE

pytestmark = pytest.mark.every_dialect


@pytest.fixture
def play():
    return a_question()


# ---- running


def test_a_native_call_runs_and_its_answer_is_asked_for_once(play):
    play.picks(R, "get_report", '{"request":{"report_id":"r1"}}')
    effect = assert_tool_ran(play, "get_report", {"request": {"report_id": "r1"}})
    assert effect.room == Limits().result_chars
    assert_nothing_sent(play)
    play.ends_response(R)
    play.tool_ends(LABEL + '{"oxygen":8}')
    assert play.outputs == [("call_1", LABEL + '{"oxygen":8}')]
    assert_asked(play)
    assert_call_closed(play, "completed", name="get_report")
    play.responds("Eight.")
    assert_turn_ended(play, "done", heard_text="Eight.")


def test_a_marker_runs_and_its_result_goes_out_as_a_message(play):
    play.writes(R, marker())
    play.ends_response(R, "cancelled")
    play.tool_ends(LABEL + "{}")
    assert play.messages == [LABEL + "{}"]
    (item,) = [effect.item for effect in play.of(fx.SendItem)]
    assert (item["role"], [part["type"] for part in item["content"]]) == ("user", ["input_text"])
    assert_asked(play)
    assert_call_closed(play, "completed", name="get_report")


def test_a_result_that_is_faster_than_the_cancel_of_its_marker_does_not_end_the_turn(play):
    play.writes(R, marker())
    play.tool_ends()
    assert_not_asked(play)
    play.ends_response(R, "cancelled")
    assert_asked(play)
    assert len(play.open_turns) == 1


def test_nothing_is_asked_while_the_picking_response_still_speaks(play):
    play.picks(R)
    play.tool_ends()
    assert_nothing_sent(play)
    play.ends_response(R)
    assert_asked(play)


def test_parallel_calls_are_answered_in_the_order_of_the_picks_with_one_request_case_017(play):
    items = [play.picks(R, arguments=f'{{"n":{number}}}', call_id=f"c{number}") for number in (1, 2, 3)]
    play.ends_response(R, output=items)
    first, second, third = play.running
    play.tool_ends(LABEL + "3", call_id=third)
    play.tool_ends("", "forbidden", call_id=first)
    assert_nothing_sent(play)
    play.tool_ends(LABEL + "2", call_id=second)
    assert [call_id for call_id, _ in play.outputs] == ["c1", "c2", "c3"]
    assert_answered(play, "c1", "forbidden")
    assert_asked(play)
    assert play.failures == [("get_report", "forbidden")]


def test_a_call_told_in_every_way_runs_once_case_018(play):
    item = play.picks(R, call_id="c1")
    play.service(*ga.called(R, item))
    play.ends_response(R, output=[item, item])
    assert_tool_ran(play)
    assert len(play.rows.calls) == 1
    play.tool_ends()
    assert [call_id for call_id, _ in play.outputs] == ["c1"]


@pytest.mark.except_in(*BARE, because="these services tell no calls at an answer's end")
def test_a_call_that_only_the_end_of_a_response_tells_runs_case_018(play):
    play.ends_response(R, output=[ga.call_item("i", "c1", "get_report", "{}")])
    assert_tool_ran(play)


@pytest.mark.except_in(*BARE, because="these services tell no calls at an answer's end")
def test_two_calls_without_ids_are_two_calls(play):
    items = [ga.call_item(f"i{number}", "", "get_report", f'{{"n":{number}}}') for number in (1, 2)]
    play.ends_response(R, output=items)
    assert len(play.running) == 2


@pytest.mark.parametrize("arguments", ["", "   ", "null", "{}"])
def test_no_arguments_are_an_empty_object_case_056(play, arguments):
    play.picks(R, "list_reports", arguments)
    assert_tool_ran(play, "list_reports", {})


def test_a_marker_without_arguments_runs_with_an_empty_object_case_056(play):
    play.writes(R, "<<<VOCERO_MCP_CALL:NAME=list_reports,ARGUMENTS=>>>")
    assert_tool_ran(play, "list_reports", {})


def test_progress_is_told_while_the_tool_runs_and_not_after(play):
    play.picks(R)
    call_id = next(iter(play.running))
    play.happens(e.ToolProgressed(call_id, 1, 3, "Reading"))
    assert play.told[-1] == (
        "vocero.tool.progress",
        {"call_id": call_id, "progress": 1, "total": 3, "message": "Reading"},
    )
    play.tool_ends()
    play.look_away().happens(e.ToolProgressed(call_id, 2, 3, "Late"))
    assert play.told == []


def test_a_tool_that_ends_twice_ended_once(play):
    play.picks(R)
    call_id = play.tool_ends(LABEL + "1")
    play.happens(e.ToolEnded(call_id, "completed", "", LABEL + "2", 9))
    play.ends_response(R)
    assert play.outputs == [("call_1", LABEL + "1")]
    assert_call_closed(play, "completed")


def test_what_the_caller_is_told_holds_no_argument_no_result_and_no_id_of_the_service(play):
    play.picks(R, "get_report", json.dumps({"request": SECRET}), "secret_call")
    play.ends_response(R)
    play.tool_ends(LABEL + SECRET, titles=("Oxygen",), excerpt=SECRET)
    started, completed = [fields for name, fields in play.told]
    assert (started["name"], started["label"], started["turn"]) == ("get_report", "Get report", 1)
    assert completed["sources"] == [{"title": "Oxygen"}]
    assert completed["call_id"] == started["call_id"]
    told = json.dumps(play.seen)
    assert SECRET not in told
    assert "secret_call" not in told


def test_the_row_holds_what_the_operator_needs(play):
    play.picks(R, "get_report", '{"b": 1.0, "a": 2}')
    play.tool_ends(LABEL + "{}", truncated=True, excerpt="short")
    (opened,), ((closed,),) = play.rows.calls.values(), play.rows.call_ends.values()
    assert (opened.source, opened.selection, opened.sequence) == ("mcp", "native", 1)
    assert opened.arguments == '{"a":2,"b":1}'
    assert opened.generation == play.machine.generation
    assert (closed.result_chars, closed.truncated, closed.excerpt) == (len(LABEL) + 2, True, "short")


# ---- stale calls


def test_a_call_out_of_a_superseded_response_is_answered_recorded_and_never_run(play):
    play.begins_to_speak()
    play.look_away()
    item = play.picks(R, "get_report", '{"request":1}', "late")
    assert_no_tool_ran(play)
    assert_answered(play, "late", "cancelled")
    assert_call_closed(play, "failed", "stale", "get_report")
    play.acknowledges()
    play.ends_response(R, "cancelled", [item])
    assert "get_report" not in json.dumps(play.seen)
    assert "function_call" not in json.dumps(play.seen)
    assert_not_asked(play)


def test_a_browser_s_call_out_of_a_superseded_response_is_answered_and_not_shown(play):
    play.begins_to_speak()
    play.look_away()
    play.picks(R, SEARCH, "{}", "late")
    assert_answered(play, "late", "cancelled")
    assert play.seen == []


def test_a_call_out_of_a_response_that_was_cancelled_on_arrival_is_answered(play):
    play = Play()
    play.types("Hello.")
    play.stops()
    play.begins_response(R)
    play.picks(R, call_id="late")
    assert_answered(play, "late", "cancelled")
    assert_no_tool_ran(play)
    assert_call_closed(play, "failed", "stale")
