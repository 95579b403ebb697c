"""Every fault of a server has its code, and leaves the source usable."""

import asyncio
import logging

import pytest

from tools.sources.mcp import McpSource, Patience, Server
from tools.sources.mcp.transport import MAX_BODY
from tools.testing import a_caller, a_context, failure_of, offer_of
from tools.tests import fault_server as faults
from tools.tests.fault_server import fault_server
from tools.tests.mcp_server import mcp_server

HUGE = b'{"jsonrpc": "2.0", "id": 1, "result": {"x": "' + b"a" * MAX_BODY + b'"}}'
MANY = b'{"jsonrpc":"2.0","id":2,"result":{"a":[' + b"[]," * 60_000 + b"1]}}"
DENSE = b'data: {"x":[' + b"[]," * 60_000 + b"1]}\n\n"
A_HEADER_THAT_IS_NONE = {"type": "string", "x-mcp-header": "a b"}
WRONG_SHAPE = {"content": "not a list", "resultType": "complete"}
CALL_FAULTS = {
    "401": (faults.status(401), "unauthorized"),
    "401 with a JSON-RPC error": (faults.rpc_error(401, -32001, "expired"), "unauthorized"),
    "403": (faults.status(403), "forbidden"),
    "404": (faults.status(404), "unavailable"),
    "418": (faults.status(418), "tool_error"),
    "429": (faults.status(429, retry_after="7"), "unavailable"),
    "500": (faults.status(500), "unavailable"),
    "502": (faults.status(502, b"<html>", "text/html"), "unavailable"),
    "503 in JSON": (faults.status(503, b"{}", "application/json"), "unavailable"),
    "500 with a JSON-RPC error": (faults.rpc_error(500, -32603, "Internal error"), "tool_error"),
    "a JSON-RPC error": (faults.rpc_error(200, -32602, "No such report."), "tool_error"),
    "301": (faults.status(301, location="/elsewhere"), "unavailable"),
    "307": (faults.status(307, location="/elsewhere"), "unavailable"),
    "malformed JSON": (faults.status(200, b"{", "application/json"), "tool_error"),
    "NaN": (faults.status(200, b'{"jsonrpc": "2.0", "id": NaN}', "application/json"), "tool_error"),
    "an empty body": (faults.status(200, b"", "application/json"), "tool_error"),
    "bytes that are no text": (faults.status(200, b'"\xff"', "application/json"), "tool_error"),
    "HTML": (faults.status(200, b"<html>", "text/html"), "tool_error"),
    "202": (faults.status(202, b""), "tool_error"),
    "204": (faults.status(204, b""), "tool_error"),
    "a result of the wrong shape": (faults.result(WRONG_SHAPE), "tool_error"),
    "a result that is no object": (faults.result([]), "tool_error"),
    "a body over the limit": (faults.status(200, HUGE, "application/json"), "tool_error"),
    "a body of too many parts": (faults.status(200, MANY, "application/json"), "tool_error"),
    "a compressed body": (
        faults.status(200, b"\x1f\x8b", "application/json", content_encoding="gzip"),
        "tool_error",
    ),
    "a stream that ends": (faults.stream(b": ping\n\n"), "connection_lost"),
    "a stream of too many parts": (faults.stream(DENSE), "connection_lost"),
    "a stream of nonsense": (faults.stream(b"data: {nonsense\n\n"), "tool_error"),
    "a stream with an error of no request": (
        faults.stream(b'data: {"error":"Session not found"}\n\n'),
        "tool_error",
    ),
    "a reset": (faults.reset, "connection_lost"),
    "a close": (faults.close, "connection_lost"),
    "a cut body": (faults.cut, "connection_lost"),
    "no answer": (faults.hang, "timeout"),
    "a slow drip": (faults.drip, "timeout"),
}


@pytest.fixture
async def server():
    async with fault_server() as running:
        yield running


@pytest.fixture
async def source(server):
    opened = McpSource(Server(server.url, Patience(connect=1, discovery=1)))
    yield opened
    await opened.aclose()


@pytest.mark.parametrize("name", CALL_FAULTS)
async def test_a_faulty_answer_has_its_code_and_the_next_call_works_case_073_079_080_081(
    server, source, name
):
    fault, code = CALL_FAULTS[name]
    context = a_context(timeout=0.3 if code == "timeout" else 5)
    await source.open(context.caller)
    opening = len(server.requests)
    server.fault = fault
    # Most of them at once, none of them as late as the limit of a usual call.
    async with asyncio.timeout(2):
        failure = await failure_of(source.call("get_report", {}, context))
    assert failure.code == code
    assert context.caller.token not in failure.message
    server.fault = None
    assert (await source.call("get_report", {}, context)).data == {"ok": True}
    assert server.methods()[opening:] == ["tools/call", "tools/call"], "nothing was repeated or opened anew"


async def test_the_words_of_a_json_rpc_error_reach_the_model(server, source):
    server.fault = faults.rpc_error(200, -32602, "No such report. " + "x" * 9000)
    failure = await failure_of(source.call("get_report", {}, a_context()))
    assert failure.message.startswith("No such report.")
    assert len(failure.message) <= 200


@pytest.mark.parametrize("code", [401, 403, 500])
async def test_a_listing_is_refused_with_its_code(server, source, code):
    server.fault = faults.status(code)
    server.spoiled = "tools/list"
    expected = {401: "unauthorized", 403: "forbidden", 500: "unavailable"}[code]
    assert (await failure_of(source.tools(a_caller()))).code == expected
    server.fault = None
    assert [tool.name for tool in await source.tools(a_caller())] == ["get_report"]


@pytest.mark.parametrize("legacy", [False, True])
async def test_an_odd_tool_costs_only_itself_case_052_070(legacy):
    odd = {
        "no schema": {},
        "null": {"inputSchema": None},
        "text": {"inputSchema": "object"},
        "array": {"inputSchema": {"type": "array"}},
        "name": {"name": 5, "inputSchema": {}},
        "description": {"description": 5, "annotations": "x", "inputSchema": {"type": "object"}},
        "open": {"inputSchema": {}},
        "output": {"inputSchema": {"type": "object"}, "outputSchema": {"type": "string"}},
        "header": {"inputSchema": {"type": "object", "properties": {"a": A_HEADER_THAT_IS_NONE}}},
    }
    listed = [{"name": name.replace(" ", "_"), **entry} for name, entry in odd.items()]
    async with fault_server(legacy=legacy) as server:
        server.fault, server.spoiled = (
            faults.result({**faults.LISTED, "tools": [*listed, "nonsense"]}),
            "tools/list",
        )
        source = McpSource(Server(server.url))
        offer = await offer_of(source)
        await source.aclose()
    assert [tool.name for tool in offer.tools] == ["5", "description", "open", "output"]
    assert [name for name, _ in offer.refused] == ["no_schema", "null", "text", "array", "header", ""]
    assert offer.find("output").output_schema == {"type": "string"}
    assert offer.error == ""


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (faults.status(401), "unauthorized"),
        (faults.status(200, b"<html>", "text/html"), "tool_error"),
        (faults.reset, "connection_lost"),
        (faults.hang, "unavailable"),
    ],
)
async def test_an_opening_that_fails_says_why_and_leaves_no_task_case_075(server, fault, code):
    source = McpSource(Server(server.url, Patience(connect=0.5)))
    before = asyncio.all_tasks()
    server.fault = _every(server, fault)
    assert (await failure_of(source.open(a_caller()))).code == code
    server.fault = None
    server.drop_connections()
    assert {task for task in asyncio.all_tasks() - before if "mcp" in task.get_name()} == set()
    server.spoiled = "nothing"
    await source.open(a_caller())
    await source.aclose()


def _every(server, fault):
    """Spoils the opening in both eras of the protocol."""

    async def spoil(writer, request):
        server.spoiled = "initialize"
        return await fault(writer, request)

    server.spoiled = "server/discover"
    return spoil


async def test_a_server_that_is_not_there_is_unavailable_case_075():
    source = McpSource(Server("http://127.0.0.1:9/mcp"))
    assert (await failure_of(source.tools(a_caller()))).code == "unavailable"
    assert (await failure_of(source.call("get_report", {}, a_context()))).code == "unavailable"
    await source.aclose()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_is_never_followed_case_083_084_176(server, source, code):
    async with fault_server() as elsewhere:
        for location in (elsewhere.url, "/elsewhere", "//127.0.0.1:9/"):
            server.fault = faults.status(code, location=location)
            assert (await failure_of(source.call("get_report", {}, a_context()))).code == "unavailable"
        assert elsewhere.connections == 0
    assert {path for path, _, _ in server.requests} == {"/mcp"}


async def test_the_operator_reads_where_a_redirect_wanted_to_lead(server, source, caplog):
    caller = a_caller()
    server.fault = faults.status(308, location=f"https://other.test/{caller.token}/mcp?key=secret")
    failure = await failure_of(source.call("get_report", {}, a_context(caller)))
    assert failure.message == "The server redirects elsewhere (HTTP 308), which is refused."
    [record] = [record for record in caplog.records if "mcp.redirect_refused" in record.getMessage()]
    assert "https://other.test/[hidden]/mcp" in record.getMessage()
    assert "key=secret" not in caplog.text


async def test_a_connection_dropped_while_idle_is_replaced_unnoticed_case_092(server, source):
    await source.open(a_caller())
    server.drop_connections()
    assert (await source.call("get_report", {}, a_context())).data == {"ok": True}
    assert server.methods().count("server/discover") == 1


async def test_a_listing_over_a_dead_connection_ends_in_time_case_098(server, source):
    await source.open(a_caller())
    server.fault = faults.hang
    server.spoiled = "tools/list"
    async with asyncio.timeout(3):
        assert (await failure_of(source.tools(a_caller()))).code == "timeout"


async def test_no_connection_is_left_behind_by_faults_case_085(server, source):
    await source.open(a_caller())
    server.fault = faults.stream(b"data: {nonsense\n\n")
    for _ in range(40):
        await failure_of(source.call("get_report", {}, a_context()))
    server.fault = None
    await source.call("get_report", {}, a_context())
    # One connection each, since the server ends them: more would be repeated calls, fewer a pool run dry.
    assert server.connections <= 43


async def test_the_bearer_is_in_no_text_case_166(server, source, caplog):
    for logger in ("", "mcp", "httpx2", "httpcore2", "asyncio"):
        caplog.set_level(logging.DEBUG, logger)
    token = "q7Zp1xWv9KtR3mNb5Yc8"
    caller = a_caller(token=token)
    texts = [repr(caller), repr(a_context(caller)), repr(source)]
    for fault, code in CALL_FAULTS.values():
        server.fault = fault
        context = a_context(caller, timeout=0.2 if code == "timeout" else 5)
        failure = await failure_of(source.call("get_report", {}, context))
        error = failure
        while error is not None:
            texts += [str(error), repr(error)]
            error = error.__cause__ or error.__context__
    assert server.requests[-1][1]["authorization"] == f"Bearer {token}"
    texts += [record.getMessage() + str(record.exc_text) for record in caplog.records]
    assert len(caplog.records) > 50
    parts = [token[start : start + 6] for start in range(len(token) - 5)]
    assert not [text for text in texts if any(part in text for part in parts)]


async def test_every_request_asks_for_no_compression(server, source):
    await source.call("get_report", {}, a_context())
    assert {headers["accept-encoding"] for _, headers, _ in server.requests} == {"identity"}


async def test_pages_that_do_not_end_are_given_up():
    async with mcp_server() as endless:
        source = McpSource(Server(endless.url))
        endless.cursors = iter(["1", "2", "1"])
        assert (await failure_of(source.tools(a_caller()))).code == "tool_error"
        endless.cursors = iter(str(number) for number in range(1000))
        assert (await failure_of(source.tools(a_caller()))).code == "tool_error"
        await source.aclose()


async def test_a_tool_whose_declaration_repeats_the_credential_is_left_out_case_166(server, source):
    """It would stand in the catalog, and in what the model is told."""
    caller = a_caller(token='aqp_"quoted"-token')
    plain = {"name": "get_report", "inputSchema": {"type": "object"}}
    echoes = [
        {**plain, "description": f"For {caller.token}."},
        {**plain, "name": f"x{caller.token}"},
        {**plain, "inputSchema": {"type": "object", "title": caller.token}},
    ]
    server.fault = faults.result({**faults.LISTED, "tools": [*echoes, plain]})
    server.spoiled = "tools/list"
    assert [(tool.name, tool.description) for tool in await source.tools(caller)] == [("get_report", "")]
