"""Turns over HTTP on real servers: a client that goes, other processes, a server that stops."""

import pytest
from asgiref.sync import sync_to_async

from conversations.models import ToolCall, Turn, WaitingMessage
from conversations.tests.brain_kit import asks, question, tap
from conversations.tests.serving import (
    Address,
    daphne_command,
    environment,
    free_port,
    in_thread,
    process,
    uvicorn_command,
)
from conversations.tests.speech_events import Says
from conversations.tests.stored import rows
from conversations.tests.talking import Person, eventually
from vocero.services import Reasoning

pytest_plugins = ("conversations.tests.deployment",)

BRAIN = "conversations.tests.slow_brain.SlowBrain"
QUICK = "conversations.tests.quick_asgi:application"


def uvicorn(port):
    return [*uvicorn_command(port, QUICK), "--timeout-graceful-shutdown", "1"]


def daphne(port):
    return daphne_command(port, QUICK)


async def cancelled_calls():
    return await rows(ToolCall, code="cancelled")


def is_foreign(line):
    return '"logger": "uvicorn' in line or "RequestAborted" in line


@pytest.mark.parametrize("command", [uvicorn, daphne])
async def test_a_client_that_goes_and_a_server_that_stops_cancel_the_turn_tools_included(
    transactional_db, command
):
    port = free_port()
    with process(command(port), environment(S2S_BRAIN=BRAIN)) as server:
        person = Person(Address(port))
        await person.bootstrap()
        async with asks(person, "work") as asking:
            await asking.shown("vocero.tool.started")
            assert asking.spoken == "One moment.\n"
        await eventually(cancelled_calls)
        (turn,) = await person.turns(1)
        assert (turn["outcome"], turn["heard_text"]) == ("cancelled", "One moment.")
        async with asks(person, "hello") as again:
            await again.over()
        assert again.last["text"] == "Hello."
        async with asks(person, "work") as asking:
            await asking.shown("vocero.tool.started")
            await sync_to_async(server.stop)()
        # The servers and Django's own listener complain of clients that go; nothing of ours does.
        assert [line for line in server.log if "Traceback" in line and not is_foreign(line)] == []
    assert [call.status for call in await rows(ToolCall)] == ["failed"] * 2
    assert {turn.outcome for turn in await rows(Turn)} == {"cancelled", "done", "failed"}


async def test_a_turn_in_another_process_is_one_at_a_time_gets_messages_and_ends_with_the_conversation(
    transactional_db, configure
):
    configure(reasoning=Reasoning(brain=BRAIN))
    port = free_port()
    with process(uvicorn(port), environment(S2S_BRAIN=BRAIN)):
        async with in_thread() as other:
            there, here = Person(Address(port)), Person(other.address)
            await there.bootstrap()
            here.conversation, here.cookie = there.conversation, there.cookie
            async with asks(there, "ask me") as asking:
                nonce = (await asking.shown("ui-command"))["data"]["payload"]["nonce"]
                refused = await question(here, "hello")
                assert (refused.status_code, refused.json()["code"]) == (409, "turn_in_progress")
                assert (await tap(here, t="tapped", d={"nonce": nonce, "answer": "yes"})).status_code == 202
                await asking.over()
            assert asking.last["text"] == "One moment.\nThey said yes."
            assert (await tap(here, t="tapped", d={"nonce": nonce, "answer": "yes"})).json()[
                "code"
            ] == "no_turn"
            async with asks(there, "ask me") as asking:
                await asking.shown("ui-command")
                await here.cleans_up()
                await asking.over()
            assert asking.last["code"] == "conversation_closed"
    assert await rows(WaitingMessage) == []
    assert {turn.outcome for turn in await rows(Turn)} == {"done", "failed"}


@pytest.mark.parametrize("speaks", [True, False])
async def test_a_caller_who_goes_on_in_the_live_call_ends_the_turn_in_another_process(
    transactional_db, configure, speech, speaks
):
    configure(reasoning=Reasoning(brain=BRAIN), speech_url=speech.url)
    port = free_port()
    with process(uvicorn(port), environment(S2S_BRAIN=BRAIN)):
        async with in_thread() as other:
            there, here = Person(Address(port)), Person(other.address)
            await there.bootstrap()
            here.conversation, here.cookie = there.conversation, there.cookie
            async with here.talks() as talk, asks(there, "work") as asking:
                await talk.ready()
                await asking.shown("vocero.tool.started")
                await goes_on(talk, speech, speaks)
                await talk.shown("response.done")
                await asking.over()
            assert (asking.last["type"], asking.last["code"]) == ("turn.failed", "cancelled")
            async with asks(there, "hello") as again:
                await again.over()
            assert again.last["text"] == "Hello."
    assert [call.code for call in await rows(ToolCall)] == ["cancelled"]
    turns = [(turn.origin, turn.outcome) for turn in sorted(await rows(Turn), key=lambda turn: turn.index)]
    assert sorted(turns[:2]) == sorted([("http", "cancelled"), ("voice" if speaks else "text", "done")])
    assert turns[2:] == [("http", "done")]


async def goes_on(talk, speech, speaks):
    """Aloud, or in writing."""
    speech.replies.append(Says("Never mind."))
    if speaks:
        speech.spoken.append("Stop.")
        await talk.send("input_audio_buffer.commit")
        await talk.send("response.create")
    else:
        await talk.types("Stop.")
