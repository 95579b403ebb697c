"""A source's tools change in the middle of a call: asked for again, and declared between two turns."""

import json
from dataclasses import replace

import pytest

from conversations.core.records import UpstreamClosed, UpstreamOpened
from conversations.tests.live_call import ANSWER, METRIC, PICKS, QUESTION, LiveCall, SlowTool, oxygen_source
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Calls, Says
from conversations.tests.virtual_time import in_virtual_time, seconds_pass
from tools.catalog import Offer
from tools.testing import MemorySource, a_tool, answers, offer_of, reference_data

pytestmark = pytest.mark.every_dialect

REPORTS = a_tool("list_reports")


def reports_source():
    return MemorySource((REPORTS, answers({"reports": ["North"]})))


def declared(line):
    """The names of the tools in the last declaration that the service got."""
    return [tool["name"] for tool in line.sent_of("session.update")[-1]["session"]["tools"]]


def last_output(line):
    return line.sent_of("conversation.item.create")[-1]["item"]["output"]


@in_virtual_time
async def test_tools_that_change_between_turns_are_declared_at_once_and_run():
    service = MemoryService(Calls.one("list_reports"), Says("One report."))
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        call.changes_tools(await offer_of(reports_source()))
        await line.asked("session.update")
        assert declared(line) == ["list_reports"]
        call.types("List the reports.")
        await call.shown("vocero.tool.completed")
        await line.quiet()
        assert reference_data(last_output(line)) == {"reports": ["North"]}
        await call.shown("response.done")
    assert not call.shown_of("session.updated"), "the page did not ask for an update"


@in_virtual_time
async def test_tools_that_change_in_a_turn_are_those_of_the_next():
    slow, service = SlowTool(), MemoryService(PICKS, Says(ANSWER), PICKS, Says("It is gone."))
    async with LiveCall(service, slow.source) as call:
        line = await call.ready()
        call.types(QUESTION)
        await slow.started.wait()
        call.changes_tools(await offer_of(reports_source()))
        await line.quiet()
        assert not line.sent_of("session.update")[1:], "the turn that runs keeps its tools"
        slow.finish.set()
        await call.shown("vocero.tool.completed")
        await line.asked("session.update")
        assert call.closed_turns(), "the turn had ended"
        assert declared(line) == ["list_reports"]
        call.types(QUESTION)
        failed = await call.shown("vocero.tool.failed")
        assert (failed["code"], failed["name"]) == ("unknown_tool", "")
        await line.quiet()
        assert json.loads(last_output(line))["error"]["code"] == "unknown_tool"
        await call.shown("response.done")


@in_virtual_time
async def test_a_revoked_tool_is_refused_and_never_run_again():
    source, service = oxygen_source(), MemoryService(PICKS, Says("That is not there any more."))
    async with LiveCall(service, source) as call:
        line = await call.ready()
        call.changes_tools(Offer())
        await line.asked("session.update")
        assert declared(line) == []
        call.types(QUESTION)
        assert (await call.shown("vocero.tool.failed"))["code"] == "unknown_tool"
        await call.shown("response.done")
    assert source.calls == []


@in_virtual_time
async def test_a_change_of_a_schema_alone_is_declared():
    narrower = replace(METRIC, parameters={"type": "object", "properties": {"cage": {"type": "integer"}}})
    async with LiveCall(MemoryService(), oxygen_source()) as call:
        line = await call.ready()
        call.changes_tools(await offer_of(MemorySource((narrower, answers(1)))))
        update = await line.asked("session.update")
        assert update["session"]["tools"][0]["parameters"] == narrower.parameters


@in_virtual_time
async def test_a_change_that_changes_nothing_is_not_declared():
    async with LiveCall(MemoryService(), oxygen_source()) as call:
        line = await call.ready()
        call.changes_tools(await offer_of(oxygen_source()))
        await seconds_pass(1)
        assert call.asked_again == 1
        assert len(line.sent_of("session.update")) == 1


@in_virtual_time
async def test_a_source_that_cannot_be_read_keeps_the_tools_that_are_known():
    async with LiveCall(MemoryService(PICKS, Says(ANSWER)), oxygen_source()) as call:
        line = await call.ready()
        call.changes_tools(Offer(error="AquaPortal cannot be reached."))
        await seconds_pass(1)
        assert len(line.sent_of("session.update")) == 1
        call.changes_tools(Offer(error="AquaPortal no longer accepts this sign-in.", unauthorized=True))
        await seconds_pass(5)
        assert call.unauthorized == 1


@in_virtual_time
async def test_a_thousand_changes_a_second_are_few_questions():
    async with LiveCall(MemoryService(), oxygen_source()) as call:
        await call.ready()
        for _ in range(1000):
            call.session.tools_changed()
            await seconds_pass(0.01)
        assert 2 <= call.asked_again <= 7


@in_virtual_time
async def test_a_service_that_takes_no_tools_is_told_of_the_change_in_words():
    service = MemoryService()
    service.keeps_tools = False
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        call.changes_tools(await offer_of(reports_source()))
        session = (await line.asked("session.update"))["session"]
        assert session["tools"] == []
        assert '"list_reports"' in session["instructions"]
        assert "get_metric_history" not in session["instructions"]


@in_virtual_time
async def test_the_first_tools_of_a_call_may_come_late_and_are_confirmed_like_any_others():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        call.changes_tools(await offer_of(reports_source()))
        await line.asked("session.update")
        assert declared(line) == ["list_reports"]
        service.keeps_tools = False
        await seconds_pass(5)
        call.changes_tools(await offer_of(oxygen_source()))
        await line.asked("session.update")
        session = (await line.asked("session.update"))["session"]
        assert session["tools"] == []
        assert '"get_metric_history"' in session["instructions"]


@in_virtual_time
async def test_a_service_that_refuses_the_change_is_told_in_words():
    service = MemoryService()
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        service.refuses = lambda session: bool(session["tools"])
        call.changes_tools(await offer_of(reports_source()))
        await line.asked("session.update")
        assert '"list_reports"' in (await line.asked("session.update"))["session"]["instructions"]
        await line.quiet()
    assert not call.shown_of("error"), "it is not the page's update that was refused"


@in_virtual_time
async def test_an_operator_sees_what_was_declared_before_and_after():
    async with LiveCall(MemoryService(), oxygen_source()) as call:
        line = await call.ready()
        call.changes_tools(await offer_of(reports_source()))
        await line.asked("session.update")
    sessions = [record for record in call.records if isinstance(record, UpstreamOpened)]
    assert [record.tool_names for record in sessions] == [("get_metric_history",), ("list_reports",)]
    closed = [record for record in call.records if isinstance(record, UpstreamClosed)]
    assert [(one.upstream_id, one.reason) for one in closed] == [
        (sessions[0].upstream_id, "redeclared"),
        (sessions[1].upstream_id, "closed"),
    ]


@in_virtual_time
async def test_the_page_s_own_update_is_answered_beside_a_change_of_tools():
    async with LiveCall(MemoryService(), oxygen_source()) as call:
        line = await call.ready()
        call.changes_tools(await offer_of(reports_source()))
        call.send("session.update", session={"type": "realtime", "instructions": "Look at cage four."})
        await call.shown("session.updated")
        await line.quiet()
        assert declared(line) == ["list_reports"]
        assert "Look at cage four." in line.sent_of("session.update")[-1]["session"]["instructions"]
    assert len(call.shown_of("session.updated")) == 1


@in_virtual_time
async def test_a_renewed_session_declares_the_tools_of_the_last_change():
    service = MemoryService()
    async with LiveCall(service, oxygen_source()) as call:
        line = await call.ready()
        call.changes_tools(await offer_of(reports_source()))
        await line.asked("session.update")
        line.drop()
        await call.shown("vocero.speech.restored")
        assert declared(service.lines[1]) == ["list_reports"]
