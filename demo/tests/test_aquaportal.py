"""The stand-in over its real protocols: login over HTTP, and MCP with the official client."""

import asyncio

import httpx2
import pytest
from mcp import MCPError

from demo.aquaportal.accounts import Accounts, TokenRefused, fingerprint
from demo.aquaportal.schemas import TOOLS
from demo.aquaportal.testing import running_portal

ADMINISTRATOR, NORTH_REPORTS, UNASSIGNED = "+34600000001", "+34600000002", "+34600000003"
EXPIRING, UNKNOWN = "+34600000008", "+34600000009"
OXYGEN = {"request": {"metric": "oxygen", "cage_number": 4}}
MODES = ("2026-07-28", "legacy")


@pytest.fixture(scope="module")
def running():
    with running_portal() as portal:
        yield portal


@pytest.fixture
def portal(running):
    running.reset()
    yield running
    running.faults.release()


def log_in(portal, body):
    return httpx2.post(portal.login_url, json=body, trust_env=False)


def text_of(result):
    return result.content[0].text


def test_a_known_phone_gets_a_token_and_its_user(portal):
    answer = log_in(portal, {"phone": ADMINISTRATOR})
    assert answer.status_code == 200
    assert answer.json()["user"] == {"id": "usr-administrator", "name": "Ana Torres"}
    assert len(answer.json()["sessionToken"]) > 40


def test_every_login_gives_another_token(portal):
    assert portal.log_in(ADMINISTRATOR) != portal.log_in(ADMINISTRATOR)


def test_an_unknown_phone_is_refused(portal):
    answer = log_in(portal, {"phone": UNKNOWN})
    assert (answer.status_code, answer.json()["error"]) == (401, "unknown_phone")


@pytest.mark.parametrize("body", [{}, {"phone": 34600000001}, {"phone": ""}, []])
def test_a_login_without_a_phone_is_a_bad_request(portal, body):
    assert log_in(portal, body).status_code == 400


def test_a_token_ends_after_its_time():
    now = [0.0]
    accounts = Accounts(clock=lambda: now[0])
    token, caller = accounts.log_in(ADMINISTRATOR)
    assert accounts.caller_of(token) is caller
    now[0] = 3600.0
    with pytest.raises(TokenRefused, match="expired"):
        accounts.caller_of(token)


async def test_the_list_holds_the_eight_tools_with_their_whole_schemas(portal):
    async with portal.client(ADMINISTRATOR) as client:
        listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [tool["name"] for tool in TOOLS]
    for tool, declared in zip(listed, TOOLS, strict=True):
        assert tool.input_schema == declared["inputSchema"]
        assert tool.output_schema == declared["outputSchema"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("json_answers", [False, True])
async def test_a_tool_answers_over_every_form_of_the_transport(portal, mode, stateless, json_answers):
    portal.faults.switch(stateless=stateless, json_answers=json_answers)
    async with portal.client(ADMINISTRATOR, mode) as client:
        result = await client.call_tool("get_metric_history", OXYGEN)
    assert result.structured_content["series"][0]["latest"]["value"] == 8.2
    assert "8.2 milligrams per liter" in result.structured_content["speech"]
    assert "8.2" in text_of(result)
    # A 2026 server streams only when there is something to tell before the answer.
    streams = mode == "legacy" and not json_answers
    assert portal.calls()[0].content_type == ("text/event-stream" if streams else "application/json")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_reports", {}),
        ("get_report", {"request": {"report_id": "rep-north-118"}}),
        ("list_insights", {}),
        ("get_metric_history", OXYGEN),
        ("list_podcasts", {}),
        ("get_podcast", {}),
        ("read_podcast_transcript", {"request": {"latest": True}}),
        ("get_my_briefing", {}),
    ],
)
async def test_each_tool_answers_what_its_output_schema_says(portal, tool, arguments):
    # The client validates structured content against the listed output schema, and raises.
    async with portal.client(ADMINISTRATOR) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error
    assert result.structured_content["speech"]


async def test_reports_of_four_pages_arrive_whole_and_next_offset_ends(portal):
    found, offset, pages = [], 0, 0
    async with portal.client(ADMINISTRATOR) as client:
        while offset is not None:
            asked = {"request": {"limit": 3, "offset": offset}}
            page = (await client.call_tool("list_reports", asked)).structured_content
            found += [report["report_id"] for report in page["reports"]]
            offset, pages = page.get("next_offset"), pages + 1
    assert (pages, len(found), len(set(found))) == (4, 10, 10)


async def test_a_report_of_the_north_center_is_ambiguous(portal):
    async with portal.client(ADMINISTRATOR) as client:
        result = await client.call_tool("get_report", {"request": {"center": "north center"}})
    assert result.structured_content["result"]["kind"] == "ambiguous"
    assert result.structured_content["speech"].endswith("Which one do you mean?")


async def test_three_callers_see_what_is_theirs(portal):
    seen = {}
    for phone in (ADMINISTRATOR, NORTH_REPORTS, UNASSIGNED):
        async with portal.client(phone) as client:
            reports = (await client.call_tool("list_reports", {})).structured_content
            oxygen = await client.call_tool("get_metric_history", OXYGEN)
            podcasts = (await client.call_tool("list_podcasts", {})).structured_content
        seen[phone] = (reports["total"], oxygen.is_error, podcasts["total"])
    assert seen == {
        ADMINISTRATOR: (10, False, 3),
        NORTH_REPORTS: (4, True, 3),
        UNASSIGNED: (0, True, 3),
    }


async def test_a_refusal_is_a_tool_error_in_words(portal):
    async with portal.client(NORTH_REPORTS) as client:
        result = await client.call_tool("get_metric_history", OXYGEN)
    assert result.is_error
    assert text_of(result).startswith("You have no access to cage 4")
    assert "8.2" not in text_of(result)


async def test_an_unknown_tool_is_a_protocol_error(portal):
    async with portal.client(ADMINISTRATOR) as client:
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("delete_report", {})


@pytest.mark.parametrize("mode", MODES)
async def test_a_token_that_expires_in_mid_call_opens_nothing_after_two_calls(portal, mode):
    async with portal.client(EXPIRING, mode) as client:
        for _ in range(2):
            assert not (await client.call_tool("get_metric_history", OXYGEN)).is_error
        for _ in range(2):
            with pytest.raises(MCPError):
                await client.call_tool("get_metric_history", OXYGEN)
    assert [call.status for call in portal.calls()] == [200, 200, 401, 401]
    assert [call.started for call in portal.calls()] == [True, True, False, False]


async def test_the_other_callers_tokens_outlive_many_calls(portal):
    async with portal.client(ADMINISTRATOR) as client:
        for _ in range(4):
            assert not (await client.call_tool("list_podcasts", {})).is_error


@pytest.mark.parametrize("end", ["expire", "revoke"])
async def test_a_token_can_be_ended_now_for_one_caller_alone(portal, end):
    async with portal.client(ADMINISTRATOR) as ended, portal.client(NORTH_REPORTS) as other:
        getattr(portal.accounts, end)(ADMINISTRATOR)
        with pytest.raises(MCPError):
            await ended.call_tool("list_podcasts", {})
        assert not (await other.call_tool("list_podcasts", {})).is_error
    assert [call.status for call in portal.calls()] == [401, 200]


@pytest.mark.parametrize("mode", MODES)
async def test_cancelling_a_slow_tool_is_seen_by_the_server(portal, mode):
    portal.faults.add("slow", seconds=60)
    async with portal.client(ADMINISTRATOR, mode) as client:
        call = asyncio.create_task(client.call_tool("list_reports", {}))
        await portal.seen(lambda entry: entry.tool == "list_reports" and entry.started)
        call.cancel()
        entry = await portal.seen(lambda entry: entry.cancelled)
    assert (entry.tool, entry.finished) == ("list_reports", False)


async def test_cancelling_a_slow_tool_that_answers_json_lets_it_run_on(portal):
    portal.faults.switch(json_answers=True)
    portal.faults.add("slow", seconds=60)
    async with portal.client(ADMINISTRATOR, "2026-07-28") as client:
        call = asyncio.create_task(client.call_tool("list_reports", {}))
        await portal.seen(lambda entry: entry.started)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    portal.faults.release()
    entry = await portal.seen(lambda entry: entry.finished)
    assert not entry.cancelled


async def test_a_released_slow_tool_answers_and_reports_progress(portal):
    portal.faults.add("slow", seconds=60)
    heard = asyncio.Event()

    async def on_progress(progress, total, message):
        heard.set()

    async with portal.client(ADMINISTRATOR) as client:
        call = asyncio.create_task(client.call_tool("list_reports", {}, progress_callback=on_progress))
        await asyncio.wait_for(heard.wait(), 10)
        portal.faults.release()
        assert (await call).structured_content["total"] == 10
    assert portal.calls()[0].content_type == "text/event-stream"


async def test_a_journal_entry_says_who_called_what_and_keeps_no_token(portal):
    async with portal.client(ADMINISTRATOR) as client:
        await client.call_tool("get_metric_history", OXYGEN)
    token = portal.accounts.tokens[-1]
    entry = portal.calls("get_metric_history")[0]
    assert (entry.caller, entry.rpc, entry.arguments) == (ADMINISTRATOR, "tools/call", OXYGEN)
    assert (entry.token, entry.finished) == (fingerprint(token), True)
    assert "authorization" in entry.headers
    assert token not in repr(portal.requests)
