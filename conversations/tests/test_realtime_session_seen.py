"""What of a call each client may change and see."""

import asyncio
import json

import pytest

from conversations.core.records import CallClosed, TurnClosed
from conversations.tests import speech_events as ga
from conversations.tests.live_call import (
    ANSWER,
    ASKS,
    METRIC,
    PICKS,
    QUESTION,
    LiveCall,
    SlowTool,
    assert_nothing_leaked,
    oxygen_source,
)
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_dialects import PIPELINES
from conversations.tests.speech_events import Calls, Says
from conversations.tests.virtual_time import in_virtual_time
from tools.testing import MemorySource, answers

pytestmark = pytest.mark.every_dialect

# ---- session.update


@in_virtual_time
async def test_every_session_update_is_answered_and_shows_the_page_its_own_words():
    async with LiveCall(MemoryService(), oxygen_source(), browser_tools=frozenset({"web_search"})) as call:
        line = await call.ready()
        search = {"type": "function", "name": "web_search", "parameters": {"type": "object"}}
        stolen = {"type": "function", "name": "get_metric_history", "parameters": {}}
        other = {"type": "function", "name": "rm_rf", "parameters": {}}
        call.send(
            "session.update", session={"instructions": "Cage four.", "tools": [search, stolen, other, "x"]}
        )
        updated = await call.shown("session.updated")
        upstream_session = line.sent_of("session.update")[-1]["session"]
    assert updated["session"]["instructions"] == "Cage four."
    assert updated["session"]["tools"] == [search]
    assert [tool["name"] for tool in upstream_session["tools"]] == [METRIC.name, "web_search"]
    assert upstream_session["instructions"].endswith("Cage four.")
    assert_nothing_leaked(call)


@in_virtual_time
async def test_a_voice_that_the_service_lacks_is_left_to_the_service():
    service = MemoryService()
    service.refuses = lambda asked: asked["audio"]["output"].get("voice") == "ash"
    async with LiveCall(service) as call:
        line = await call.ready()
        call.send(
            "session.update", session={"instructions": "Cage four.", "audio": {"output": {"voice": "ash"}}}
        )
        assert (await call.shown("session.updated"))["session"]["instructions"] == "Cage four."
        assert call.shown_of("error") == []
        assert line.sent[-1]["session"]["instructions"].endswith("Cage four.")


@in_virtual_time
async def test_an_update_that_the_service_refuses_is_answered_and_forgotten():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        service.refuses = lambda asked: "Cage four." in asked["instructions"]
        call.send("session.update", session={"instructions": "Cage four."})
        assert (await call.shown("session.updated"))["session"]["instructions"] == ""
        assert (await call.shown("error"))["error"]["code"] == line.voice.refusal
        service.refuses = lambda asked: False
        line.drop()
        await call.shown("vocero.speech.restored")
        assert "Cage four." not in service.lines[-1].sent[0]["session"]["instructions"]


@in_virtual_time
async def test_an_update_is_answered_although_the_service_was_lost_meanwhile():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        service.confirms = False
        call.send("session.update", session={"instructions": "Cage four."})
        await line.asked("session.update")
        service.confirms = True
        line.drop()
        assert (await call.shown("session.updated"))["session"]["instructions"] == "Cage four."


@in_virtual_time
async def test_an_integrator_s_stored_session_is_checked_like_a_page_s():
    page = {
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "get_metric_history"}],
        "temperature": 3,
        "audio": {"output": {"voice": "v"}},
    }
    async with LiveCall(MemoryService(), oxygen_source(), page=page) as call:
        line = await call.ready()
        declared = line.sent[0]["session"]
    assert [tool["name"] for tool in declared["tools"]] == ["get_metric_history"]
    assert declared["tools"][0]["description"] == METRIC.description
    assert declared["instructions"].endswith("Be brief.")
    assert "temperature" not in declared


@in_virtual_time
async def test_a_stored_session_of_nonsense_is_no_reason_to_fail():
    async with LiveCall(MemoryService(), page={"audio": {"input": 5}, "modalities": 7}) as call:
        await call.ready()


# ---- who sees what


@in_virtual_time
async def test_a_stock_client_sees_no_event_of_vocero_s_own():
    service = MemoryService(PICKS, Says(ANSWER))
    async with LiveCall(service, oxygen_source(), extras=False) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        await call.shown("response.done")
        line.drop()
        await service.line(2)
        call.send("nonsense.event")
        call.session.receive(
            json.dumps({"label": "rtvi-ai", "type": "client-message", "id": "1", "data": {"t": "x"}})
        )
        await call.shown("error")
        assert [kind for kind in call.kinds() if kind.startswith("vocero") or kind == "ui-command"] == []
        assert call.text() == ANSWER


@pytest.mark.except_in(*PIPELINES, because="these services repeat no items")
@in_virtual_time
async def test_items_that_the_server_made_answer_as_not_found_where_the_service_repeats_items():
    service = MemoryService(PICKS, Says(ANSWER))
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        await call.shown("response.done")
        ids = [event["item"]["id"] for event in line.sent_of("conversation.item.create")]
        for item_id in (ids[1], "item_1", "item_77"):
            call.send("conversation.item.retrieve", item_id=item_id)
        first = await call.shown("conversation.item.retrieved")
        second = await call.shown("conversation.item.retrieved")
        asked = await line.asked("conversation.item.retrieve")
        line.say(
            {"type": "error", "error": {"code": "not_found", "event_id": asked["event_id"], "message": "No."}}
        )
        third = await call.shown("conversation.item.retrieved")
        assert first["item"] is second["item"] is third["item"] is None
        assert asked["item_id"] == "item_77"
        assert call.shown_of("error") == []


@in_virtual_time
async def test_a_service_that_renames_our_outputs_leaks_none():
    service = MemoryService(PICKS, Says(ANSWER))
    service.acknowledges = False
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("vocero.tool.completed")
        await line.asked("conversation.item.create")
        output = await line.asked("conversation.item.create")
        line.say(*ga.item_events({**output["item"], "id": "renamed"}))
        await call.shown("response.output_audio.delta")
        assert_nothing_leaked(call)


@in_virtual_time
async def test_a_cancelled_response_that_held_a_call_leaks_none_of_it():
    slow = SlowTool()
    async with LiveCall(MemoryService(), slow.source) as call:
        line = await call.ready()
        call.speaks(line, QUESTION)
        item = ga.call_item("item_9", "call_9", "get_metric_history", json.dumps(ASKS))
        line.say(ga.created("resp_9"), *ga.called("resp_9", item))
        await slow.started.wait()
        call.interrupts(line)
        line.say(ga.done("resp_9", [item], status="cancelled"))
        await call.shown("response.done")
        assert_nothing_leaked(call)


@in_virtual_time
async def test_a_browser_s_own_tool_is_answered_by_the_browser():
    service = MemoryService(Calls.one("web_search", {"query": "sea lice"}), Says("I found it."))
    async with LiveCall(service, browser_tools=frozenset({"web_search"})) as call:
        line = await call.ready()
        call.types("Search for sea lice.")
        asked = await call.shown("response.function_call_arguments.done")
        await call.shown("response.done")
        output = {"type": "function_call_output", "call_id": asked["call_id"], "output": "Found."}
        call.send("conversation.item.create", item=output)
        await line.quiet()
        assert len(line.sent_of("response.create")) == 1
        call.send("response.create")
        await call.shown("response.done")
        assert line.sent_of("conversation.item.create")[-1]["item"]["output"] == "Found."
        assert call.text() == "I found it."


@in_virtual_time
async def test_a_browser_s_tool_without_an_answer_is_answered_for_it_after_20_s():
    service = MemoryService(Calls.one("web_search", {"query": "x"}), Says("It did not answer."))
    async with LiveCall(service, browser_tools=frozenset({"web_search"})) as call:
        line = await call.ready()
        call.types("Search.")
        await call.shown("response.done")
        await call.shown("response.done")
        output = json.loads(line.sent_of("conversation.item.create")[-1]["item"]["output"])
        assert output["error"]["code"] == "timeout"
        assert asyncio.get_running_loop().time() == 1020


@in_virtual_time
async def test_two_calls_share_nothing():
    ada, mara = oxygen_source(), MemorySource((METRIC, answers({"cage": 9})))
    first = LiveCall(MemoryService(PICKS, Says("Four.")), ada)
    second = LiveCall(MemoryService(PICKS, Says("Nine.")), mara)
    first.alone = second.alone = False
    async with first, second:
        for call in (first, second):
            await call.ready()
            call.types(QUESTION)
        for call in (first, second):
            await call.shown("vocero.tool.completed")
            await call.shown("response.output_audio.delta")
            await call.shown("response.done")
    assert (first.text(), second.text()) == ("Four.", "Nine.")
    assert len(ada.calls) == len(mara.calls) == 1
    assert {type(record) for record in first.records} >= {TurnClosed, CallClosed}
