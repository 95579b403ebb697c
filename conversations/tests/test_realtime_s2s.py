"""Calls over the protocol code of huggingface/speech-to-speech itself; only its models are scripted."""

import base64
import os
import struct

import httpx2
import pytest

from conversations.models import ToolCall, UpstreamSession
from conversations.tests.serving import ROOT, free_port, process
from conversations.tests.stored import rows
from conversations.tests.talking import MANAGER, Person, eventually

pytestmark = pytest.mark.s2s
pytest_plugins = ("conversations.tests.deployment",)

PYTHON = ROOT / ".venvs" / "s2s" / "bin" / "python"
QUESTION = "What is the oxygen level in cage four?"
ANSWER = "It is seven point four milligrams per liter."
LONG = {"text": "Once upon a time there was a farm by the sea.", "seconds": 30}
LIST = ["list_podcasts", '{"request": {}}']
BRIEF = ["get_my_briefing", '{"request": {}}']
MARKER = f"<<<VOCERO_MCP_CALL:NAME={LIST[0]},ARGUMENTS={LIST[1]}>>>"
TRACES = (
    "<<<",
    "VOCERO_MCP_CALL",
    "function_call",
    "Reference data",
    "You are a voice",
    'list_podcasts","arg',
)


class Service:
    """The service's process, and its script."""

    def __init__(self, port, log):
        self._log = log
        self.url = f"ws://127.0.0.1:{port}/v1/realtime"
        self._http = f"http://127.0.0.1:{port}"

    async def _ask(self, method, path, body=None):
        async with httpx2.AsyncClient(trust_env=False, timeout=10) as client:
            return (await client.request(method, self._http + path, json=body)).json()

    async def script(self, *says, hears=()):
        await self._ask("POST", "/script", {"says": says, "hears": hears})

    async def drop(self):
        await self._ask("POST", "/drop")

    async def asked(self, count=1):
        """What the model was sent, once it was asked so often."""

        async def answered():
            asked = await self._ask("GET", "/asked")
            return asked if len(asked) >= count else None

        return await eventually(answered)

    async def refused(self):
        """Once somebody was told that all is taken."""

        async def told():
            return any("Rejected connection" in line for line in self._log)

        await eventually(told)

    async def idle(self):
        """Once nobody is connected."""

        async def free():
            return (await self._ask("GET", "/v1/pool"))["in_use"] == 0

        await eventually(free)


@pytest.fixture(scope="module")
def running():
    port = free_port()
    program = ROOT / "conversations" / "tests" / "s2s_server.py"
    command = [str(PYTHON), "-P", str(program), "--port", str(port)]
    with process(command, dict(os.environ)) as server:
        yield Service(port, server.log)


@pytest.fixture
async def service(running, configure, deployed):
    configure(speech_url=running.url)
    await running.idle()
    yield running
    await running.idle()


WAVE = struct.pack("<24h", *[9_000] * 24) + struct.pack("<24h", *[-9_000] * 24)  # 2 ms at 24 kHz


async def speaks(talk):
    """A loud tone and a pause."""
    for sound in (WAVE * 160, bytes(48 * 320)):
        for start in range(0, len(sound), 960):
            piece = base64.b64encode(sound[start : start + 960]).decode()
            await talk.send("input_audio_buffer.append", audio=piece)


def assert_whole(talk):
    """Every answer is told as GA tells it: announced, its words in deltas, its end once."""
    kinds = talk.kinds()
    assert kinds.count("response.done") == len({f["response"]["id"] for f in talk.shown_of("response.done")})
    begun = [frame["response"]["id"] for frame in talk.shown_of("response.created")]
    assert len(begun) == len(set(begun))
    for frame in talk.frames:
        if "response_id" in frame:
            assert frame["response_id"] in begun
    for done in talk.shown_of("response.output_audio_transcript.done"):
        deltas = talk.shown_of("response.output_audio_transcript.delta")
        told = "".join(frame["delta"] for frame in deltas if frame["item_id"] == done["item_id"])
        assert done["transcript"] == told
    assert {frame["content_index"] for frame in talk.shown_of("response.output_audio.delta")} <= {0}
    assert [trace for trace in TRACES if trace in "".join(talk.raw)] == []


def outputs(asked):
    """The tools' results that the model sees, in order."""
    return [item for item in asked["items"] if item["type"] == "function_call_output"]


async def test_a_spoken_question_is_answered_with_a_tool_s_data(ada, service):
    await service.script({"calls": [LIST]}, {"text": ANSWER}, hears=[QUESTION])
    async with ada.talks() as talk:
        await talk.ready()
        await speaks(talk)
        heard = await talk.shown("conversation.item.input_audio_transcription.completed")
        await talk.shown("vocero.tool.completed")
        await talk.shown("response.output_audio_transcript.done")
        await talk.shown("response.done")
        assert (heard["transcript"], talk.text()) == (QUESTION, ANSWER)
        assert talk.shown_of("response.output_audio.delta")
        assert talk.shown_of("error") == []
        assert_whole(talk)
    _, after = await service.asked(2)
    assert "podcast" in outputs(after)[0]["output"]
    assert LIST[0] in after["tools"]
    (turn,) = await ada.turns()
    assert (turn["caller_text"], turn["heard_text"]) == (QUESTION, ANSWER)


async def test_a_typed_question_is_answered_in_writing_where_the_page_wants_that(ada, service):
    await service.script({"text": ANSWER})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.send("session.update", session={"type": "realtime", "output_modalities": ["text"]})
        await talk.shown("session.updated")
        await talk.types(QUESTION)
        assert (await talk.shown("response.output_text.done"))["text"] == ANSWER
        await talk.shown("response.done")
        assert_whole(talk)
    (asked,) = await service.asked()
    assert asked["items"][-1]["content"][0]["text"] == QUESTION


async def test_a_marker_is_run_and_not_heard(ada, service, configure):
    configure(tool_selection="marker")
    await service.script({"text": f"Let me look. {MARKER}"}, {"text": ANSWER})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types(QUESTION)
        await talk.shown("vocero.tool.completed")
        while not talk.text().endswith(ANSWER):
            await talk.shown("response.done")
        assert talk.shown_of("error") == []
        assert_whole(talk)
    (call,) = await rows(ToolCall)
    assert (call.selection, call.status, call.arguments) == ("marker", "completed", {"request": {}})


async def test_parallel_calls_are_answered_in_order_with_one_follow_up_case_017(ada, service):
    await service.script({"calls": [LIST, BRIEF]}, {"text": ANSWER})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types(QUESTION)
        for _ in range(2):
            await talk.shown("vocero.tool.completed")
        await talk.shown("response.output_audio_transcript.done")
        await talk.shown("response.done")
        assert_whole(talk)
    before, after = await service.asked(2)
    assert outputs(before) == []
    called = [item["call_id"] for item in after["items"] if item["type"] == "function_call"]
    assert [item["call_id"] for item in outputs(after)] == called
    assert len(called) == 2


async def test_speaking_over_an_answer_ends_it_and_is_answered(ada, service):
    await service.script(LONG, {"text": ANSWER}, hears=[QUESTION])
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("Tell me a story.")
        await talk.shown("response.output_audio.delta")
        await speaks(talk)
        first = await talk.shown("response.done")
        assert first["response"]["status"] == "cancelled"
        second = await talk.shown("response.done")
        assert second["response"]["status"] == "completed"
        assert talk.text().endswith(ANSWER)
        assert talk.shown_of("error") == []
    outcomes = [turn["outcome"] for turn in await ada.turns(2)]
    assert outcomes == ["interrupted", "done"]


async def test_a_stop_ends_the_answer_and_one_that_ends_nothing_harms_nothing_case_004_case_005(ada, service):
    await service.script(LONG, {"text": ANSWER})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.send("response.cancel")
        await talk.types("Tell me a story.")
        await talk.shown("response.output_audio.delta")
        await talk.send("response.cancel")
        assert (await talk.shown("response.done"))["response"]["status"] == "cancelled"
        await talk.send("response.cancel")
        await talk.types(QUESTION)
        assert (await talk.shown("response.done"))["response"]["status"] == "completed"
        assert talk.text().endswith(ANSWER)
        assert talk.shown_of("error") == []


async def test_typing_over_an_answer_is_answered_once_case_001(ada, service):
    await service.script(LONG, {"text": ANSWER})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("Tell me a story.")
        await talk.shown("response.output_audio.delta")
        await talk.types(QUESTION)
        assert (await talk.shown("response.done"))["response"]["status"] == "cancelled"
        assert (await talk.shown("response.done"))["response"]["status"] == "completed"
        assert talk.text().endswith(ANSWER)
        assert talk.shown_of("error") == []
    assert len(await service.asked(2)) == 2


async def test_what_the_service_does_not_know_is_answered_in_its_place(ada, service):
    await service.script({"text": ANSWER})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.send("conversation.item.retrieve", item_id="item_1")
        assert (await talk.shown("conversation.item.retrieved"))["item"] is None
        await talk.send("input_audio_buffer.clear")
        await talk.shown("input_audio_buffer.cleared")
        await talk.types(QUESTION)
        item_id = (await talk.shown("response.output_audio.delta"))["item_id"]
        await talk.shown("response.done")
        await talk.send("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=20)
        assert (await talk.shown("conversation.item.truncated"))["audio_end_ms"] == 20
        assert talk.shown_of("error") == []


async def test_a_client_s_settings_reach_the_model_or_are_left_out(ada, service):
    """As stock clients send them at once: the service has neither that voice nor that way to listen."""
    await service.script({"text": ANSWER})
    listening = {"type": "semantic_vad", "eagerness": "high"}
    audio = {"input": {"turn_detection": listening}, "output": {"voice": "marin"}}
    async with ada.talks() as talk:
        await talk.ready()
        session = {"type": "realtime", "instructions": "The page shows cage four.", "audio": audio}
        await talk.send("session.update", session=session)
        told = (await talk.shown("session.updated"))["session"]
        assert told["instructions"] == session["instructions"]
        await talk.types(QUESTION)
        await talk.shown("response.done")
        assert talk.shown_of("error") == []
    (asked,) = await service.asked()
    assert session["instructions"] in asked["instructions"]


async def test_an_answer_that_fails_is_told_once_case_026(ada, service):
    await service.script({"fails": "The provider is away."}, {"text": ANSWER})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types(QUESTION)
        assert (await talk.shown("error"))["error"]["code"] == "response_failed"
        await talk.types(QUESTION)
        await talk.shown("response.output_audio_transcript.done")
        await talk.shown("response.done")
        assert len(talk.shown_of("error")) == 1


async def test_a_full_service_is_waited_for(ada, service, vocero):
    other = Person(vocero)
    await other.bootstrap(phone=MANAGER)
    async with ada.talks() as talk, other.talks() as waiting:
        await talk.ready()
        await service.refused()
        await talk.leave()
        await waiting.ready()


async def test_a_lost_session_goes_on_with_what_was_said(ada, service):
    await service.script({"text": ANSWER}, {"text": "Yes, cage four."})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types(QUESTION)
        await talk.shown("response.done")
        await service.drop()
        await talk.shown("vocero.speech.lost")
        await talk.shown("vocero.speech.restored")
        await talk.types("Cage four?")
        await talk.shown("response.done")
        assert talk.text().endswith("Yes, cage four.")
    _, again = await service.asked(2)
    said = [part.get("text") for item in again["items"] for part in item.get("content", ())]
    assert said == [QUESTION, ANSWER, "Cage four?"]


async def test_the_service_is_recognised_recorded_and_logged_once(ada, service, caplog):
    caplog.set_level("INFO")
    await service.script({"text": ANSWER})
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types(QUESTION)
        await talk.shown("response.done")
    (row,) = await eventually(closed_sessions)
    assert (row.dialect, row.selection) == ("s2s-1.1", "native")
    assert caplog.text.count("speech.dialect") == 1


async def closed_sessions():
    return [row for row in await rows(UpstreamSession) if row.closed_at]
