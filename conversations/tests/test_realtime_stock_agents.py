"""OpenAI's own libraries, as they are, talk through Vocero: in Python, in Node, in Chromium."""

import json
from types import SimpleNamespace

import pytest

from conversations.models import ToolCall, Turn
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stock.peer import node_client, openai_client, page_client, python_client
from conversations.tests.stored import api_key, rows
from conversations.tests.talking import ADMINISTRATOR, Person, eventually

pytestmark = [pytest.mark.peers, pytest.mark.browser]
pytest_plugins = ("conversations.tests.deployment",)

TRACES = ("vocero.", "get_my_briefing", "Reference data", "You are a voice", "<<<")


@pytest.fixture
async def secret(vocero):
    """A client secret for a page that has a function of its own."""
    bearer = {"Authorization": f"Bearer {await api_key()}", "Cookie": ""}
    body = {"phone": ADMINISTRATOR, "browser_tools": ["show_map"]}
    answer = await Person(vocero).send("POST", "/v1/realtime/client_secrets", body, **bearer)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


@pytest.fixture(params=[openai_client, python_client, node_client, page_client])
async def client(request, vocero, secret, speech):
    """The library connected, its session declared."""
    async with request.param(f"{vocero.socket}?model=gpt-realtime", secret) as peer:
        await peer.seen("connected")
        await peer.event("session.updated")
        line = await speech.line()
        yield SimpleNamespace(peer=peer, line=line, speech=speech)
        assert peer.of("error") == []
        assert [trace for trace in TRACES if trace in json.dumps(peer.happened)] == []


def caller_speaks(line, number):
    """The service hears somebody begin to speak."""
    line.say(
        {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": f"spoken_{number}"}
    )


def caller_said(line, number, text):
    """The service has heard it out."""
    item_id = f"spoken_{number}"
    content = [{"type": "input_audio", "transcript": None}]
    item = {"id": item_id, "type": "message", "role": "user", "status": "completed", "content": content}
    line.say(
        {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 900, "item_id": item_id},
        {"type": "input_audio_buffer.committed", "previous_item_id": None, "item_id": item_id},
        {"type": "conversation.item.added", "previous_item_id": None, "item": item},
        {
            "type": "conversation.item.input_audio_transcription.completed",
            "item_id": item_id,
            "content_index": 0,
            "transcript": text,
            "usage": {"type": "duration", "seconds": 1},
        },
    )


def assistant(peer):
    """What the library's history says the assistant said."""
    history = peer.of("history")[-1]["said"] if peer.of("history") else []
    return [one["text"] for one in history if one["role"] == "assistant"]


async def test_a_typed_question_is_answered_by_a_server_tool_that_the_library_never_sees(client):
    client.speech.replies += [Calls.one("get_my_briefing", {}), Says("All four cages are well.")]
    await client.peer.do("say", text="How are my cages?")
    await client.peer.until(lambda: "All four cages are well." in assistant(client.peer))
    assert sum(one["bytes"] for one in client.peer.of("audio")) == 120 * 48
    assert client.peer.of("tool") == []
    (turn,) = await eventually(lambda: rows(Turn, outcome="done"))
    assert (turn.caller_text, turn.heard_text) == ("How are my cages?", "All four cages are well.")
    (call,) = await rows(ToolCall)
    assert (call.name, call.status) == ("get_my_briefing", "completed")


async def test_a_function_of_the_page_is_called_answered_and_spoken_about(client):
    client.speech.replies += [Calls.one("show_map", {"place": "cage four"}), Says("It is on the map.")]
    await client.peer.do("say", text="Show me cage four.")
    tool = await client.peer.seen("tool")
    assert tool["arguments"] == {"place": "cage four"}
    await client.peer.until(lambda: "It is on the map." in assistant(client.peer))
    outputs = [event["item"] for event in client.line.sent_of("conversation.item.create")]
    (output,) = [item for item in outputs if item["type"] == "function_call_output"]
    assert "The map shows cage four." in output["output"]
    assert len(client.line.sent_of("response.create")) == 2
    assert len(client.peer.of("tool")) == 1


async def test_speaking_over_an_answer_interrupts_it(client):
    client.speech.replies.append(Says("This is a very long story.", ends=False))
    await client.peer.do("say", text="Tell me a story.")
    await client.peer.seen("audio", 3)
    await client.peer.do("speak", ms=200)
    await client.line.asked("input_audio_buffer.append")
    caller_speaks(client.line, 1)
    await client.peer.seen("interrupted")
    cancel = await client.line.asked("response.cancel")
    assert cancel["response_id"] == "resp_1"
    await client.peer.event("response.done")
    caller_said(client.line, 1, "Stop, please.")
    await eventually(lambda: rows(Turn, caller_text="Tell me a story.", outcome="interrupted"))


async def test_the_conversation_goes_on_after_the_library_interrupts_by_itself(client):
    client.speech.replies += [Says("This is a very long story.", ends=False), Says("I am listening.")]
    await client.peer.do("say", text="Tell me a story.")
    await client.peer.seen("audio", 3)
    await client.peer.do("interrupt")
    truncate = await client.line.asked("conversation.item.truncate")
    assert truncate["audio_end_ms"] <= 120
    await client.peer.do("say", text="Are you there?")
    await client.peer.until(lambda: "I am listening." in assistant(client.peer))
    assert len(client.line.sent_of("response.cancel")) == 1
    (turn,) = await eventually(lambda: rows(Turn, caller_text="Are you there?", outcome="done"))
    assert turn.heard_text == "I am listening."


@pytest.mark.parametrize("client", [openai_client], indirect=True)
async def test_push_to_talk_as_openai_shows_it_has_one_answer_to_each_push(client):
    client.speech.spoken += ["How are my cages?", "And the feed?"]
    client.speech.replies += [Calls.one("get_my_briefing", {}), Says("All is well."), Says("It is enough.")]
    for number, answer in enumerate(["All is well.", "It is enough."], start=1):
        await client.peer.do("speak", ms=200)
        await client.peer.do("push")
        await client.peer.until(lambda said=answer: said in assistant(client.peer))
        await eventually(lambda seen=number: turns_done(seen))
    assert client.line.sent_of("response.cancel") == []
    turns = await rows(Turn)
    assert [(turn.origin, turn.caller_text, turn.outcome) for turn in turns] == [
        ("voice", "How are my cages?", "done"),
        ("voice", "And the feed?", "done"),
    ]


async def turns_done(count):
    return len(await rows(Turn, outcome="done")) >= count
