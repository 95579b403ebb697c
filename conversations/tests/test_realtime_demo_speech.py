"""A spoken answer of the demo's own speech service, without its models, in both ways of picking a tool."""

import pytest

from conversations.models import ToolCall
from conversations.tests.stored import rows
from demo.speech.loading import load
from demo.speech.testing import running

pytest_plugins = ("conversations.tests.deployment",)

QUESTION = "What is the oxygen level in cage four?"
TRACES = ("<<<", ">>>", "VOCERO_MCP_CALL", "ARGUMENTS", "function_call", "Reference data", "You are a voice")


@pytest.fixture(scope="module")
def demo_speech():
    with running(load(light=True)) as service:
        yield service


@pytest.mark.parametrize("selection", ["native", "marker"])
async def test_a_spoken_answer_is_the_data_and_nothing_of_how_it_came(
    vocero, ada, demo_speech, aquaportal, configure, selection
):
    configure(speech_url=demo_speech.url, tool_selection=selection)
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types(QUESTION)
        await talk.shown("vocero.tool.completed")
        answer = (await talk.shown("response.output_audio_transcript.done"))["transcript"]
        await talk.shown("response.done")
        frames = "".join(talk.raw)
    (entry,) = aquaportal.calls()
    async with aquaportal.client(entry.caller) as client:
        result = (await client.call_tool(entry.tool, entry.arguments)).structured_content
    assert result["speech"] in answer
    assert talk.text().endswith(answer)
    assert [trace for trace in TRACES if trace in frames] == []
    spoken = {frame["response_id"] for frame in talk.shown_of("response.output_audio.delta")}
    worded = {frame["response_id"] for frame in talk.shown_of("response.output_audio_transcript.delta")}
    assert spoken
    assert spoken <= worded
    assert [call.selection for call in await rows(ToolCall)] == [selection]
