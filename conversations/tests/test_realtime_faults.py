"""What a caller meets when something around the relay fails: a word, a close code, and nothing lost."""

import asyncio
import json
import os
import random
import threading
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from channels.layers import channel_layers
from channels_redis.pubsub import RedisPubSubChannelLayer
from django.db import OperationalError
from django.utils import timezone

from conversations import lifecycle, nudging
from conversations.models import BackendToken, Conversation, ToolCall
from conversations.realtime import relay, upstream
from conversations.tests import speech_events as ga
from conversations.tests.serving import free_port
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import change, rows
from conversations.tests.talking import EXPIRING, MANAGER, Person, eventually

pytest_plugins = ("conversations.tests.deployment",)

BRIEFING = Calls.one("get_my_briefing", {})


@pytest.fixture
def nowhere():
    """A port on which nothing listens."""
    return free_port()


@pytest.fixture
def quick_retries(monkeypatch):
    monkeypatch.setattr(upstream, "RETRIES", (0.05, 0.05))


# ---- the speech service


async def test_no_speech_service_is_said_with_4502_and_the_conversation_stays(
    vocero, ada, speech, configure, nowhere, quick_retries
):
    configure(speech_url=f"ws://127.0.0.1:{nowhere}/v1/realtime")
    async with ada.talks() as talk:
        error, code = await talk.error()
    assert (error["code"], code) == ("speech_unavailable", 4502)
    assert (await ada.record())["state"] == "open"
    configure(speech_url=speech.url)
    async with ada.talks() as talk:
        await talk.ready()


async def test_a_deployment_without_a_speech_service_says_so_too(vocero, ada, configure, quick_retries):
    configure(speech_url="")
    async with ada.talks() as talk:
        assert (await talk.error())[1] == 4502


async def test_a_service_that_takes_nobody_is_retried_and_then_given_up(vocero, ada, speech, quick_retries):
    speech.refusals = 3
    async with ada.talks() as talk:
        assert (await talk.error())[1] == 4502
    assert speech.refusals == 0
    async with ada.talks() as talk:
        await talk.ready()


async def test_a_service_that_answers_plain_http_is_no_service(
    vocero, ada, aquaportal, configure, quick_retries
):
    configure(speech_url=aquaportal.url.replace("http://", "ws://") + "/login")
    async with ada.talks() as talk:
        assert (await talk.error())[1] == 4502


async def test_the_service_gets_its_key_and_model_and_the_caller_s_nothing(vocero, ada, speech, configure):
    configure(
        speech_api_key="key-of-the-service", speech_model="gpt-realtime", speech_url=f"{speech.url}?a=1"
    )
    async with ada.talks() as talk:
        await talk.ready()
    line = await speech.line()
    assert line.headers["Authorization"] == "Bearer key-of-the-service"
    assert line.path == "/v1/realtime?a=1&model=gpt-realtime"
    assert "Cookie" not in line.headers
    assert "Origin" not in line.headers


# ---- AquaPortal and the login


async def test_an_unreachable_aquaportal_is_said_in_ready_and_the_voice_works(
    vocero, ada, speech, configure, nowhere
):
    configure(mcp_url=f"http://127.0.0.1:{nowhere}/mcp")
    speech.replies.append(Says("Hello."))
    async with ada.talks() as talk:
        ready = await talk.shown("vocero.conversation.ready")
        await talk.types("Hello?")
        await talk.shown("response.done")
        assert talk.text() == "Hello."
    assert ready["tools"] == {"count": 0, "error": "AquaPortal cannot be reached."}


async def test_a_credential_that_ends_in_mid_call_ends_the_conversation(vocero, speech, aquaportal):
    person = Person(vocero)
    await person.bootstrap(phone=EXPIRING)
    async with person.talks() as talk:
        await talk.ready()
        for _ in range(aquaportal.faults.switches.expiring_calls):
            speech.replies += [BRIEFING, Says("Here it is.")]
            await talk.types("Give me my briefing.")
            await talk.shown("vocero.tool.completed")
            await talk.shown("response.output_audio_transcript.done")
            await talk.shown("response.done")
        speech.replies += [BRIEFING, Says("Please sign in again.")]
        await talk.types("Again.")
        assert (await talk.shown("vocero.tool.failed"))["code"] == "unauthorized"
        error, code = await talk.error()
    assert (error["code"], code) == ("auth_expired", 4410)
    assert [token.ciphertext for token in await rows(BackendToken)] == [""]
    assert [call.code for call in await rows(ToolCall, status="failed")] == ["unauthorized"]


async def test_a_credential_that_has_ended_before_the_call_ends_the_conversation(vocero, ada, aquaportal):
    aquaportal.accounts.revoke()
    async with ada.talks() as talk:
        error, code = await talk.error()
    assert (error["code"], code) == ("auth_expired", 4410)


async def test_a_credential_that_no_key_opens_ends_the_conversation(vocero, ada):
    await change(BackendToken, ciphertext="gAAAAA-nonsense")
    async with ada.talks() as talk:
        error, code = await talk.error()
    assert (error["code"], code) == ("auth_expired", 4410)
    assert (await ada.record())["close_reason"] == "auth_expired"


async def test_a_forbidden_tool_is_refused_in_words_and_the_call_goes_on(vocero, ada, speech, aquaportal):
    aquaportal.faults.add("status", status=403, on="tools/call")
    speech.replies += [BRIEFING, Says("You may not see this.")]
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("Give me my briefing.")
        assert (await talk.shown("vocero.tool.failed"))["code"] == "forbidden"
        await talk.shown("response.output_audio_transcript.done")
        assert talk.text() == "You may not see this."


async def test_an_unreachable_login_leaves_what_is_there(vocero, ada, configure, nowhere):
    configure(backend_login_url=f"http://127.0.0.1:{nowhere}/login")
    async with ada.talks() as talk:
        await talk.ready()
        refused = await ada.send("POST", "/api/conversations", {"phone": MANAGER})
        assert (refused.status_code, refused.json()["code"]) == (503, "backend_unavailable")
        await talk.send("input_audio_buffer.commit")
        assert (await ada.record())["state"] == "open"


# ---- limits and time


@pytest.mark.usefixtures("one_minute")
async def test_too_many_sockets_of_one_address_wait_for_the_named_time(vocero, ada, configure):
    configure(rate_sockets=1)
    async with ada.talks() as talk:
        await talk.ready()
        async with ada.talks() as second:
            error, code = await second.error()
        assert (error["code"], code) == ("rate_limited", 4429)
        assert 0 < error["retry_after_ms"] <= 60_000
        assert not talk.ended


async def test_a_conversation_s_end_is_announced_and_then_comes(vocero, ada, speech, quick_heartbeat):
    soon = timezone.now() + timedelta(seconds=1.5)
    await change(Conversation, expires_at=soon)
    async with ada.talks() as talk:
        assert (await talk.shown("vocero.conversation.expiring"))["seconds"] <= 2
        error, code = await talk.error()
    assert (error["code"], code) == ("expired", 4410)
    assert timezone.now() >= soon
    (conversation,) = await rows(Conversation)
    assert (conversation.state, conversation.close_reason) == ("closed", "expired")


async def test_a_conversation_whose_time_is_over_lets_nobody_in(vocero, ada):
    await change(Conversation, expires_at=timezone.now())
    async with ada.talks() as talk:
        error, code = await talk.error()
    assert (error["code"], code) == ("expired", 4410)


# ---- the database


async def test_a_slow_query_of_one_call_does_not_hold_up_the_sound_of_another(
    vocero, ada, speech, monkeypatch
):
    other = Person(vocero)
    await other.bootstrap(phone=MANAGER)
    armed, reached, over = threading.Event(), threading.Event(), threading.Event()
    whole = lifecycle.heartbeat

    def heartbeat(conversation_id, *rest):
        if armed.is_set() and conversation_id == ada.conversation:
            reached.set()
            over.wait(20)
        return whole(conversation_id, *rest)

    monkeypatch.setattr(relay, "HEARTBEAT", 0.05)
    monkeypatch.setattr(lifecycle, "heartbeat", heartbeat)
    async with ada.talks() as first, other.talks() as second:
        await first.ready()
        await second.ready()
        lines = [await speech.line(1), await speech.line(2)]
        armed.set()
        try:
            assert await asyncio.to_thread(reached.wait, 20)
            async with asyncio.timeout(5):
                for talk in (first, second):
                    await talk.speaks()
                for line in lines:
                    await line.asked("input_audio_buffer.append")
                    line.say({"type": "rate_limits.updated"})
                for talk in (first, second):
                    await talk.shown("rate_limits.updated")
            assert not over.is_set()
        finally:
            over.set()


async def test_a_database_that_is_away_for_a_while_costs_no_call(vocero, ada, speech, monkeypatch, caplog):
    away = threading.Event()
    whole, tried = lifecycle.heartbeat, threading.Event()

    def heartbeat(*values):
        if away.is_set():
            tried.set()
            raise OperationalError("the database is away")
        return whole(*values)

    monkeypatch.setattr(lifecycle, "heartbeat", heartbeat)
    monkeypatch.setattr(relay, "HEARTBEAT", 0.05)
    speech.replies.append(Says("Still here."))
    async with ada.talks() as talk:
        await talk.ready()
        away.set()
        assert await asyncio.to_thread(tried.wait, 20)
        away.clear()
        await talk.types("Are you there?")
        await talk.shown("response.done")
        assert talk.text() == "Still here."


async def test_a_database_that_is_away_at_the_door_is_told_and_not_shown(vocero, ada, monkeypatch):
    def away(*_values):
        raise OperationalError("password=hunter2")

    monkeypatch.setattr(lifecycle, "claim", away)
    async with ada.talks() as talk:
        error, code = await talk.error()
    assert (error["code"], code) == ("internal", 1011)
    assert "hunter2" not in "".join(talk.raw)


async def test_a_call_does_not_depend_on_redis_being_up(vocero, ada, speech, nowhere, quick_heartbeat):
    layer = RedisPubSubChannelLayer(hosts=[f"redis://127.0.0.1:{nowhere}/0"])
    before = channel_layers.set("default", layer)
    try:
        speech.replies.append(Says("Hello."))
        async with ada.talks() as talk:
            await talk.ready()
            await talk.types("Hello?")
            await talk.shown("response.done")
            await ada.cleans_up()
            assert (await talk.error())[1] == 4410
    finally:
        channel_layers.set("default", before)


async def test_a_cleanup_in_the_same_process_needs_no_heartbeat(vocero, ada, speech, monkeypatch):
    monkeypatch.setattr(relay, "HEARTBEAT", 60.0)
    async with ada.talks() as talk:
        await talk.ready()
        await ada.cleans_up()
        assert (await talk.error())[1] == 4410


@pytest.mark.redis
async def test_a_nudge_over_redis_ends_a_call_before_its_heartbeat(vocero, ada, speech, monkeypatch):
    monkeypatch.setattr(relay, "HEARTBEAT", 60.0)
    layer = RedisPubSubChannelLayer(hosts=[os.environ["VOCERO_TEST_REDIS_URL"]])
    before = channel_layers.set("default", layer)
    try:
        async with ada.talks() as talk:
            await talk.ready()
            await database_sync_to_async(lifecycle.close)(ada.conversation, "operator")

            async def nudged():
                # More than once: the call may not have been listening yet.
                await database_sync_to_async(nudging.nudge)(ada.conversation)
                return talk.ended

            await eventually(nudged)
            assert await talk.closed() == 4410
    finally:
        channel_layers.set("default", before)


# ---- nonsense


def nonsense(dice):
    """A frame that a broken or hostile client might send; now and then a valid one."""
    kinds = ["session.update", "conversation.item.create", "response.create", "response.cancel", "x", None, 7]
    kinds += ["conversation.item.truncate", "conversation.item.retrieve", "vocero.client.played"]
    kinds += ["input_audio_buffer.append", "input_audio_buffer.clear", "input_audio_buffer.commit"]
    values = [None, 7, "x", [], {}, ["x"], {"a": 1}, True, 1e300, "<<<VOCERO_MCP_CALL:", ga.sound(10), -1]
    fields = ["item", "session", "response", "audio", "item_id", "audio_end_ms", "label", "data", "event_id"]
    event = {name: dice.choice(values) for name in dice.sample(fields, dice.randint(0, 4))}
    frame = json.dumps({**event, "type": dice.choice(kinds)})
    return frame if dice.random() < 0.8 else frame[: dice.randint(0, len(frame))]


@pytest.mark.parametrize("seed", range(3))
async def test_random_frames_are_answered_with_errors_and_never_with_a_fault(
    vocero, ada, speech, seed, caplog
):
    dice = random.Random(seed)
    for _ in range(3):
        async with ada.talks() as talk:
            await talk.ready()
            for _ in range(60):
                if not talk.ended:
                    await talk.send_text(nonsense(dice))
            assert await talk.closed() == 4400
            codes = {frame["error"]["code"] for frame in talk.shown_of("error")}
            assert codes <= {"invalid_event", "forbidden_event", "too_many_invalid_events", "no_turn"}
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []
