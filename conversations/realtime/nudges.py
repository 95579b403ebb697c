"""Nudges from whoever changed a conversation's row, in whatever process: its call then reads it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from channels.layers import BaseChannelLayer, get_channel_layer
from redis.exceptions import RedisError

from conversations import nudging

log = structlog.get_logger(__name__)

_LEAVE_LIMIT = 1.0


Message = Mapping[str, Any]


async def listen(
    conversation_id: str,
    on_nudge: Callable[[], None],
    on_message: Callable[[Message], None] = lambda _message: None,
) -> None:
    """Calls `on_nudge` for each nudge and `on_message` for what else is sent, until it is cancelled.

    It ends where no nudge can come: the call's next heartbeat learns the same.
    """
    layer = get_channel_layer()
    if layer is None:
        return
    group = nudging.group(conversation_id)
    joining, listened = asyncio.create_task(_join(layer, group)), False
    try:
        # Never cut short: a Redis client may swallow a cancellation, or leave a channel that nobody reads.
        channel = await asyncio.shield(joining)
        listened = True
        while True:
            message = await layer.receive(channel)
            if message["type"] == nudging.NUDGE:
                on_nudge()
            else:
                on_message(message)
    except (RedisError, OSError) as error:
        log.warning("nudges.unavailable", error=type(error).__name__)
    finally:
        await _leave(layer, group, joining, listened)


async def _join(layer: BaseChannelLayer, group: str) -> str:
    channel: str = await layer.new_channel()
    await layer.group_add(group, channel)
    return channel


async def _leave(layer: BaseChannelLayer, group: str, joining: asyncio.Task[str], listened: bool) -> None:
    try:
        async with asyncio.timeout(_LEAVE_LIMIT):
            channel = await joining
            await layer.group_discard(group, channel)
            if not listened:
                await _forget(layer, channel)
    except (RedisError, OSError):
        log.debug("nudges.left_behind")


async def _forget(layer: BaseChannelLayer, channel: str) -> None:
    """A layer forgets a channel when its receiver is cancelled while it waits, and only then."""
    while True:
        receiving = asyncio.create_task(layer.receive(channel))
        await asyncio.sleep(0)
        receiving.cancel()
        await asyncio.wait({receiving})
        if receiving.cancelled():
            return
