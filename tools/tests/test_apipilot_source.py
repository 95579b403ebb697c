"""The source over an ApiPilot bridge: what it sends, what it makes of answers, and how it fails."""

import asyncio
import gzip
import json
import socket
from itertools import product

import httpx2
import pytest
from starlette.responses import Response

from tools import catalog, executor
from tools.addresses import Pinned
from tools.contract import Caller, ToolFailure
from tools.sources.apipilot import ApiPilotSource, BridgeFailure, Credential, Endpoints
from tools.testing import (
    NO_PARAMETERS,
    NOW,
    TIMEOUT,
    MemoryCache,
    ToolSourceContract,
    Workbench,
    a_caller,
    a_context,
)
from tools.tests.bridge_server import bridge_server, listed, plain, refused

ANONYMOUS = Caller("", "", "")
TOKEN = a_caller().token


@pytest.fixture
async def bridge():
    async with bridge_server() as server:
        yield server


@pytest.fixture
async def source(bridge):
    made = ApiPilotSource(Endpoints(bridge.tools_url, bridge.execute_url))
    yield made
    await made.aclose()


class TestApiPilotSource(ToolSourceContract):
    @pytest.fixture
    async def bench(self, bridge):
        source = ApiPilotSource(Endpoints(bridge.tools_url, bridge.execute_url))
        yield Workbench(source, bridge.started, bridge.stopped, tells_progress=False, stops_work=False)
        await source.aclose()


async def test_the_list_is_asked_for_with_the_callers_bearer_and_nothing_else(bridge, source):
    await source.tools(a_caller())
    method, target, headers, _ = bridge.last()
    assert (method, target) == ("GET", "/base/tools?include_unauthorized=false")
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert "x-demo-session" not in headers
    assert headers["accept-encoding"] == "identity"


async def test_who_shows_no_credential_is_offered_what_needs_none(bridge, source):
    names = [tool.name for tool in await source.tools(ANONYMOUS)]
    assert "close_farm" not in names
    assert "echo" in names
    assert "authorization" not in bridge.last()[2]
    everything = ApiPilotSource(Endpoints(bridge.tools_url, bridge.execute_url), everything=True)
    tools = {tool.name: tool.requires_auth for tool in await everything.tools(ANONYMOUS)}
    await everything.aclose()
    assert tools["close_farm"] is True
    assert tools["echo"] is False
    assert bridge.last()[1].endswith("include_unauthorized=true")


async def test_both_forwarded_headers_go_out_as_they_came(bridge):
    forwarded = Credential("Token abc-123456", "demo-session-1")
    source = ApiPilotSource(Endpoints(bridge.tools_url, bridge.execute_url), forwarded)
    await source.tools(a_caller())
    await source.execute("echo", {}, a_context())
    for _, _, headers, _ in bridge.seen:
        assert (headers["authorization"], headers["x-demo-session"]) == ("Token abc-123456", "demo-session-1")
    await source.aclose()


async def test_a_value_that_would_break_out_of_its_header_is_not_sent_case_174(bridge):
    for value in ("a\r\nX-Evil: 1", "a\nb", "a\x00b", "ключ", " ", "x" * 9000):
        source = ApiPilotSource(Endpoints(bridge.tools_url, bridge.execute_url), Credential("", value))
        with pytest.raises(BridgeFailure) as failure:
            await source.execute("echo", {}, a_context())
        await source.aclose()
        assert failure.value.code == "unauthorized"
    assert bridge.seen == []


async def test_a_call_sends_name_and_arguments_as_they_are(bridge, source):
    arguments = {"request": {"cage": 4, "note": "ñandú 😀"}}
    data = (await source.call("echo", arguments, a_context())).data
    assert data == {"arguments": arguments, "user": "user-1"}
    method, target, _, body = bridge.last()
    assert (method, target) == ("POST", "/base/tools/execute")
    assert json.loads(body) == {"name": "echo", "arguments": arguments}


async def test_an_answer_without_an_envelope_is_the_data(bridge, source):
    for text, data in [("[1, 2]", [1, 2]), ("null", None), ('{"a": 1}', {"a": 1}), ("0", 0)]:
        bridge.answer = plain(text)
        assert (await source.call("nothing", {}, a_context())).data == data
    bridge.answer = plain(json.dumps([listed("only")]))
    assert [tool.name for tool in await source.tools(a_caller())] == ["only"]


BAD_ANSWERS = [
    (refused(401, "No."), "unauthorized"),
    (refused(403, "No."), "forbidden"),
    (refused(403, "No.", http=200), "forbidden"),
    (refused(429, "Slowly."), "unavailable"),
    (refused(500, "Trace: secret"), "unavailable"),
    (refused(504, "Late."), "timeout"),
    (plain("<h1>Bad gateway</h1>", 502), "unavailable"),
    (plain("<h1>hello</h1>"), "tool_error"),
    (plain('{"success": true, "data": {"a'), "tool_error"),
    (plain("[" * 100_000 + "]" * 100_000), "tool_error"),
    (plain('"' + "x" * 2_100_000 + '"'), "tool_error"),
    (Response(gzip.compress(b"[]"), headers={"content-encoding": "gzip"}), "tool_error"),
]


async def test_a_bad_answer_is_a_failure_with_a_code_and_none_of_its_words(bridge, source):
    for answer, code in BAD_ANSWERS:
        bridge.answer = answer
        with pytest.raises(BridgeFailure) as failure:
            await source.call("nothing", {}, a_context())
        assert failure.value.code == code, answer.body[:80]
        told = failure.value.message
        assert not [word for word in ("Trace", "gateway", "hello", "Slowly") if word in told]


async def test_no_redirect_is_followed_and_its_body_is_not_told_case_176(bridge, source):
    places = ("http://169.254.169.254/latest", "file:///etc/passwd", "gopher://x/", "/base/tools", "//evil/x")
    for count, (place, status) in enumerate(product(places, (301, 302, 303, 307, 308)), 1):
        bridge.answer = Response('{"error": {"message": "BODY"}}', status, headers={"location": place})
        with pytest.raises(BridgeFailure) as failure:
            await source.call("nothing", {}, a_context())
        told = failure.value
        assert (told.code, told.status_code, told.raw) == ("unavailable", status, None)
        assert "BODY" not in told.message
        assert len(bridge.seen) == count


async def test_a_tools_own_error_is_told_in_its_words_and_kept_for_diagnostics(bridge, source):
    bridge.answer = refused(422, "No such cage.", raw={"field": "cage"})
    result = await source.call("nothing", {}, a_context())
    assert (result.is_error, result.data) == (True, "No such cage.")
    bridge.answer = refused(422, "No such cage.", raw={"field": "cage"})
    with pytest.raises(BridgeFailure) as failure:
        await source.execute("nothing", {}, a_context())
    assert failure.value.status_code == 422
    assert failure.value.raw["raw"] == {"field": "cage"}


async def test_long_words_of_the_bridge_are_cut(bridge, source):
    bridge.answer = refused(422, "n" * 5000, raw="r" * 9000)
    with pytest.raises(BridgeFailure) as failure:
        await source.execute("nothing", {}, a_context())
    assert len(failure.value.message) <= 500
    assert len(failure.value.raw) <= 2000


@pytest.mark.parametrize("written", [TOKEN, json.dumps({"deep": [f"x {TOKEN} y"]})])
async def test_the_credential_never_comes_back(bridge, source, written):
    bridge.answer = plain(json.dumps({"success": True, "data": {"echo": written}}))
    assert TOKEN not in json.dumps(await source.execute("nothing", {}, a_context()))
    bridge.answer = refused(422, f"bad {written}", raw=written)
    with pytest.raises(BridgeFailure) as failure:
        await source.execute("nothing", {}, a_context())
    assert TOKEN not in json.dumps([failure.value.message, failure.value.raw])
    bridge.tools = [listed("good"), {**listed("bad"), "description": written}]
    assert [tool.name for tool in await source.tools(a_caller())] == ["good"]


async def test_an_odd_entry_of_the_list_costs_only_itself(bridge, source):
    broken = {"name": "broken", "parameters": {"type": "array"}}
    bare = {"name": "bare"}
    bridge.tools = [None, 7, {}, broken, {**bare, "description": 5}, listed("good", NO_PARAMETERS, more=1)]
    offer = await catalog.discover([source], a_caller(), None, MemoryCache(), NOW)
    assert [tool.name for tool in offer.tools] == ["bare", "good"]
    assert {name for name, _ in offer.refused} == {"", "broken"}


async def test_a_bridge_that_is_not_there_is_unavailable():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{probe.getsockname()[1]}"
        source = ApiPilotSource(Endpoints(f"{away}/tools", f"{away}/run"))
        with pytest.raises(ToolFailure) as failure:
            await source.tools(a_caller())
        await source.aclose()
    assert failure.value.code == "unavailable"


async def test_a_connection_that_ends_in_mid_answer_is_lost(bridge, source):
    bridge.answer = plain("{}", headers={"content-length": "100"})
    with pytest.raises(BridgeFailure) as failure:
        await source.call("nothing", {}, a_context())
    assert failure.value.code == "connection_lost"


async def test_a_slow_call_ends_at_its_deadline_with_an_unknown_outcome(bridge, source):
    untold = []
    offer = await catalog.discover([source], a_caller(), None, MemoryCache(), NOW)
    context = a_context(timeout=0.2, on_untold=lambda: untold.append(True))
    outcome = await executor.run(offer, "wait", {}, context, 64_000)
    assert outcome.code == "timeout"
    assert untold == [True]
    async with asyncio.timeout(TIMEOUT):
        await bridge.stopped.wait()


async def test_another_caller_never_comes_to_this_connection(bridge, source):
    await source.tools(a_caller("user-1"))
    with pytest.raises(BridgeFailure) as failure:
        await source.call("nothing", {}, a_context(a_caller("user-2")))
    assert failure.value.code == "internal"
    assert len(bridge.seen) == 1


async def test_two_callers_with_one_cache_never_see_each_others_tools_case_179(bridge):
    cache, endpoints = MemoryCache(), Endpoints(bridge.tools_url, bridge.execute_url)
    offers = []
    for caller in (ANONYMOUS, a_caller()):
        source = ApiPilotSource(endpoints)
        offers.append(await catalog.discover([source], caller, None, cache, NOW))
        await source.aclose()
    mine, theirs = offers
    for name in list(mine.entries):
        with pytest.raises(TypeError):
            mine.entries[name].tool.parameters["properties"]["hacked"] = {}
        with pytest.raises(TypeError):
            del mine.entries[name]
    assert mine.find("close_farm") is None
    assert theirs.find("close_farm").requires_auth
    again = await catalog.discover([ApiPilotSource(endpoints)], ANONYMOUS, None, cache, NOW)
    assert again.tools == mine.tools
    assert len(bridge.seen) == 2


def test_credentials_are_in_no_representation():
    assert "secret" not in repr(Credential("Bearer secret-value", "secret-session"))
    assert not Credential()
    assert Credential("a").fingerprint != Credential("", "a").fingerprint


async def test_a_bridge_whose_name_turns_private_gets_no_request_case_175(bridge):
    names = [["93.184.216.34"], ["127.0.0.1"]]

    async def resolve(_host, _port):
        return names.pop(0)

    made = []

    class Away(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request):
            made.append(request.url.host)
            raise httpx2.ConnectError("away")

    def connect(_make):
        return Pinned(Away, resolve=resolve)

    place = bridge.origin.replace("127.0.0.1", "bridge.example")
    source = ApiPilotSource(Endpoints(f"{place}/base/tools", f"{place}/base/run", connect))
    for _ in range(2):
        with pytest.raises(BridgeFailure) as failure:
            await source.execute("echo", {}, a_context())
        assert failure.value.code == "unavailable"
    await source.aclose()
    assert (made, names) == (["93.184.216.34"], [])
    assert bridge.seen == []
