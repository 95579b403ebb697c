"""The MCP source holds one client for its caller: opened late, reused, renewed, closed, and never shared."""

import asyncio

import pytest

from tools.contract import ToolFailure
from tools.sources.mcp import McpSource, Patience, Server, patience, session, transport
from tools.testing import TIMEOUT, a_caller, a_context
from tools.tests import fault_server as faults
from tools.tests.fault_server import fault_server
from tools.tests.mcp_server import PIXEL, TOOLS, mcp_server

EMPTY = {"items": []}


@pytest.fixture
async def opened():
    """Makes sources that are closed at the end."""
    sources = []

    def make(server, **options):
        sources.append(McpSource(Server(server.url, **options)))
        return sources[-1]

    yield make
    for source in sources:
        await source.aclose()


async def call(source, name="nothing", caller=None, **context):
    arguments = context.pop("arguments", {})
    return (await source.call(name, arguments, a_context(caller, **context))).data


async def all_pages(server, source):
    return [tool.name for tool in await source.tools(a_caller())]


async def test_one_client_serves_every_use(opened):
    async with mcp_server(era="legacy") as server:
        source = opened(server)
        await source.open(a_caller())
        await all_pages(server, source)
        await asyncio.gather(*(call(source) for _ in range(5)))
        assert len([body for _, _, body in server.requests if '"initialize"' in body]) == 1


async def test_uses_at_one_time_open_one_client(opened):
    async with fault_server() as server:
        source = opened(server)
        await asyncio.gather(*(source.call("get_report", {}, a_context()) for _ in range(5)))
        assert server.methods().count("server/discover") == 1


async def test_every_page_of_the_list_is_read(opened):
    async with mcp_server(page_size=2) as server:
        assert await all_pages(server, opened(server)) == [tool.name for tool in TOOLS]


async def test_an_unused_client_is_closed_and_opened_again_when_needed(opened):
    async with mcp_server(era="legacy") as server:
        source = opened(server, patience=Patience(idle=0.01))
        await call(source)
        owner = next(task for task in asyncio.all_tasks() if task.get_name() == "mcp-session")
        await asyncio.wait({owner}, timeout=TIMEOUT)
        assert server.requests[-1][0] == "DELETE"
        assert await call(source) == EMPTY


async def test_a_busy_client_is_not_closed_as_unused(opened):
    async with mcp_server() as server:
        source = opened(server, patience=Patience(idle=0.01))
        slow = asyncio.create_task(call(source, "wait"))
        await server.started.wait()
        assert not (await asyncio.wait({slow}, timeout=0.1))[0]
        server.release.set()
        assert await slow == {"done": True}


async def test_a_forgotten_session_is_opened_again_once_within_the_call(opened):
    async with mcp_server(era="legacy") as server:
        source = opened(server)
        await call(source)
        server.forget_sessions()
        assert await call(source) == EMPTY
        assert len(server.called()) == 3, "the forgotten call was repeated once, and only once"


async def test_a_session_that_is_always_forgotten_is_unavailable(opened):
    async with mcp_server(era="legacy") as server:
        source = opened(server)
        await call(source)
        server.sdk.session_manager._server_instances = _Forgetful()
        with pytest.raises(ToolFailure) as caught:
            await call(source)
        assert caught.value.code == "unavailable"
        assert len(server.called()) == 3


@pytest.mark.parametrize(
    "refusal",
    [
        faults.status(404),
        faults.rpc_error(404, -32001, "Session not found"),
        faults.rpc_error(400, -32000, "Bad Request: No valid session ID provided"),
    ],
)
async def test_every_way_to_say_that_a_session_is_gone_opens_it_again(opened, refusal):
    async with fault_server(legacy=True) as server:
        source = opened(server)
        await source.open(a_caller())

        async def once(writer, request):
            server.fault = None
            return await refusal(writer, request)

        server.fault = once
        assert await call(source, "get_report") == {"ok": True}
        assert server.methods().count("initialize") == 2
        assert server.methods().count("tools/call") == 2


async def test_a_call_refused_for_what_it_asks_is_not_taken_for_a_lost_session(opened):
    async with fault_server(legacy=True) as server:
        source = opened(server)
        server.fault = faults.rpc_error(400, -32602, "No such report.")
        with pytest.raises(ToolFailure, match="No such report"):
            await call(source, "get_report")
        assert server.methods().count("tools/call") == 1


async def test_a_cancellation_that_the_server_does_not_take_holds_up_nothing(opened, monkeypatch):
    monkeypatch.setattr(transport, "NOTIFY_SECONDS", 0.2)
    async with fault_server(legacy=True) as server:
        source = opened(server)
        await source.open(a_caller())
        server.fault = faults.hang
        slow = asyncio.create_task(call(source, "get_report"))
        await server.seen("tools/call")
        server.spoiled = "notifications/cancelled"
        slow.cancel()
        async with asyncio.timeout(TIMEOUT):
            await asyncio.wait({slow})
            await server.seen("notifications/cancelled")
            assert await call(source, "get_report") == {"ok": True}


async def test_a_server_that_does_not_take_the_goodbye_holds_up_no_closing(opened, monkeypatch):
    monkeypatch.setattr(session, "CLOSE_SECONDS", 0.2)
    async with fault_server(legacy=True) as server:
        source = opened(server)
        await source.open(a_caller())
        server.fault, server.spoiled = faults.hang, ""
        async with asyncio.timeout(2):
            await source.aclose()
        assert "mcp-session" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_abandoned_calls_hold_no_connection_for_long(opened, monkeypatch):
    """An older server need not answer what was cancelled, and there are not many connections."""
    monkeypatch.setattr(patience, "GRACE_SECONDS", 0.05)
    async with fault_server(legacy=True) as server:
        source = opened(server)
        await source.open(a_caller())
        for fault in (faults.hang, faults.drip, faults.half_a_stream):
            server.fault = fault
            for _ in range(5):
                slow = [asyncio.create_task(call(source, "get_report", timeout=0.05)) for _ in range(5)]
                await asyncio.wait(slow)
                assert {task.exception().code for task in slow} == {"timeout"}
        server.fault = None
        async with asyncio.timeout(TIMEOUT):
            assert await call(source, "get_report") == {"ok": True}
            while server.open > 3:
                await asyncio.wait({asyncio.create_task(server.closed_one())})


class _Forgetful(dict):
    """Keeps no session past the request that opened it."""

    def __contains__(self, key):
        return False


async def test_a_renewed_token_is_used_at_once_and_the_old_one_never_again_case_091(opened):
    async with mcp_server() as server:
        source = opened(server)
        await call(source, caller=a_caller("user-1", "secret-token-of-old"))
        server.requests.clear()
        server.revoked.add("old")
        await call(source, caller=a_caller("user-1", "secret-token-of-new"))
        assert {user for _, user, _ in server.requests} == {"new"}


async def test_another_caller_is_refused_on_the_same_source(opened):
    async with mcp_server() as server:
        source = opened(server)
        await call(source)
        with pytest.raises(ToolFailure) as caught:
            await call(source, caller=a_caller("user-2"))
        assert caught.value.code == "internal"
        assert {user for _, user, _ in server.requests} == {"user-1"}


async def test_interleaved_callers_never_cross(opened):
    async with mcp_server() as server:
        sources = {user: opened(server) for user in ("user-1", "user-2", "user-3")}
        asked = [(user, number) for number in range(8) for user in sources]

        async def ask(user, number):
            return await call(sources[user], "echo", a_caller(user), arguments={"request": {"cage": number}})

        answers = await asyncio.gather(*(ask(*each) for each in asked))
        assert [(data["user"], data["arguments"]["request"]["cage"]) for data in answers] == asked


async def test_a_bearer_that_is_no_longer_valid_is_unauthorized(opened):
    async with mcp_server() as server:
        source = opened(server)
        await call(source)
        server.revoked.add("user-1")
        with pytest.raises(ToolFailure) as caught:
            await call(source)
        assert caught.value.code == "unauthorized"


@pytest.mark.parametrize(
    "server_options", [{"json_response": True}, {"era": "legacy", "stateless": True}], ids=str
)
async def test_a_server_that_cannot_be_told_leaves_the_outcome_unknown(opened, server_options):
    async with mcp_server(**server_options) as server:
        source = opened(server)
        untold = asyncio.Event()
        slow = asyncio.create_task(call(source, "wait", on_untold=untold.set))
        await server.started.wait()
        slow.cancel()
        await asyncio.wait({slow})
        assert slow.cancelled()
        assert untold.is_set()
        server.release.set()
        async with asyncio.timeout(TIMEOUT):
            await server.finished.wait()


async def test_a_stateful_server_with_json_answers_is_told(opened):
    async with mcp_server(era="legacy", json_response=True) as server:
        source = opened(server)
        untold = asyncio.Event()
        slow = asyncio.create_task(call(source, "wait", on_untold=untold.set))
        await server.started.wait()
        slow.cancel()
        async with asyncio.timeout(TIMEOUT):
            await server.stopped.wait()
        assert not untold.is_set()


async def test_a_cancellation_before_anything_was_sent_is_not_unknown(opened):
    async with fault_server() as server:
        server.fault, server.spoiled = faults.hang, "server/discover"
        source = opened(server)
        untold = asyncio.Event()
        early = asyncio.create_task(call(source, on_untold=untold.set))
        async with asyncio.timeout(TIMEOUT):
            await server.seen("server/discover")
        early.cancel()
        await asyncio.wait({early})
        assert early.cancelled()
        assert not untold.is_set()


async def test_a_deadline_stops_the_work_of_the_server(opened):
    async with mcp_server() as server:
        with pytest.raises(ToolFailure) as caught:
            await call(opened(server), "wait", timeout=0.2)
        assert caught.value.code == "timeout"
        async with asyncio.timeout(TIMEOUT):
            await server.stopped.wait()


async def test_a_source_closed_from_another_task_closes_its_session_case_076(opened):
    async with mcp_server(era="legacy") as server:
        source = opened(server)
        await asyncio.create_task(call(source))
        await asyncio.create_task(source.aclose())
        assert server.requests[-1][0] == "DELETE"


async def test_a_source_closed_while_it_opens_fails_the_waiting_call(opened):
    async with fault_server() as server:
        server.fault, server.spoiled = faults.hang, "server/discover"
        source = opened(server)
        waiting = asyncio.create_task(call(source))
        async with asyncio.timeout(TIMEOUT):
            await server.seen("server/discover")
            await source.aclose()
            with pytest.raises(ToolFailure) as caught:
                await waiting
        assert caught.value.code == "unavailable"


async def test_a_call_that_runs_while_the_source_is_closed_is_lost(opened):
    async with mcp_server() as server:
        source = opened(server)
        slow = asyncio.create_task(call(source, "wait"))
        await server.started.wait()
        await source.aclose()
        with pytest.raises(ToolFailure) as caught:
            await slow
        assert caught.value.code == "connection_lost"


async def test_contents_are_joined_in_order_and_files_described(opened):
    async with mcp_server() as server:
        text = await call(opened(server), "mixed")
        assert text == "one\n[image/png, 3 KB, not included]\n[link to manual, not included]\na note\ntwo"
        assert PIXEL not in text


async def test_structured_content_comes_first_and_text_stands_in_for_it_case_087_088(opened):
    async with mcp_server() as server:
        source = opened(server)
        assert await call(source, "count", arguments={"count": 0}) == {"count": 0}
        assert await call(source, "count", arguments={"count": "three"}) == {"count": "three"}
        assert await call(source, "count") == "many"


async def test_a_result_is_not_checked_by_the_sdk_which_would_list_the_tools_first(opened):
    async with mcp_server() as server:
        await call(opened(server), "count", arguments={"count": 1})
        assert not [body for _, _, body in server.requests if '"tools/list"' in body]
