"""Telling a live call, wherever it runs, to read its row; the truth stays in the row."""

from __future__ import annotations

import asyncio
import uuid

import structlog
from asgiref.sync import async_to_sync
from channels.exceptions import ChannelFull
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

NUDGE = "conversation.nudge"
_LIMIT = 1.0


def group(conversation_id: str | uuid.UUID) -> str:
    """The channel layer's group that a conversation's call listens to."""
    return f"conversation.{conversation_id}"


def nudge(*conversation_ids: str | uuid.UUID) -> None:
    """Tells their calls to read their rows now; their next heartbeats read them anyway."""
    try:
        async_to_sync(_send)([group(each) for each in conversation_ids])
    except (RedisError, OSError, TimeoutError, ChannelFull, RuntimeError) as error:
        told = [str(each) for each in conversation_ids]
        log.warning("nudge.failed", conversation=", ".join(told), error=type(error).__name__)


async def _send(groups: list[str]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        async with asyncio.timeout(_LIMIT):
            for each in groups:
                await layer.group_send(each, {"type": NUDGE})
