"""Telling a running call, wherever it is, to read its row."""

import asyncio
import logging

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from redis.exceptions import ConnectionError as RedisGone

from conversations import lifecycle, nudging
from conversations.identity.refusal import Refused
from conversations.lifecycle import Opening
from conversations.tests.rows import ADA, OWNER, opened


@pytest.fixture
def layer(settings):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    return get_channel_layer()


async def listening(layer, conversation):
    await layer.group_add(nudging.group(conversation.pk), "call")


async def next_message(layer):
    return await asyncio.wait_for(layer.receive("call"), 5)


@pytest.mark.django_db(transaction=True)
async def test_closing_nudges_the_call_after_the_commit(layer):
    conversation = await sync_to_async(opened)(ADA)
    await listening(layer, conversation)
    await sync_to_async(lifecycle.close)(str(conversation.pk), "operator")
    assert await next_message(layer) == {"type": "conversation.nudge"}


@pytest.mark.django_db(transaction=True)
async def test_a_takeover_nudges_the_earlier_call(layer):
    conversation = await sync_to_async(opened)(ADA)
    await sync_to_async(lifecycle.claim)(str(conversation.pk), OWNER)
    await listening(layer, conversation)
    await sync_to_async(lifecycle.claim)(str(conversation.pk), "process-b")
    assert await next_message(layer) == {"type": "conversation.nudge"}


@pytest.mark.django_db
def test_a_close_that_is_rolled_back_nudges_nobody(configure, django_capture_on_commit_callbacks):
    conversation = opened(ADA, cookie="mine")
    configure(max_conversations=0)
    with django_capture_on_commit_callbacks() as callbacks, pytest.raises(Refused):
        lifecycle.open_conversation(Opening(mode="mcp", previous_hash=conversation.browser_hash))
    conversation.refresh_from_db()
    assert (conversation.state, callbacks) == ("open", [])


@pytest.mark.parametrize("error", [RedisGone("down"), ConnectionRefusedError(), TimeoutError()])
def test_a_layer_that_is_down_costs_one_log_line_and_nothing_else(layer, monkeypatch, caplog, error):
    async def fail(self, *args):
        raise error

    monkeypatch.setattr(type(layer), "group_send", fail)
    with caplog.at_level(logging.WARNING):
        nudging.nudge("00000000-0000-4000-8000-000000000000")
    assert len([line for line in caplog.records if "nudge.failed" in line.getMessage()]) == 1


def test_a_layer_that_hangs_is_given_up(layer, monkeypatch, caplog):
    async def hang(self, *args):
        await asyncio.Event().wait()

    monkeypatch.setattr(nudging, "_LIMIT", 0.05)
    monkeypatch.setattr(type(layer), "group_send", hang)
    nudging.nudge("00000000-0000-4000-8000-000000000000")
    assert "nudge.failed" in caplog.text
