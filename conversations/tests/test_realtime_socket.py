"""The relay over real sockets, on both servers, against a scripted speech service and the demo AquaPortal."""

import json

import pytest
from channels.db import database_sync_to_async

from conversations import lifecycle
from conversations.models import BackendToken, Conversation, ToolCall
from conversations.tests import speech_events as ga
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import rows
from conversations.tests.talking import ADMINISTRATOR, Person, eventually

pytest_plugins = ("conversations.tests.deployment",)

REPORTS = Calls.one("list_reports", {"request": {}})
MARKER = '<<<VOCERO_MCP_CALL:NAME=list_reports,ARGUMENTS={"request":{}}>>>'
HEARING = "conversation.item.input_audio_transcription.delta"
REASONS = ["caller_cleanup", "superseded", "expired", "idle", "auth_expired", "operator", "error"]


async def arrived(address, phone=ADMINISTRATOR):
    person = Person(address)
    await person.bootstrap(phone=phone)
    return person


@database_sync_to_async
def close(person, reason):
    lifecycle.close(person.conversation, reason)


async def test_a_typed_question_is_answered_from_aquaportal(either, speech, aquaportal):
    person = await arrived(either)
    speech.replies += [REPORTS, Says("There are three reports.")]
    async with person.talks() as talk:
        ready = await talk.shown("vocero.conversation.ready")
        await talk.types("List the latest reports.")
        await talk.shown("vocero.tool.completed")
        await talk.shown("response.done")
        assert talk.text() == "There are three reports."
        line = await speech.line()
        output = line.sent_of("conversation.item.create")[-1]["item"]["output"]
    assert ready["tools"] == {"count": 8, "error": None}
    assert output.startswith("[Reference data from tool list_reports.")
    assert [entry.caller for entry in aquaportal.calls()] == [ADMINISTRATOR]
    turns = await person.turns()
    assert [(turn["origin"], turn["outcome"], turn["heard_text"]) for turn in turns] == [
        ("text", "done", "There are three reports.")
    ]
    assert [(tool["name"], tool["status"]) for tool in turns[0]["tools"]] == [("list_reports", "completed")]


async def test_a_service_without_native_tools_is_spoken_to_by_marker(either, speech, aquaportal):
    person = await arrived(either)
    speech.keeps_tools = False
    speech.replies += [Says(f"One moment. {MARKER}", pieces=7, audio_ms=700), Says("There are three.")]
    async with person.talks() as talk:
        await talk.ready()
        await talk.types("List the latest reports.")
        await talk.shown("vocero.tool.completed")
        await talk.shown("response.done")
        assert talk.text() == "One moment. There are three."
        for trace in ("<<<", "VOCERO_MCP_CALL", ">>>", "ARGUMENTS", "Reference data"):
            assert trace not in "".join(talk.raw)
    await person.turns()
    (call,) = await rows(ToolCall)
    assert (call.selection, call.status, call.name) == ("marker", "completed", "list_reports")
    assert len(aquaportal.calls("list_reports")) == 1


async def test_speaking_over_a_slow_tool_ends_it_everywhere(either, speech, aquaportal):
    aquaportal.faults.add("slow", tool="list_reports", seconds=60)
    person = await arrived(either)
    speech.replies += [REPORTS, Says("Too late.")]
    async with person.talks() as talk:
        await talk.ready()
        await talk.types("List the latest reports.")
        await aquaportal.seen(lambda entry: entry.tool == "list_reports" and entry.started)
        line = await speech.line()
        line.say({"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "s1"})
        failed = await talk.shown("vocero.tool.failed")
        await aquaportal.seen(lambda entry: entry.tool == "list_reports" and entry.cancelled)
        aquaportal.faults.release()
        outputs = [event["item"] for event in line.sent_of("conversation.item.create")]
        assert len(line.sent_of("response.create")) == 1
        assert talk.text() == ""
    assert (failed["code"], json.loads(outputs[-1]["output"])["error"]["code"]) == ("cancelled", "cancelled")
    assert (await person.turns())[0]["outcome"] == "interrupted"
    (call,) = await eventually(lambda: rows(ToolCall, status="failed"))
    assert call.code == "cancelled"


async def test_a_client_that_vanishes_in_mid_stream_leaves_nothing_behind_case_104_case_116(either, speech):
    person = await arrived(either)
    async with person.talks() as talk:
        await talk.ready()
        line = await speech.line()
        line.say(ga.created("resp_1"))
        place = {"response_id": "resp_1", "item_id": "item_1", "content_index": 0}
        line.say({"type": "response.output_audio_transcript.delta", **place, "delta": "A long story."})
        line.say(*[{"type": "response.output_audio.delta", **place, "delta": ga.sound(200)}] * 200)
        await talk.shown("response.output_audio.delta")
        talk.reset()
        await line.gone()

    await eventually(lambda: rows(Conversation, owner="", state="open"))


async def test_a_second_window_takes_the_call_over_as_it_is(either, speech):
    person = await arrived(either)
    speech.replies += [Says("Hello Ada."), Says("You said hello.")]
    async with person.talks() as first:
        await first.ready()
        await first.types("Hello.")
        await first.shown("response.done")
        assert (await person.bootstrap())["id"] == person.conversation
        async with person.talks() as second:
            await second.ready()
            error, code = await first.error()
            assert (error["code"], code) == ("taken_over", 4409)
            await second.types("What did I say?")
            await second.shown("response.done")
            assert second.text() == "You said hello."
            # The session at the service goes on, and knows what was said.
            line, *others = speech.lines
            items = [event["item"] for event in line.sent_of("conversation.item.create")]
    assert others == []
    assert [item["content"][0]["text"] for item in items] == ["Hello.", "What did I say?"]
    turns = await person.turns(2)
    assert [turn["index"] for turn in turns] == [1, 2]


async def test_leaving_does_not_close_the_conversation(either, speech):
    person = await arrived(either)
    async with person.talks() as talk:
        await talk.ready()
        line = await speech.line()
    await line.gone()
    assert (await person.record())["state"] == "open"
    async with person.talks() as talk:
        await talk.ready()


async def test_cleanup_from_the_api_ends_the_call_and_erases_the_token(either, speech):
    person = await arrived(either)
    async with person.talks() as talk:
        await talk.ready()
        assert [token.ciphertext for token in await rows(BackendToken)] != [""]
        await person.cleans_up()
        error, code = await talk.error()
    assert (error["code"], code) == ("caller_cleanup", 4410)
    assert talk.shown_of("vocero.conversation.closed")[0]["reason"] == "caller_cleanup"
    assert [token.ciphertext for token in await rows(BackendToken)] == [""]
    await (await speech.line()).gone()


async def test_what_is_sent_before_ready_is_answered_afterwards(either, speech):
    person = await arrived(either)
    speech.greets = False
    speech.replies.append(Says("Hello."))
    async with person.talks() as talk:
        await talk.send("session.update", session={"type": "realtime", "output_modalities": ["text"]})
        await talk.types("Hello?")
        line = await speech.line()
        line.say({"type": "session.created", "session": {"id": "s"}})
        await talk.shown("session.created")
        await talk.shown("session.updated")
        assert (await talk.shown("response.output_text.done"))["text"] == "Hello."


async def test_the_service_dies_and_comes_back_in_mid_call(either, speech):
    person = await arrived(either)
    speech.replies += [Says("Hello."), Says("Here I am.")]
    async with person.talks() as talk:
        await talk.ready()
        await talk.types("Hello?")
        await talk.shown("response.done")
        (await speech.line()).drop()
        assert (await talk.shown("vocero.speech.lost"))["retry_in_ms"] == 500
        await talk.shown("vocero.speech.restored")
        await talk.types("Are you there?")
        await talk.shown("response.done")
        assert talk.text() == "Hello.Here I am."
        renewed = await speech.line(2)
        assert len(renewed.sent_of("conversation.item.create")) == 3
        assert len(renewed.sent[0]["session"]["tools"]) == 8


@pytest.mark.parametrize("size", [300_000, 1_000_000])
async def test_a_large_legal_frame_passes_whole_case_112(either, speech, size):
    person = await arrived(either)
    async with person.talks() as talk:
        await talk.ready()
        await talk.send("input_audio_buffer.append", audio="A" * size)
        line = await speech.line()
        assert len((await line.asked("input_audio_buffer.append"))["audio"]) == size


async def test_a_frame_over_a_mebibyte_ends_the_call_with_a_word_case_112(either, speech):
    person = await arrived(either)
    async with person.talks() as talk:
        await talk.ready()
        await talk.send("input_audio_buffer.append", audio="A" * 1_200_000)
        error, code = await talk.error()
    assert (error["code"], code) == ("message_too_large", 4413)


async def test_a_large_event_of_the_service_is_relayed_case_113(either, speech):
    person = await arrived(either)
    async with person.talks() as talk:
        await talk.ready()
        (await speech.line()).say({"type": HEARING, "item_id": "item_1", "delta": "x" * 3_000_000})
        assert len((await talk.shown(HEARING))["delta"]) == 3_000_000


async def test_nonsense_is_answered_until_it_is_too_much(either, speech):
    person = await arrived(either)
    async with person.talks() as talk:
        await talk.ready()
        for frame in ["", "{", "[" * 5000, b"\x00\xff", '{"type":"conversation.item.delete"}', "7"]:
            await talk.send_text(frame)
            assert (await talk.shown("error"))["error"]["code"] in ("invalid_event", "forbidden_event")
        speech.replies.append(Says("Still here."))
        await talk.types("Are you there?")
        await talk.shown("response.done")
        for _ in range(20):
            await talk.send_text("nonsense")
        error, code = await talk.error()
    assert talk.text() == "Still here."
    assert (error["code"], code) == ("too_many_invalid_events", 4400)


async def test_the_realtime_subprotocol_is_echoed_and_no_other(either, speech):
    person = await arrived(either)
    async with person.talks(subprotocols=["realtime", "openai-agents-sdk.0.20.0"]) as talk:
        assert talk.subprotocol == "realtime"
    async with person.talks(subprotocols=["other"]) as talk:
        assert talk.subprotocol is None
        await talk.ready()


async def test_a_client_that_does_not_read_ends_its_call_and_not_the_memory(either, speech):
    person = await arrived(either)
    async with person.talks() as talk:
        await talk.ready()
        talk.stops_reading()
        line = await speech.line()
        line.say(*[{"type": HEARING, "item_id": "item_1", "delta": "x" * 500_000}] * 100)
        await line.gone()
        talk.reads_again()
        assert await talk.closed() == 1011
    assert len(talk.shown_of(HEARING)) < 60
    assert (await person.record())["state"] == "open"


@pytest.mark.parametrize("reason", REASONS)
async def test_a_call_that_is_closed_from_elsewhere_ends_with_the_reason(
    vocero, ada, speech, reason, quick_heartbeat, monkeypatch
):
    monkeypatch.setattr(lifecycle, "nudge", lambda conversation_id: None)
    async with ada.talks() as talk:
        await talk.ready()
        await close(ada, reason)
        error, code = await talk.error()
    assert (error["code"], code) == (reason, 4410)
    assert error["message"]
