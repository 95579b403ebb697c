"""The stock openai client holds a conversation through Vocero and sees the GA protocol, nothing else."""

import asyncio
import json
from pathlib import Path

import pytest

from conversations.models import ToolCall, Turn, UpstreamSession
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import api_key, rows
from conversations.tests.talking import ADMINISTRATOR, Person, eventually
from demo.speech.loading import load
from demo.speech.testing import running

pytestmark = pytest.mark.peers
pytest_plugins = ("conversations.tests.deployment",)

PEER = Path(__file__).resolve().parents[2] / ".venvs" / "peers" / "bin" / "python"
SCRIPT = Path(__file__).parent / "stock" / "openai_client.py"
QUESTION = "What is the oxygen level in cage four?"
NOT_GA = ("vocero.", "ui-command", "rtvi")
TRACES = ("<<<", ">>>", "VOCERO_MCP_CALL", "ARGUMENTS", "function_call", "Reference data", "You are a voice")


@pytest.fixture
async def secret(vocero):
    """A client secret, made by an integrator's server with its API key."""
    key = await api_key()
    bearer = {"Authorization": f"Bearer {key}", "Cookie": ""}
    body = {"phone": ADMINISTRATOR}
    answer = await Person(vocero).send("POST", "/v1/realtime/client_secrets", body, **bearer)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


@pytest.fixture(scope="module")
def demo_speech():
    """The demo's speech service without its models: the same planner, for typed conversations."""
    with running(load(light=True)) as service:
        yield service


async def conversation(vocero, secret):
    """Every event that the stock client saw of its conversation."""
    command = [PEER, SCRIPT, vocero.socket.removesuffix("/realtime"), secret, QUESTION]
    pipe = asyncio.subprocess.PIPE
    client = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(60):
        out, problems = await client.communicate()
    assert client.returncode == 0, problems.decode()
    return [json.loads(line) for line in out.splitlines()]


def assert_pure_ga(events):
    for event in events:
        assert event["declared"], event["type"]
        assert event["whole"] is True, (event["type"], event["whole"])
        assert not event["type"].startswith(NOT_GA)
    text = json.dumps(events)
    assert [trace for trace in TRACES if trace in text] == []


def answer(events):
    return "".join(e["frame"]["delta"] for e in events if e["type"] == "response.output_text.delta")


@pytest.mark.parametrize("selection", ["native", "marker"])
async def test_a_text_conversation_with_the_demo_services(
    vocero, secret, demo_speech, aquaportal, configure, selection
):
    configure(speech_url=demo_speech.url, tool_selection=selection)
    events = await conversation(vocero, secret)
    assert_pure_ga(events)
    (entry,) = aquaportal.calls()
    async with aquaportal.client(ADMINISTRATOR) as client:
        result = (await client.call_tool(entry.tool, entry.arguments)).structured_content
    assert result["speech"] in answer(events)
    done = events[-1]["frame"]["response"]["output"][0]["content"][0]["text"]
    assert done == answer(events)
    (turn,) = await eventually(lambda: rows(Turn, outcome="done"))
    assert (turn.origin, turn.caller_text, turn.heard_text) == ("text", QUESTION, answer(events))
    (call,) = await rows(ToolCall)
    assert (call.status, call.selection) == ("completed", selection)
    assert [session.selection for session in await rows(UpstreamSession)] == [selection]


async def test_the_events_come_in_ga_s_order(vocero, secret, speech, aquaportal):
    speech.replies += [Calls.one("get_my_briefing", {}), Says("All is well.")]
    events = await conversation(vocero, secret)
    assert_pure_ga(events)
    kinds = [event["type"] for event in events]
    first = kinds.index("response.created")
    assert kinds[:first] == [
        "session.created",
        "session.updated",
        "conversation.item.added",
        "conversation.item.done",
    ]
    assert kinds[first : first + 3] == ["response.created", "response.done", "response.created"]
    assert kinds[-1] == "response.done"
    assert answer(events) == "All is well."
