"""Nudges from whoever changed a conversation's row, in whatever process: its call then reads it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog
from channels.layers import BaseChannelLayer, get_channel_layer
from redis.exceptions import RedisError

from conversations import lifecycle

log = structlog.get_logger(__name__)

_LEAVE_LIMIT = 1.0


async def listen(conversation_id: str, on_nudge: Callable[[], None]) -> None:
    """Calls `on_nudge` for each nudge, until it is cancelled.

    It ends where no nudge can come: the call's next heartbeat learns the same.
    """
    layer = get_channel_layer()
    if layer is None:
        return
    group = lifecycle.group(conversation_id)
    try:
        channel = await layer.new_channel()
        try:
            await layer.group_add(group, channel)
            while True:
                await layer.receive(channel)
                on_nudge()
        finally:
            await _leave(layer, group, channel)
    except (RedisError, OSError) as error:
        log.warning("nudges.unavailable", error=type(error).__name__)


async def _leave(layer: BaseChannelLayer, group: str, channel: str) -> None:
    try:
        async with asyncio.timeout(_LEAVE_LIMIT):
            await layer.group_discard(group, channel)
    except (RedisError, OSError):
        log.debug("nudges.left_behind")
