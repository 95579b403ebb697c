"""What the speech service refuses, over a real socket: an error event, and the session goes on."""

import base64

import pytest

from demo.tests.speech_caller import calling, quiet, refusal

MANUAL = {"input": {"turn_detection": None}}


async def test_an_output_for_an_unknown_call_is_refused(scripted):
    async with calling(scripted) as caller:
        item = {"type": "function_call_output", "call_id": "call_unknown", "output": "{}"}
        assert await refusal(caller, "conversation.item.create", item=item) == "invalid_tool_call_id"


@pytest.mark.parametrize(
    ("kind", "fields", "code"),
    [
        ("bogus.event", {}, "invalid_value"),
        ("session.update", {}, "missing_required_parameter"),
        ("session.update", {"session": {}}, "missing_required_parameter"),
        (
            "session.update",
            {"session": {"type": "realtime", "output_modalities": ["smell"]}},
            "invalid_value",
        ),
        ("session.update", {"session": {"type": "realtime", "instructions": 5}}, "invalid_type"),
        ("input_audio_buffer.append", {"audio": "not base64!"}, "invalid_value"),
        ("input_audio_buffer.append", {"audio": base64.b64encode(b"odd").decode()}, "invalid_value"),
        ("input_audio_buffer.commit", {}, "input_audio_buffer_commit_empty"),
        ("response.cancel", {}, "response_cancel_not_active"),
        ("conversation.item.create", {"item": {"type": "picture"}}, "invalid_value"),
        (
            "conversation.item.create",
            {"item": {"type": "message", "role": "user", "content": [{"type": "input_audio"}]}},
            "invalid_value",
        ),
    ],
)
async def test_a_wrong_event_is_an_error_event_and_the_session_goes_on(scripted, kind, fields, code):
    async with calling(scripted) as caller:
        assert await refusal(caller, kind, **fields) == code
        await caller.assert_nothing_sent()


@pytest.mark.parametrize("text", ["{", "[]", "null", "\x00"])
async def test_what_is_no_json_object_is_an_error_event(scripted, text):
    async with calling(scripted) as caller:
        await caller.socket.send(text)
        assert (await caller.next())["error"]["code"] == "invalid_json"
        await caller.assert_nothing_sent()


async def test_a_manual_turn_is_bounded_and_says_so_once(scripted):
    async with calling(scripted) as caller:
        await caller.update(audio=MANUAL)
        second = base64.b64encode(quiet(10_000)).decode()
        for _ in range(8):
            await caller.send("input_audio_buffer.append", audio=second)
        assert (await caller.next())["error"]["code"] == "input_audio_buffer_full"
        await caller.assert_nothing_sent()
        await caller.send("input_audio_buffer.clear")
        await caller.until("input_audio_buffer.cleared")
        assert await refusal(caller, "input_audio_buffer.commit") == "input_audio_buffer_commit_empty"
