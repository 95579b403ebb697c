"""The live calls of this process: which socket sits in which, until the process stops."""

from __future__ import annotations

import asyncio
import weakref
from functools import partial

from conversations.realtime import endings
from conversations.realtime.endings import Ending
from conversations.realtime.relay import Relay, Seat

STOP_LIMIT = 8.0

_calls: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[asyncio.Task[None], Relay]]
_calls = weakref.WeakKeyDictionary()
_stopping: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()


async def join(conversation_id: str, seat: Seat) -> Relay | Ending:
    """The conversation's call with this socket in it: the one that runs here, else a new one.

    An Ending where the conversation is not open any more, the socket left meanwhile, or the process ends.
    """
    if asyncio.get_running_loop() in _stopping:
        return endings.RESTARTING
    for relay in [one for one in _here().values() if one.conversation_id == conversation_id]:
        if await relay.may_go_on():
            if seat.over:
                return endings.LEFT
            relay.take(seat)
            return relay
    relay = Relay(conversation_id)
    refused = await relay.claim()
    if refused is not None:
        return refused
    relay.take(seat)
    task = asyncio.create_task(relay.run())
    _here()[task] = relay
    task.add_done_callback(partial(_over, _here()))
    return relay


def find(conversation_id: str) -> Relay | None:
    """The conversation's newest call in this process, where it has one."""
    found = [relay for relay in _here().values() if relay.conversation_id == conversation_id]
    return found[-1] if found else None


def count() -> int:
    """How many calls this process has, held ones too, whatever loop asks."""
    return sum(len(here) for here in list(_calls.values()))


async def stop() -> None:
    """This process ends: every call, held ones too, closes its rows, and every socket is told."""
    _stopping.add(asyncio.get_running_loop())
    here = dict(_here())
    for relay in here.values():
        relay.end(endings.RESTARTING)
    if here:
        await asyncio.wait(here, timeout=STOP_LIMIT)


def draining() -> bool:
    """Whether this process ends, so that nothing new belongs here; to be asked from any thread."""
    return any(not loop.is_closed() for loop in list(_stopping))


def _here() -> dict[asyncio.Task[None], Relay]:
    return _calls.setdefault(asyncio.get_running_loop(), {})


def _over(here: dict[asyncio.Task[None], Relay], task: asyncio.Task[None]) -> None:
    del here[task]
