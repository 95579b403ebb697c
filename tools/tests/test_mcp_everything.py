"""The MCP source and the protocol's reference server: what it lists, every kind of content, long work."""

import asyncio

import pytest

from tools.contract import Progress
from tools.sources.mcp import McpSource, Server
from tools.testing import TIMEOUT, a_context, offer_of, reference_data, run
from tools.tests.peer_servers import everything

pytestmark = pytest.mark.peers
LONG = "trigger-long-running-operation"


@pytest.fixture(scope="module")
def peer():
    with everything() as server:
        yield server


@pytest.fixture
async def source(peer):
    opened = McpSource(Server(peer.url))
    yield opened
    await opened.aclose()


@pytest.fixture
async def offer(source):
    return await offer_of(source)


def text_of(outcome):
    """The text of a successful answer, without its label."""
    assert outcome.status == "completed", outcome
    return outcome.output.partition("\n")[2]


async def test_it_lists_tools_whose_schemas_are_used_in_their_own_draft(offer):
    declared = offer.find("get-sum").parameters
    assert declared["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert "The sum of 1 and 2 is 3." in text_of(await run(offer, "get-sum", {"a": 1, "b": 2}))
    assert (await run(offer, "get-sum", {"a": "one", "b": 2})).code == "invalid_arguments"
    assert offer.refused == ()


async def test_it_offers_no_tool_that_would_ask_the_client(offer):
    """They are listed for clients that let themselves be asked."""
    names = {tool.name for tool in offer.tools}
    asking = ("trigger-sampling-request", "trigger-elicitation-request", "get-roots-list")
    assert not names.intersection(asking)


async def test_a_tool_that_would_ask_is_refused_in_words(source):
    answer = await source.call("trigger-sampling-request", {"prompt": "x"}, a_context())
    assert answer.is_error
    assert "not found" in answer.data


async def test_text_and_structure_come_as_they_are(offer):
    assert text_of(await run(offer, "echo", {"message": "¿qué tal? 🐟"})) == "Echo: ¿qué tal? 🐟"
    weather = await run(offer, "get-structured-content", {"location": "New York"})
    assert reference_data(weather.output).keys() == {"temperature", "conditions", "humidity"}
    assert not weather.excerpt.startswith("[does not fit")


async def test_a_picture_is_described_where_it_stands(offer):
    lines = text_of(await run(offer, "get-tiny-image")).split("\n")
    assert lines[1].startswith("[image/png, ")
    assert lines[0].startswith("Here's the image")
    annotated = await run(offer, "get-annotated-message", {"messageType": "error", "includeImage": True})
    assert text_of(annotated).split("\n")[1].startswith("[image/png, ")


async def test_links_are_named_and_resources_are_read_or_described(offer):
    links = text_of(await run(offer, "get-resource-links", {"count": 3}))
    assert links.count("[link to ") == 3
    assert "demo://" not in links
    text = await run(offer, "get-resource-reference", {"resourceType": "Text", "resourceId": 1})
    assert "This is a plaintext resource" in text_of(text)
    blob = await run(offer, "get-resource-reference", {"resourceType": "Blob", "resourceId": 1})
    assert "not included]" in text_of(blob)


async def test_long_work_tells_its_progress(offer):
    told = []
    outcome = await run(offer, LONG, {"duration": 0.3, "steps": 3}, on_progress=told.append)
    assert "completed" in text_of(outcome)
    assert told == [Progress(step, 3) for step in (1, 2, 3)]


async def test_long_work_that_is_cancelled_is_told_so_and_the_session_lives_on(peer, source):
    began, untold = asyncio.Event(), asyncio.Event()
    context = a_context(on_progress=lambda _progress: began.set(), on_untold=untold.set)
    call = asyncio.create_task(source.call(LONG, {"duration": 20, "steps": 200}, context))
    async with asyncio.timeout(TIMEOUT):
        await began.wait()
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    assert not untold.is_set(), "the server has a session, in which the notification finds its call"
    assert (await source.call("echo", {"message": "on"}, a_context())).data == "Echo: on"


async def test_long_work_has_its_deadline(offer):
    outcome = await run(offer, LONG, {"duration": 20, "steps": 2}, timeout=0.3)
    assert outcome.code == "timeout"
    assert text_of(await run(offer, "echo", {"message": "on"})) == "Echo: on"


async def test_a_wrong_name_is_refused_in_the_server_s_words(source):
    answer = await source.call("no_such_tool", {}, a_context())
    assert answer.is_error
    assert "no_such_tool" in answer.data
