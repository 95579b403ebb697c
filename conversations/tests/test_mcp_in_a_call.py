"""MCP tools in a live call: what reaches the model whole, and what the caller sees of it."""

import json

import pytest

from conversations.models import ToolCall
from conversations.tests.speech_events import Calls, Says
from conversations.tests.speech_script import told
from conversations.tests.stored import rows
from conversations.tests.talking import eventually
from demo.aquaportal.schemas import TOOLS
from tools.models import CatalogSnapshot
from tools.testing import reference_data

pytest_plugins = ("conversations.tests.deployment",)

OXYGEN = {"request": {"metric": "oxygen", "cage_number": 4}}
PAGES = 3
SPOKEN = "response.output_audio_transcript.done"


class Chooser:
    """A model that goes on by what it was told: `first`, then what `then` makes of each result."""

    def __init__(self, speech, first, then):
        self.results = []
        self._first, self._then = first, then
        speech.reply = self

    def __call__(self, line):
        self.results = [reference_data(text) for text in told(line)]
        return self._then(self.results[-1], len(self.results)) if self.results else self._first


async def test_the_schemas_reach_the_model_as_the_server_declares_them(ada, speech):
    async with ada.talks() as talk:
        await talk.ready()
        line = await speech.line()
        declared = {tool["name"]: tool for tool in line.sent_of("session.update")[-1]["session"]["tools"]}
    for tool in TOOLS:
        assert declared[tool["name"]]["parameters"] == {"properties": {}, **tool["inputSchema"]}
        assert declared[tool["name"]]["description"] == tool["description"]
    assert "$defs" in declared["get_metric_history"]["parameters"]


@pytest.mark.parametrize("selection", ["native", "marker"])
async def test_a_list_is_followed_over_three_pages_by_its_next_offset(ada, speech, configure, selection):
    configure(tool_selection=selection)

    def ask(offset=0):
        arguments = {"request": {"limit": 4, "offset": offset}}
        if selection == "native":
            return Calls.one("list_reports", arguments)
        return Says(f"<<<VOCERO_MCP_CALL:NAME=list_reports,ARGUMENTS={json.dumps(arguments)}>>>", ends=False)

    def follow(page, count):
        return ask(page["next_offset"]) if "next_offset" in page else Says(f"That were {count} pages.")

    chooser = Chooser(speech, ask(), follow)
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("List all reports.")
        for _ in range(PAGES):
            await talk.shown("vocero.tool.completed")
        await talk.shown(SPOKEN)
        await ada.turns()
    assert talk.text() == f"That were {PAGES} pages."
    ids = [report["report_id"] for page in chooser.results for report in page["reports"]]
    assert len(chooser.results) == PAGES
    assert len(ids) == len(set(ids)) == chooser.results[0]["total"]
    assert [call.name for call in await rows(ToolCall)] == ["list_reports"] * PAGES


async def test_an_ambiguous_report_is_resolved_by_a_second_call(ada, speech):
    def resolve(answer, _count):
        found = answer["result"]
        if found["kind"] == "ambiguous":
            return Calls.one("get_report", {"request": {"report_id": found["candidates"][0]["report_id"]}})
        return Says(found["report"]["recommendation"])

    first = Calls.one("get_report", {"request": {"center": "north center"}})
    chooser = Chooser(speech, first, resolve)
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("Tell me more about the north center report.")
        await talk.shown("vocero.tool.completed")
        completed = await talk.shown("vocero.tool.completed")
        await talk.shown(SPOKEN)
        await ada.turns()
    ambiguous, whole = (result["result"] for result in chooser.results)
    assert (ambiguous["kind"], whole["kind"]) == ("ambiguous", "report")
    assert whole["report"]["report_id"] == ambiguous["candidates"][0]["report_id"]
    assert completed["sources"] == [{"title": whole["report"]["title"]}]
    assert talk.text() == whole["report"]["recommendation"]


# ---- what happens while a tool runs


async def test_progress_is_shown_now_and_then_in_the_fields_of_the_contract(ada, speech, aquaportal):
    aquaportal.faults.add("slow", seconds=0.6, steps=60)
    speech.replies += [Calls.one("get_metric_history", OXYGEN), Says("It is fine.")]
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("What is the oxygen level in cage four?")
        started = await talk.shown("vocero.tool.started")
        await talk.shown("vocero.tool.completed")
        shown = talk.shown_of("vocero.tool.progress")
    assert 1 <= len(shown) <= 5, "bounded, however much the server tells"
    for event in shown:
        assert set(event) - {"type", "event_id"} == {"call_id", "progress", "total", "message"}
        assert event["call_id"] == started["call_id"]
        assert (event["total"], event["message"]) == (60, "Reading the sensors")


TOLD = [({}, "cancelled"), ({"json_answers": True}, "outcome_unknown")]


@pytest.mark.parametrize(("switches", "code"), TOLD, ids=["streams", "JSON"])
async def test_what_the_caller_talks_over_is_cancelled_or_of_unknown_outcome(
    ada, speech, aquaportal, switches, code
):
    aquaportal.faults.switch(**switches)
    aquaportal.faults.add("slow", times=1)
    speech.replies += [Calls.one("get_metric_history", OXYGEN), Says("Yes?")]
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("What is the oxygen level in cage four?")
        await aquaportal.seen(lambda entry: entry.started)
        await talk.types("Never mind.")
        assert (await talk.shown("vocero.tool.failed"))["code"] == "cancelled"
        await talk.shown(SPOKEN)

        async def closed():
            return [row for row in await rows(ToolCall) if row.status != "running"]

        (row,) = await eventually(closed)
    assert row.code == code
    if code == "cancelled":
        await aquaportal.seen(lambda entry: entry.cancelled)
    assert talk.text() == "Yes?"


@pytest.mark.parametrize("switches", [{}, {"legacy_only": True}], ids=["2026-07-28", "2025-11-25"])
async def test_a_tool_that_is_withdrawn_in_a_call_is_declared_no_more_and_refused(
    ada, speech, aquaportal, switches
):
    aquaportal.faults.switch(**switches)
    speech.replies += [
        Calls.one("get_podcast"),
        Says("It is gone."),
        Calls.one("list_podcasts"),
        Says("Three."),
    ]
    async with ada.talks() as talk:
        await talk.ready()
        line = await speech.line()
        line.skip()
        opened = "GET" if switches else "POST"
        await aquaportal.seen(
            lambda entry: (
                entry.method == opened and entry.status == 200 and entry.rpc in (None, "subscriptions/listen")
            )
        )
        aquaportal.change_tools(withdrawn_tools=("get_podcast",))
        update = await line.asked("session.update")
        assert len(declared := {tool["name"] for tool in update["session"]["tools"]}) == 7
        assert "get_podcast" not in declared
        await talk.types("Tell me of the podcast.")
        failed = await talk.shown("vocero.tool.failed")
        assert (failed["code"], failed["name"]) == ("unknown_tool", "")
        await talk.shown(SPOKEN)
        await talk.types("Which podcasts are there?")
        await talk.shown("vocero.tool.completed")
        await talk.shown(SPOKEN)
    assert [call.tool for call in aquaportal.calls()] == ["list_podcasts"]
    (kept,) = await rows(CatalogSnapshot)
    assert "get_podcast" not in {tool["name"] for tool in kept.tools}


async def test_a_redirect_ends_in_an_error_and_an_audit_row_and_nobody_follows_case_084(
    ada, speech, aquaportal
):
    aquaportal.faults.add("redirect", other_origin=True)
    speech.replies += [Calls.one("get_metric_history", OXYGEN), Says("It cannot be reached.")]
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("What is the oxygen level in cage four?")
        assert (await talk.shown("vocero.tool.failed"))["code"] == "unavailable"
        await talk.shown(SPOKEN)
        (output,) = told(await speech.line())

        async def closed():
            return [row for row in await rows(ToolCall) if row.status != "running"]

        (row,) = await eventually(closed)
    assert "redirects elsewhere (HTTP 307)" in json.loads(output)["error"]["message"]
    assert (row.code, row.excerpt) == (
        "unavailable",
        "The server redirects elsewhere (HTTP 307), which is refused.",
    )
    assert [entry for entry in aquaportal.requests if entry.path == "/moved"] == []


async def test_with_a_wrong_address_voice_works_and_says_that_the_tools_are_missing_case_075_097(
    ada, speech, configure
):
    configure(mcp_url="http://127.0.0.1:9/mcp")
    speech.replies += [Calls.one("list_reports"), Says("I cannot look that up."), Says("Hello.")]
    async with ada.talks() as talk:
        ready = await talk.shown("vocero.conversation.ready")
        assert ready["tools"] == {"count": 0, "error": "AquaPortal cannot be reached."}
        await talk.types("List the reports.")
        assert (await talk.shown("vocero.tool.failed"))["code"] == "unknown_tool"
        await talk.shown(SPOKEN)
        await talk.types("Hello.")
        await talk.shown(SPOKEN)
    assert talk.text() == "I cannot look that up.Hello."
    (kept,) = await rows(CatalogSnapshot)
    assert kept.last_error == "unavailable"


async def test_a_text_answer_of_the_sdk_s_own_objects_is_delivered_case_131(ada, speech, aquaportal):
    aquaportal.faults.switch(
        extra_tools=({"name": "list_podcasts", "description": "x", "inputSchema": {"type": "object"}},)
    )
    aquaportal.faults.add("text_only")
    speech.replies += [Calls.one("list_podcasts"), Says("Three.")]
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("List my podcasts.")
        await talk.shown("vocero.tool.completed")
        await talk.shown(SPOKEN)
        (output,) = told(await speech.line())
    assert output.partition("\n")[2].startswith("3 podcasts")
