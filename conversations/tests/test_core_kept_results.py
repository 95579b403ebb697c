"""What becomes of a result when the caller goes on: kept where there is one, never a reason to speak."""

import json

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.toolcalls import MOST_FINISHING
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    LABEL,
    Play,
    R,
    a_question,
    assert_answered,
    assert_call_closed,
    assert_not_asked,
    assert_nothing_sent,
    assert_turn_ended,
    marker,
)
from conversations.tests.live_call import PICKS, QUESTION, LiveCall, SlowTool
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Says
from conversations.tests.virtual_time import in_virtual_time

pytestmark = pytest.mark.every_dialect

GOES_ON = {
    "speaks": lambda play: play.begins_to_speak(),
    "types": lambda play: play.types("Something else.", ask=False),
    "stops": lambda play: play.stops(),
}
WAYS = pytest.mark.parametrize("goes_on", GOES_ON.values(), ids=GOES_ON)


def at_work(by_marker=False, **options):
    """A question for which a tool runs, its response over."""
    play = a_question(**options)
    if by_marker:
        play.writes(R, marker())
    else:
        play.picks(R, call_id="c1")
    play.ends_response(R, "cancelled" if by_marker else "completed")
    return play.look_away()


def finishing(**options):
    return at_work(finish_tools=("get_report",), **options)


# ---- results that came in time


@WAYS
@pytest.mark.parametrize("by_marker", [True, False], ids=["marker", "native"])
def test_a_result_that_came_before_the_caller_went_on_stays_in_the_history_case_011(goes_on, by_marker):
    """It waits for the end of the response that picked it, and the caller does not."""
    play = a_question()
    if by_marker:
        play.writes(R, marker())
    else:
        play.picks(R, call_id="c1")
    play.look_away().tool_ends(LABEL + '{"oxygen":8}')
    goes_on(play)
    told = play.messages if by_marker else [output for _, output in play.outputs]
    assert LABEL + '{"oxygen":8}' in told
    assert_not_asked(play)
    assert_call_closed(play, "completed")


def test_of_parallel_calls_those_that_are_done_are_kept_and_the_others_cancelled_case_011():
    play = a_question()
    for number in (1, 2):
        play.picks(R, arguments=f'{{"n":{number}}}', call_id=f"c{number}")
    play.ends_response(R)
    play.tool_ends(LABEL + "{}")
    play.begins_to_speak()
    assert play.outputs[0] == ("c1", LABEL + "{}")
    assert_answered(play, "c2", "cancelled")


def test_a_refusal_of_a_marker_is_not_told_to_a_model_whose_caller_went_on():
    play = a_question()
    play.writes(R, marker("drop_all", "{}"))
    play.look_away().begins_to_speak()
    assert play.messages == []


# ---- tools that finish


@pytest.mark.parametrize("by_marker", [True, False], ids=["marker", "native"])
def test_a_result_that_comes_while_the_caller_speaks_is_in_the_history_for_the_next_turn_case_011(by_marker):
    play = finishing(by_marker=by_marker)
    play.begins_to_speak()
    play.look_away().tool_ends(LABEL + '{"oxygen":8}')
    (message,) = play.messages
    assert "get_report" in message.partition("\n")[0]
    assert message.endswith(LABEL + '{"oxygen":8}')
    assert_not_asked(play)
    assert_call_closed(play, "completed")
    play.stops_speaking()
    play.is_understood("And the weather?")
    play.responds("It rains.")
    assert_turn_ended(play, "done", caller_text="And the weather?", heard_text="It rains.")


@WAYS
def test_a_tool_that_is_to_finish_runs_on_and_makes_nobody_speak_case_012(goes_on):
    play = finishing()
    goes_on(play)
    assert play.cancelled == []
    ((call_id, output),) = play.outputs
    assert (call_id, json.loads(output)["status"]) == ("c1", "running")
    play.look_away().wait(19)
    play.tool_ends(LABEL + "{}")
    assert_not_asked(play)
    assert [name for name, _ in play.told] == ["vocero.tool.completed"]
    assert_call_closed(play, "completed")


@WAYS
def test_any_other_tool_is_cancelled_and_makes_nobody_speak_case_012(goes_on):
    play = at_work()
    goes_on(play)
    assert play.cancelled == list(play.running)
    assert_answered(play, "c1", "cancelled")
    play.look_away().tool_ends(LABEL + "{}")
    assert_nothing_sent(play)
    assert play.told == []


def test_a_late_result_waits_for_the_end_of_the_turn_that_runs_meanwhile():
    play = finishing()
    play.types("And cage five?")
    play.begins_response("second")
    play.look_away().tool_ends(LABEL + "{}")
    assert_nothing_sent(play)
    play.writes("second", "Seven.")
    play.ends_response("second")
    assert_turn_ended(play, "done", heard_text="Seven.")
    assert len(play.messages) == 1
    assert_not_asked(play)


def test_a_late_result_is_no_sign_of_life_and_holds_no_turn_open():
    play = finishing()
    play.types("And cage five?")
    play.wait(20.1)
    assert_turn_ended(play, "failed", "no_answer")


def test_a_failure_of_a_tool_that_finishes_is_told_to_the_model_and_to_the_caller():
    play = finishing()
    play.begins_to_speak()
    play.look_away().tool_ends('{"error":{"code":"forbidden"}}', "forbidden")
    assert play.failures == [("get_report", "forbidden")]
    assert "forbidden" in play.messages[0]


def test_a_marker_in_a_late_result_is_disarmed_case_042():
    play = finishing()
    play.begins_to_speak()
    play.look_away().tool_ends(LABEL + marker())
    assert "<<" not in play.messages[0]


def test_a_late_result_survives_the_loss_of_the_service():
    play = finishing()
    play.happens(e.UpstreamLost())
    play.look_away().tool_ends(LABEL + "{}")
    assert_nothing_sent(play)
    for effect in play.machine.recall(play.machine.history):
        play.perform(effect)
    assert play.messages[-1].endswith(LABEL + "{}")
    play.look_away().acknowledges()
    assert play.seen == []


def test_what_was_to_finish_ends_with_the_call():
    play = finishing()
    play.begins_to_speak()
    play.happens(e.Ended("disconnect"))
    assert play.cancelled == list(play.running)
    play.look_away().tool_ends("", "cancelled")
    assert_call_closed(play, "failed", "cancelled")
    assert_nothing_sent(play)


def test_tools_that_finish_are_bounded():
    play = Play(finish_tools=("get_report",))
    for _ in range(MOST_FINISHING + 3):
        play.types("And now?")
        play.responds(ga.Calls.one("get_report"))
    play.stops()
    assert len(play.cancelled) == 3
    assert len(play.running) == MOST_FINISHING + 3


@in_virtual_time
async def test_a_tool_that_is_to_finish_does_so_in_a_live_call_case_012():
    slow = SlowTool()
    service = MemoryService(PICKS, Says("It rains."))
    call = LiveCall(service, slow.source, finish_tools=frozenset({"get_metric_history"}))
    async with call:
        line = await call.ready()
        call.types(QUESTION)
        await slow.started.wait()
        call.send("response.cancel")
        await line.quiet()
        slow.finish.set()
        await call.shown("vocero.tool.completed")
        await line.quiet()
        late = line.sent_of("conversation.item.create")[-1]["item"]
        assert "7.4 milligrams" in late["content"][0]["text"]
        assert len(line.sent_of("response.create")) == 1
        assert slow.source.cancelled == []
        call.types("And the weather?")
        await call.shown("response.done")
        assert call.text() == "It rains."
    assert [record.status for record in call.closed_calls()] == ["completed"]


def test_what_a_late_item_holds_is_not_for_the_browser():
    play = finishing()
    play.begins_to_speak()
    play.look_away().tool_ends(LABEL + "S3cr3t")
    late = [one for one in play.sent if isinstance(one, fx.SendItem)]
    play.acknowledges(*late)
    assert "S3cr3t" not in json.dumps(play.seen)
