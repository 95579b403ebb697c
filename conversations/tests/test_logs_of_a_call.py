"""Whole calls with every logger at DEBUG: nothing of a credential, of arguments or of results is written."""

import json

import pytest
import structlog

from conversations.models import BackendToken, ToolCall, Turn
from conversations.tests.all_ears import all_ears
from conversations.tests.serving import in_thread
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import api_key, rows
from conversations.tests.talking import ADMINISTRATOR, MANAGER, Person, eventually
from conversations.tests.test_realtime_leaks import (
    ARGUMENT,
    HOSTILE,
    SPEECH_KEY,
    granted,
    strings,
    whole_call,
    windows,
)
from demo.apipilot.testing import SERVICE_TOKEN, running_bridge
from demo.aquaportal.accounts import fingerprint
from demo.model.testing import KEY, running_model
from vocero.env import ApiPilot
from vocero.hiding import HIDDEN, LIVE
from vocero.services import Reasoning

pytest_plugins = ("conversations.tests.deployment",)

QUESTION = "What is the oxygen level in cage four?"


@pytest.fixture(scope="module")
def model():
    with running_model() as model:
        yield model


@pytest.fixture
def deaf_to(configure, deployed, model):
    """The deployment with keys for everything, and a tool that waits for a tap."""
    reasoning = Reasoning(base_url=model.base_url, api_key=KEY, model="demo-planner")
    configure(
        speech_api_key=SPEECH_KEY, reasoning=reasoning, confirm_tools=("get_podcast",), reconnect_grace=30.0
    )
    for key in (SPEECH_KEY, KEY, SERVICE_TOKEN):
        LIVE.keep(key)


def pieces(*secrets):
    return set().union(*(windows(secret) for secret in secrets))


async def taps(person, speech):
    """A tool of which the caller has to approve."""
    async with person.talks() as talk:
        await talk.ready()
        speech.replies += [Calls.one("get_podcast", {"request": {"podcast_id": ARGUMENT}}), Says("Here.")]
        await talk.types("What can I listen to?")
        sheet = await talk.shown("ui-command")
        data = {"t": "confirm_answer", "d": {"nonce": sheet["data"]["payload"]["nonce"], "answer": "yes"}}
        await talk.send("client-message", label="rtvi-ai", id="1", data=data)
        await talk.shown("response.output_audio_transcript.done")
        await talk.shown("response.done")


async def reasons(person):
    headers = {"X-Vocero-Conversation": person.conversation, "Accept": "application/json"}
    answer = await person.send("POST", "/api/reasoning", {"text": QUESTION}, **headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_nothing_of_a_caller_is_written_whatever_levels_an_operator_sets_case_166(
    transactional_db, deaf_to, speech, aquaportal
):
    with all_ears() as ears:
        async with in_thread() as server:
            person, other = Person(server.address), Person(server.address)
            await person.bootstrap(phone=ADMINISTRATOR)
            await other.bootstrap(phone=MANAGER)
            key = await api_key()
            secret = await granted(person, key)
            answered = await reasons(other)
            await taps(other, speech)
            await whole_call(person, secret, speech, aquaportal)
    kept = {one.fingerprint for one in await rows(BackendToken)}
    tokens = [token for token in aquaportal.accounts.tokens if fingerprint(token) in kept]
    async with aquaportal.client(ADMINISTRATOR) as client:
        result = strings((await client.call_tool("get_my_briefing", {})).structured_content)

    said = "\n".join(ears.raw)
    # Otherwise this would prove nothing: the libraries do say it all.
    assert all(text in said for text in (person.cookie, secret))
    assert any(text in said for text in (ARGUMENT, HOSTILE, *result))
    assert "tool.executed" in ears.text
    assert {"completed", "failed"} == {call.status for call in await rows(ToolCall)}
    credentials = {person.cookie, other.cookie, secret, key}
    hidden = {SPEECH_KEY, KEY, *credentials, *pieces(*tokens, *credentials)}
    assert sorted(piece for piece in hidden if piece in ears.text) == []
    for text in (ARGUMENT, HOSTILE, QUESTION, answered["text"], *result, "600000001", "600000002"):
        assert text not in ears.text
        assert json.dumps(text)[1:-1] not in ears.text
    for text in ("You are a voice assistant", "Reference data", "Vocero-Ticket"):
        assert text not in ears.text


async def test_nothing_is_written_of_the_bridge_either_case_166(transactional_db, configure, deaf_to, speech):
    with running_bridge() as bridge, all_ears() as ears:
        pilot = ApiPilot(bridge.tools_url, bridge.execute_url, 300, SERVICE_TOKEN)
        configure(
            mcp_url="", backend_login_url=bridge.login_url, apipilot=pilot, profile_url=bridge.profile_url
        )
        configure(inject_profile=True)
        async with in_thread() as server:
            person = Person(server.address)
            await person.bootstrap(phone=ADMINISTRATOR)
            async with person.talks() as talk:
                await talk.ready()
                wanted = {"metric": "oxygen", "cage_number": 4, "note": ARGUMENT}
                speech.replies += [Calls.one("get_metric_history", wanted), Says("Here it is.")]
                await talk.types(QUESTION)
                await talk.shown("response.output_audio_transcript.done")
            await person.cleans_up()
        tokens = list(bridge.accounts.tokens)
        for token in tokens:
            # As somebody would who means it well.
            structlog.get_logger("conversations.careless").info(
                "token", begins=token[4:10], also={"is": token}
            )
        assert ears.lines[-1]["begins"] == HIDDEN
    said = "\n".join(ears.raw)
    assert person.cookie in said
    assert "tool.executed" in ears.text
    hidden = {SERVICE_TOKEN, *pieces(*tokens, person.cookie)}
    assert sorted(piece for piece in hidden if piece in ears.text) == []
    assert not any(text in ears.text for text in (ARGUMENT, QUESTION, "600000001", "Reference data"))


async def test_a_tools_line_names_its_conversation_turn_and_call_and_nobody_elses(vocero, deployed, speech):
    """The connection to the tools is shared by the calls of one conversation, the writer by everybody."""
    people = [Person(vocero), Person(vocero)]
    with all_ears() as ears:
        for person, phone in zip(people, (ADMINISTRATOR, MANAGER), strict=True):
            await person.bootstrap(phone=phone)
        async with people[0].talks() as one, people[1].talks() as two:
            await one.ready()
            await two.ready()
            for talk in (one, two, one, two):
                speech.replies += [Calls.one("get_my_briefing", {}), Says("Here it is.")]
                await talk.types("What do you have for me?")
                await talk.shown("response.output_audio_transcript.done")
                await talk.shown("response.done")
            for person in people:
                await person.cleans_up()
        await eventually(all_ended)
    calls = {str(call.pk): call for call in await rows(ToolCall)}
    executed = [line for line in ears.lines if line["event"] == "tool.executed"]
    assert len(executed) == len(calls) == 4
    for line in executed:
        call = calls.pop(line["call_id"])
        assert (line["conversation"], line["turn"]) == (str(call.conversation_id), str(call.turn_id))
    assert calls == {}
    for line in ears.lines:
        if line["event"] not in ("tool.executed", "catalog.discovered") and "call_id" in line:
            raise AssertionError(f"{line['event']} is logged as a part of a call that is over")
    owners = {line["conversation"] for line in ears.lines if line["event"] == "conversation.closed"}
    assert owners == {person.conversation for person in people}


async def test_the_lines_of_a_turn_over_http_carry_its_turn_and_their_request(vocero, deaf_to):
    person = Person(vocero)
    await person.bootstrap(phone=ADMINISTRATOR)
    with all_ears() as ears:
        await reasons(person)
    [turn] = await rows(Turn)
    executed = [line for line in ears.lines if line["event"] == "tool.executed"]
    assert executed
    assert {line["turn"] for line in executed} == {str(turn.pk)}
    assert {line["conversation"] for line in executed} == {person.conversation}


async def all_ended():
    return all(call.status != "running" for call in await rows(ToolCall))
