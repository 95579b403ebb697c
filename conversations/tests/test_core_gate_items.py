"""Which items the browser sees, and what it is told comes before them."""

import json

import pytest

from conversations.core import effects as fx
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    Play,
    R,
    a_question,
)
from conversations.tests.speech_dialects import PIPELINES

pytestmark = pytest.mark.every_dialect


@pytest.fixture
def play():
    return a_question()


@pytest.mark.except_in(*PIPELINES, because="these services tell the items of answers once")
def test_an_item_names_the_one_before_that_the_browser_knows():
    """The items of a server's call leave no trace, not even as somebody's predecessor."""
    play = Play()
    play.types("What about cage four?")
    (typed,) = play.of(fx.SendItem)
    play.acknowledges(typed)
    play.begins_response(R)
    call = ga.call_item("secret_call", "call_1", "get_report", "{}")
    play.service(*ga.called(R, call)[:1], *ga.item_events(call, typed.item["id"]))
    play.service(ga.done(R, [call]))
    play.tool_ends()
    output = play.of(fx.SendItem)[-1].item
    play.service(*ga.item_events(dict(output), "secret_call"))
    play.look_away()
    answer = ga.message("item_9", "", status="in_progress")
    play.begins_response("resp_2")
    play.service(
        {"type": "response.output_item.added", "response_id": "resp_2", "output_index": 0, "item": answer},
        {"type": "conversation.item.added", "previous_item_id": output["id"], "item": answer},
    )
    play.writes("resp_2", "Eight.", item_id="item_9")
    play.service({"type": "input_audio_buffer.committed", "item_id": "u_2", "previous_item_id": output["id"]})
    previous = [frame["previous_item_id"] for frame in play.seen if "previous_item_id" in frame]
    assert previous == [typed.item["id"]] * 2
    assert "secret_call" not in json.dumps(play.seen)


def test_the_items_of_ours_and_of_the_server_s_calls_are_never_repeated_to_the_browser(play):
    play.picks(R)
    play.tool_ends()
    play.ends_response(R)
    play.acknowledges()
    renamed = {"id": "renamed", "type": "function_call_output", "call_id": "call_1", "output": "secret"}
    play.service(*ga.item_events(renamed))
    system = {
        "id": "s",
        "type": "message",
        "role": "system",
        "content": [{"type": "input_text", "text": "x"}],
    }
    play.service(*ga.item_events(system))
    assert [frame["type"] for frame in play.seen if "item" in frame] == []
    assert '"call_1"' not in json.dumps(play.seen)


@pytest.mark.parametrize("status", ["cancelled", "incomplete", "failed"])
def test_a_call_in_a_response_that_did_not_complete_is_hidden_too(play, status):
    play.writes(R, "Yes.")
    output = [ga.message(f"item_of_{R}", "Yes."), ga.call_item("i", "c", "get_report", "secret")]
    play.ends_response(R, status, output)
    (end,) = [frame for frame in play.seen if frame["type"] == "response.done"]
    assert [item["type"] for item in end["response"]["output"]] == ["message"]
