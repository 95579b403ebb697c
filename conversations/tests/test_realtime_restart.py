"""A server is told to stop in the middle of calls: everybody is told, no row is lost, the next goes on."""

import pytest
from asgiref.sync import sync_to_async

from conversations.models import Conversation, ToolCall, Turn, UpstreamSession
from conversations.tests.serving import (
    Address,
    daphne_command,
    environment,
    free_port,
    process,
    uvicorn_command,
)
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import rows
from conversations.tests.talking import ADMINISTRATOR, Person, eventually

pytest_plugins = ("conversations.tests.deployment",)

REPORTS = Calls.one("list_reports", {"request": {}})
# Daphne cannot send 1012, and says 1011 instead.
SERVERS = {"uvicorn": (uvicorn_command, {1012}), "daphne": (daphne_command, {1011, 1012})}


async def asks(person, talk, speech, aquaportal, before):
    """A first answer, then a question whose tool works on."""
    await talk.ready()
    speech.replies.append(Says("Hello Ada."))
    await talk.types("Hello.")
    await talk.shown("response.done")
    await person.turns(1)
    speech.replies.append(REPORTS)
    await talk.types("List the latest reports.")
    await eventually(lambda: running(before))


async def running(count):
    found = await rows(ToolCall, status="running")
    return len(found) > count


@pytest.mark.parametrize("server", SERVERS)
async def test_a_server_that_stops_tells_everybody_and_loses_no_row(
    transactional_db, aquaportal, speech, speech_port, server
):
    command, codes = SERVERS[server]
    settings = environment(
        S2S_SPEECH_URL=f"ws://127.0.0.1:{speech_port}/v1/realtime",
        S2S_BACKEND_LOGIN_URL=aquaportal.login_url,
        S2S_MCP_URL=aquaportal.mcp_url,
        S2S_RECONNECT_GRACE=60,
    )
    aquaportal.faults.add("slow", tool="list_reports", seconds=60)
    port = free_port()
    with process(command(port), settings) as first:
        held, there = Person(Address(port)), Person(Address(port))
        await held.bootstrap(phone=ADMINISTRATOR)
        await there.bootstrap(phone=ADMINISTRATOR)
        async with held.talks() as lost:
            await asks(held, lost, speech, aquaportal, 0)
            lost.reset()
        async with there.talks() as talk:
            await asks(there, talk, speech, aquaportal, 1)
            await sync_to_async(first.stop)()
            assert await talk.closed() in codes
        assert [line for line in first.log if "Traceback" in line] == []
    assert [(call.status, call.code) for call in await rows(ToolCall)] == [("failed", "cancelled")] * 2
    assert sorted(turn.outcome for turn in await rows(Turn)) == ["cancelled"] * 2 + ["done"] * 2
    assert [(row.state, row.owner) for row in await rows(Conversation)] == [("open", "")] * 2
    assert all(session.closed_at for session in await rows(UpstreamSession))
    aquaportal.reset()
    with process(command(port), settings):
        async with held.talks() as again:
            await again.ready()
            line = speech.lines[-1]
            for text in ("Hello.", "Hello Ada.", "List the latest reports."):
                item = (await line.asked("conversation.item.create"))["item"]
                assert item["content"][0]["text"] == text
