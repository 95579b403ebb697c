"""The MCP source and a server on FastMCP: forms of answers, progress, cancellation, what is refused."""

import asyncio

import pytest

from tools.contract import Progress
from tools.sources.mcp import McpSource, Server
from tools.testing import ROOM, TIMEOUT, a_caller, a_context, offer_of, reference_data, run
from tools.tests.peer_servers import fastmcp

pytestmark = pytest.mark.fastmcp
SERVERS = {
    "modern": (),
    "stateful": ("--legacy",),
    "stateless JSON": ("--legacy", "--stateless", "--json"),
}
STOPPING = ("modern", "stateful")


@pytest.fixture(scope="module", params=SERVERS)
def peer(request):
    with fastmcp(*SERVERS[request.param]) as server:
        server.mode = request.param
        yield server


@pytest.fixture
async def changed():
    return asyncio.Event()


@pytest.fixture
async def source(peer, changed):
    opened = McpSource(Server(peer.url, on_changed=changed.set))
    yield opened
    await opened.aclose()


@pytest.fixture
async def offer(source):
    return await offer_of(source)


async def test_its_schemas_are_enforced_as_declared(source, offer):
    declared = offer.find("measure").parameters["properties"]["request"]
    assert declared["properties"]["metric"] == {"pattern": "^[a-z]+$", "type": "string"}
    good = await run(offer, "measure", {"request": {"metric": "oxygen", "span": {"first": 1}, "limit": 2}})
    data = {"metric": "oxygen", "values": [7.4, 7.4], "next_offset": 2}
    assert reference_data(good.output) == data
    for wrong in (
        {},
        {"request": {"metric": "O2"}},
        {"request": {"metric": "oxygen", "span": {"first": -1}}},
    ):
        assert (await run(offer, "measure", wrong)).code == "invalid_arguments"


async def test_a_plain_value_and_nothing_at_all_are_answers(offer):
    assert reference_data((await run(offer, "add", {"first": 0})).output) == {"result": 0}
    assert (await run(offer, "nothing")).status == "completed"


async def test_files_are_described_where_they_stand_and_links_are_named(offer):
    picture = (await run(offer, "picture")).output.partition("\n")[2]
    described = ["before", "[image/png, 2 KB, not included]", "[audio/wav, 2 KB, not included]", "after"]
    assert picture.split("\n") == described
    link = (await run(offer, "link")).output
    assert "link to manual" in link
    assert "elsewhere.test" not in link


async def test_a_failure_and_an_unknown_tool_are_told_in_the_server_s_words(source, offer):
    failed = await run(offer, "fail")
    assert failed.code == "tool_error"
    assert "There is no such report." in failed.output
    assert (await run(offer, "crash")).code == "tool_error"
    gone = await source.call("no_such_tool", {}, a_context())
    assert gone.is_error
    assert "no_such_tool" in gone.data


async def test_a_long_call_tells_its_progress_where_the_answer_is_a_stream(peer, offer):
    told = []
    done = await run(offer, "steps", {"count": 3, "seconds": 0.2}, on_progress=told.append)
    assert reference_data(done.output) == {"result": "done"}
    steps = [Progress(step, 3, f"step {step}") for step in (1, 2, 3)]
    assert told == ([] if "JSON" in peer.mode else steps)


async def test_a_cancelled_call_is_stopped_or_its_outcome_is_unknown(peer, source, offer):
    untold = asyncio.Event()
    arguments = {"count": 20, "seconds": 20 if peer.mode in STOPPING else 0.5}
    began = asyncio.Event()
    context = a_context(on_untold=untold.set, on_progress=lambda _progress: began.set())
    call = asyncio.create_task(source.call("steps", arguments, context))
    if peer.mode in STOPPING:
        async with asyncio.timeout(TIMEOUT):
            await began.wait()
    else:
        await asyncio.wait({call}, timeout=0.2)
    call.cancel()
    await asyncio.wait({call})
    assert untold.is_set() is (peer.mode not in STOPPING)
    written = "cancelled" if peer.mode in STOPPING else "finished"
    assert await asyncio.to_thread(peer.has_written, written, TIMEOUT)
    assert (await run(offer, "add", {"first": 1})).status == "completed"


@pytest.mark.parametrize("name", ["ask_the_caller", "ask_the_model"])
async def test_a_question_of_the_server_is_refused_and_the_call_ends_in_words(offer, name):
    async with asyncio.timeout(TIMEOUT):
        outcome = await run(offer, name)
    assert outcome.code == "tool_error"
    assert outcome.chars < ROOM
    assert (await run(offer, "add", {"first": 1})).status == "completed"


async def test_callers_of_one_server_are_answered_side_by_side(peer):
    sources = [McpSource(Server(peer.url)) for _ in range(3)]
    answers = await asyncio.gather(
        *(
            each.call("add", {"first": number, "second": index * 100}, a_context(a_caller(f"user-{index}")))
            for number in range(4)
            for index, each in enumerate(sources)
        )
    )
    assert [one.data["result"] for one in answers] == [n + i * 100 for n in range(4) for i in range(3)]
    for each in sources:
        await each.aclose()


async def test_a_withdrawn_tool_is_told_of_and_refused(peer, source, offer, changed):
    # Each server has its own spare tool to lose; the other tests do not use it.
    await source.call("withdraw", {"name": "spare"}, a_context())
    if peer.mode in STOPPING:
        async with asyncio.timeout(TIMEOUT):
            await changed.wait()
    assert offer.find("spare")
    assert (await run(offer, "spare")).code == "tool_error"
    assert (await offer_of(source)).find("spare") is None
