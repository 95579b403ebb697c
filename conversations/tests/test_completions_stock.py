"""The stock openai client has Vocero for its model: whole, in pieces, refused, and hung up on."""

import asyncio
import json
from pathlib import Path

import pytest

from conversations.models import ToolCall, Turn
from conversations.tests.brain_kit import picks
from conversations.tests.stock.peer import PYTHON
from conversations.tests.stored import rows
from conversations.tests.talking import eventually
from conversations.tests.test_completions import Keeper
from conversations.tests.thinking_kit import KEY, hears, instructions, speaks, thinking

pytestmark = [pytest.mark.peers, pytest.mark.django_db(transaction=True)]
pytest_plugins = ("conversations.tests.deployment",)

SCRIPT = Path(__file__).parent / "stock" / "openai_model.py"
QUESTION = "Show me cage four."


@pytest.fixture
def thinks(configure):
    return lambda *answers: configure(reasoning=thinking(Keeper, *answers))


async def asks(vocero, told, stream=True, leave="", key=KEY):
    """What the stock client got for these instructions."""
    pipe = asyncio.subprocess.PIPE
    command = (PYTHON, SCRIPT, f"{vocero.origin}/v1", key)
    client = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    asked = {"instructions": told, "words": QUESTION, "stream": stream, "leave": leave}
    async with asyncio.timeout(60):
        out, problems = await client.communicate(json.dumps(asked).encode())
    assert client.returncode == 0, problems.decode()
    return json.loads(out)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_turn_with_a_tool_is_speech_only(vocero, ada, speech, thinks, stream):
    thinks(["Here.", picks("show_cage", cage=4)], ["That is cage four."])
    async with ada.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        hears(line, QUESTION)
        answer = await asks(vocero, instructions(line), stream)
        assert answer["usage"] > 0
        assert (answer["text"], answer["calls"], answer["end"]) == (
            "Here.\nThat is cage four.",
            None,
            "stop",
        )
        speaks(line, answer["text"])
        await talk.shown("response.done")
        (turn,) = await eventually(lambda: rows(Turn, outcome="done"))
        assert [call.turn_id for call in await rows(ToolCall)] == [turn.pk]


async def test_it_hangs_up_and_the_turns_tools_end(vocero, ada, speech, thinks):
    thinks(["One moment.", picks("wait_for_tap")])
    async with ada.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        hears(line, QUESTION)
        answer = await asks(vocero, instructions(line), leave="One moment.")
        assert answer["text"].startswith("One moment.")
        assert (await talk.shown("vocero.tool.failed"))["code"] == "cancelled"


async def test_without_a_ticket_or_with_another_key_it_is_an_authentication_error(
    vocero, ada, speech, thinks
):
    thinks(["Never said."])
    refused = {"error": "AuthenticationError", "status": 401}
    async with ada.talks() as talk:
        await talk.ready()
        assert await asks(vocero, "Be kind.") == refused
        assert await asks(vocero, instructions(speech.lines[-1]), key="another") == refused
