"""A speech service's request in another process than the call's: asked, answered and given up by messages.

The call's process answers on a channel of the one who asks. Where nothing lies between processes, there is
only this one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import structlog
from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer, get_channel_layer
from redis.exceptions import RedisError

from conversations import nudging
from conversations.brains import voice
from conversations.brains.answering import LIMIT
from conversations.brains.tickets import Ticket
from conversations.brains.voice import NobodyAsks
from conversations.realtime.brainside import BrainSide

log = structlog.get_logger(__name__)

ASK, GIVE_UP, TOLD = "brain.ask", "brain.give_up", "brain.told"
FOUND_LIMIT = 3.0
AWAY = (RedisError, OSError, ChannelFull)


async def ask(ticket: Ticket, words: str, line: str) -> AsyncGenerator[str, None]:
    """The same as VoiceBrain.ask, of a call that another process holds; with a `line` that is said instead.

    Raises NobodyAsks where no process holds that session.
    """
    layer = get_channel_layer()
    if layer is None or isinstance(layer, InMemoryChannelLayer):
        raise NobodyAsks
    group = nudging.group(ticket.conversation_id)
    try:
        mine = await layer.new_channel()
        wanted = {"type": ASK, "reply": mine, "session": ticket.session_id, "words": words, "line": line}
        await layer.group_send(group, wanted)
        async with asyncio.timeout(FOUND_LIMIT):
            begun = await layer.receive(mine)
    except (*AWAY, TimeoutError) as error:
        raise NobodyAsks from error
    if begun["over"]:
        raise NobodyAsks
    return _pieces(layer, group, mine)


async def _pieces(layer: Any, group: str, mine: str) -> AsyncGenerator[str, None]:
    try:
        while True:
            async with asyncio.timeout(LIMIT):
                told = await layer.receive(mine)
            if told["text"]:
                yield told["text"]
            if told["over"]:
                return
    except (*AWAY, TimeoutError) as error:
        log.warning("brain.answer_lost", error=type(error).__name__)
    finally:
        try:
            await layer.group_send(group, {"type": GIVE_UP, "reply": mine})
        except AWAY as error:
            log.warning("brain.not_given_up", error=type(error).__name__)


def heed(call: BrainSide, message: Mapping[str, Any]) -> None:
    """A message to the call, which this process holds."""
    reply = message["reply"]
    if message["type"] == GIVE_UP and reply in call.asked:
        call.asked[reply].cancel()
    if message["type"] == ASK and call.holds(message["session"]):
        task = call.asked[reply] = asyncio.create_task(_answer(call, message))
        task.add_done_callback(lambda _task: call.asked.pop(reply, None))


async def _answer(call: BrainSide, message: Mapping[str, Any]) -> None:
    layer, reply = get_channel_layer(), message["reply"]

    async def tell(text: str, over: bool = False) -> None:
        await layer.send(reply, {"type": TOLD, "text": text, "over": over})

    try:
        pieces = (
            _said(message["line"])
            if message["line"]
            else await voice.of(call).ask(message["session"], message["words"])
        )
        async with aclosing(pieces):
            await tell("")
            async for piece in pieces:
                await tell(piece)
    except NobodyAsks:
        log.info("brain.session_over", conversation=call.conversation_id)
    except AWAY as error:
        log.warning("brain.unheard", conversation=call.conversation_id, error=type(error).__name__)
        return
    await tell("", over=True)


async def _said(line: str) -> AsyncGenerator[str, None]:
    yield line
