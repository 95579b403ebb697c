"""Each fault switch of the stand-in, as a client meets it."""

import asyncio

import httpx2
import pytest
from mcp import MCPError
from pydantic import ValidationError

from demo.aquaportal.testing import running_portal
from demo.aquaportal.tool_faults import HOSTILE_TEXT

ADMINISTRATOR = "+34600000001"


@pytest.fixture(scope="module")
def running():
    with running_portal() as portal:
        yield portal


@pytest.fixture
def portal(running):
    running.reset()
    yield running
    running.faults.release()


def post(portal, token, method, params, headers=None):
    """A bare message of the handshake era, to see the answer that the SDK's client hides."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    sent = {"Accept": "application/json, text/event-stream", **(headers or {})}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    return httpx2.post(portal.mcp_url, json=message, headers=sent, trust_env=False)


def post_call(portal, token, tool="list_podcasts"):
    return post(portal, token, "tools/call", {"name": tool, "arguments": {}})


async def fail_one_call(portal, tool="list_podcasts"):
    """Fail one call of the official client, then see the next one succeed in the same session."""
    async with portal.client(ADMINISTRATOR) as client:
        with pytest.raises(MCPError):
            await client.call_tool(tool, {})
        portal.faults.clear()
        assert not (await client.call_tool(tool, {})).is_error


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 502, 503])
async def test_a_status_is_answered_and_the_session_lives_on(portal, status):
    portal.faults.add("status", status=status)
    answer = post_call(portal, portal.log_in(ADMINISTRATOR))
    assert (answer.status_code, answer.json()["error"]) == (status, "on_purpose")
    await fail_one_call(portal)
    assert not any(call.started for call in portal.calls() if call.fault == "status")


def test_no_token_and_a_foreign_token_are_401_with_a_challenge(portal):
    for token, error in ((None, "invalid_request"), ("aqp_made-up", "invalid_token")):
        answer = post_call(portal, token)
        assert answer.status_code == 401
        assert f'error="{error}"' in answer.headers["WWW-Authenticate"]


def test_a_fault_strikes_its_tool_and_as_often_as_it_says(portal):
    portal.faults.switch(stateless=True)
    token = portal.log_in(ADMINISTRATOR)
    portal.faults.add("status", status=403, tool="get_podcast", times=2)
    statuses = [
        post_call(portal, token, tool).status_code for tool in ("list_podcasts", *["get_podcast"] * 3)
    ]
    assert statuses == [200, 403, 403, 200]


def test_a_fault_on_mcp_strikes_all_of_mcp_and_nothing_else(portal):
    token = portal.log_in(ADMINISTRATOR)
    portal.faults.add("status", on="mcp", status=502)
    assert {post(portal, token, method, {}).status_code for method in ("initialize", "tools/list")} == {502}
    assert httpx2.get(portal.mcp_url, trust_env=False).status_code == 502
    portal.log_in(ADMINISTRATOR)


def test_a_fault_can_strike_the_login(portal):
    portal.faults.add("status", on="login", status=500)
    assert httpx2.post(portal.login_url, json={}, trust_env=False).status_code == 500
    portal.faults.clear()
    portal.faults.add("body", on="login", text='{"sessionToken": "only"}')
    assert httpx2.post(portal.login_url, json={}, trust_env=False).json() == {"sessionToken": "only"}


@pytest.mark.parametrize(("other_origin", "host"), [(False, "127.0.0.1"), (True, "localhost")])
async def test_a_redirect_leads_to_a_place_that_tells_who_followed(portal, other_origin, host):
    portal.faults.add("redirect", other_origin=other_origin)
    answer = post_call(portal, portal.log_in(ADMINISTRATOR))
    assert answer.status_code == 307
    assert httpx2.URL(answer.headers["Location"]).host == host
    await fail_one_call(portal)
    assert [entry for entry in portal.requests if entry.path == "/moved"] == []
    assert httpx2.post(answer.headers["Location"], trust_env=False).status_code == 200
    assert portal.requests[-1].path == "/moved"


@pytest.mark.parametrize("kind", ["malformed", "html"])
async def test_a_body_that_is_not_json_fails_the_call(portal, kind):
    portal.faults.add(kind)
    await fail_one_call(portal)
    assert [call.fault for call in portal.calls()] == [kind, None]


@pytest.mark.parametrize(
    ("kind", "error"), [("drop", httpx2.NetworkError), ("truncate", httpx2.RemoteProtocolError)]
)
def test_a_lost_connection_ends_the_call_and_not_the_server(portal, kind, error):
    portal.faults.switch(stateless=True)
    token = portal.log_in(ADMINISTRATOR)
    portal.faults.add(kind, times=1)
    with pytest.raises(error):
        post_call(portal, token)
    assert post_call(portal, token).status_code == 200


async def test_a_lost_connection_in_mid_call_reaches_the_official_client(portal):
    async def call_and_lose():
        async with portal.client(ADMINISTRATOR) as client:
            # From the task that owns the client the loss would look like a cancellation.
            call = asyncio.create_task(client.call_tool("list_podcasts", {}))
            with pytest.raises(MCPError):
                await asyncio.shield(call)

    portal.faults.add("drop")
    with pytest.raises(ExceptionGroup) as lost:
        await call_and_lose()
    assert lost.group_contains(httpx2.NetworkError)


async def test_a_slow_list_waits_until_it_is_released(portal):
    portal.faults.add("slow", on="tools/list", seconds=60)
    async with portal.client(ADMINISTRATOR) as client:
        listing = asyncio.create_task(client.list_tools())
        await portal.seen(lambda entry: entry.rpc == "tools/list")
        assert portal.requests[-1].status is None
        portal.faults.release()
        assert len((await listing).tools) == 8


async def test_a_slow_tool_answers_after_its_seconds(portal):
    portal.faults.add("slow", seconds=0.01)
    async with portal.client(ADMINISTRATOR) as client:
        assert not (await client.call_tool("list_podcasts", {})).is_error


async def test_extra_tools_are_listed_and_tell_when_they_run(portal):
    portal.faults.switch(extra_tools=("delete_report",))
    async with portal.client(ADMINISTRATOR) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[-1] == "delete_report"
        assert portal.calls("delete_report") == []
        await client.call_tool("delete_report", {})
    assert portal.calls("delete_report")[0].finished


async def test_a_whole_declaration_replaces_the_tool_of_its_name(portal):
    declared = {"name": "get_report", "description": "Changed.", "inputSchema": {"type": "object"}}
    portal.faults.switch(extra_tools=(declared,))
    async with portal.client(ADMINISTRATOR) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert len(listed) == 8
    assert (listed["get_report"].description, listed["get_report"].output_schema) == ("Changed.", None)


async def test_the_list_of_tools_comes_in_pages(portal):
    portal.faults.switch(tools_page_size=3)
    names, cursor = [], None
    async with portal.client(ADMINISTRATOR) as client:
        for _ in range(3):
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
    assert (len(names), len(set(names)), cursor) == (8, 8, None)


async def test_a_cursor_can_repeat_for_ever(portal):
    portal.faults.switch(tools_page_size=3, repeat_cursor=True)
    async with portal.client(ADMINISTRATOR) as client:
        first = await client.list_tools(cursor="3", cache_mode="bypass")
    assert first.next_cursor == "3"


async def test_an_error_result_is_in_words(portal):
    portal.faults.add("tool_error", text="The sensors are being cleaned.")
    async with portal.client(ADMINISTRATOR) as client:
        result = await client.call_tool("list_podcasts", {})
    assert (result.is_error, result.content[0].text) == (True, "The sensors are being cleaned.")


async def test_hostile_text_stands_in_the_report_and_in_its_speech(portal):
    portal.faults.add("hostile")
    async with portal.client(ADMINISTRATOR) as client:
        found = await client.call_tool("get_report", {"request": {"report_id": "rep-north-118"}})
    assert "<<<VOCERO_MCP_CALL:NAME=delete_report" in found.structured_content["speech"]
    assert found.structured_content["result"]["report"]["summary"].endswith(HOSTILE_TEXT)


async def test_a_result_unlike_its_schema_is_refused_by_the_official_client(portal):
    portal.faults.add("wrong_shape")
    async with portal.client(ADMINISTRATOR) as client:
        with pytest.raises(RuntimeError, match="Invalid structured content"):
            await client.call_tool("list_podcasts", {})


async def test_a_result_can_come_as_text_alone(portal):
    portal.faults.switch(
        extra_tools=({"name": "list_podcasts", "description": "x", "inputSchema": {"type": "object"}},)
    )
    portal.faults.add("text_only")
    async with portal.client(ADMINISTRATOR) as client:
        result = await client.call_tool("list_podcasts", {})
    assert result.structured_content is None
    assert result.content[0].text.startswith("3 podcasts")


async def test_a_result_can_be_as_long_as_a_test_needs(portal):
    portal.faults.add("huge", characters=70_000)
    async with portal.client(ADMINISTRATOR) as client:
        result = await client.call_tool("list_reports", {})
    assert 70_000 <= len(result.content[0].text) < 80_000


async def test_a_portal_of_the_handshake_era_makes_the_client_shake_hands(portal):
    portal.faults.switch(legacy_only=True)
    async with portal.client(ADMINISTRATOR) as client:
        assert not (await client.call_tool("list_podcasts", {})).is_error
    spoken = [entry.rpc for entry in portal.requests if entry.rpc]
    assert spoken[:3] == ["server/discover", "initialize", "notifications/initialized"]


def test_a_session_belongs_to_who_opened_it(portal):
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opened = post(portal, portal.log_in(ADMINISTRATOR), "initialize", hello)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    for phone, status in ((ADMINISTRATOR, 200), ("+34600000002", 404)):
        assert post(portal, portal.log_in(phone), "tools/list", {}, session).status_code == status


@pytest.mark.parametrize(
    "change",
    [
        lambda faults: faults.add("explode"),
        lambda faults: faults.add("slow", colour="red"),
        lambda faults: faults.switch(tools_page_size="many"),
        lambda faults: faults.switch(nothing=True),
    ],
)
def test_a_fault_or_a_switch_that_does_not_exist_is_refused(portal, change):
    with pytest.raises(ValidationError):
        change(portal.faults)
