"""Vocero's sockets, outboxes and flow control with nothing between them: frames go through unread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import django
from django.conf import settings

django.setup()

from conversations.realtime.browser import Browser  # noqa: E402  (the settings come first)
from conversations.realtime.connection import SpeechUnavailable, dial  # noqa: E402
from conversations.realtime.outbox import Outbox  # noqa: E402
from conversations.realtime.upstream import TO_SERVICE  # noqa: E402
from vocero import frames  # noqa: E402
from vocero.uvicorn_sockets import shortened  # noqa: E402

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def relay(scope: Any, receive: Receive, send: Send) -> None:
    """One call, until one side of it is gone."""
    await receive()
    await send({"type": "websocket.accept"})
    connection = await dial(settings.VOCERO.speech_url, "", "")
    outbox, direct = Outbox(TO_SERVICE, connection.offer), frames.of(scope)
    assert direct is not None
    browser = Browser(
        lambda frame: send({"type": "websocket.send", "text": frame}),
        lambda: None,
        lambda: None,
        direct.offer,
    )
    direct.listen(lambda frame: _pass_on(outbox, frame))
    tasks = {
        asyncio.create_task(outbox.drain(connection.send)),
        asyncio.create_task(connection.read(browser.sound)),
        asyncio.create_task(browser.serve()),
        asyncio.create_task(_hear(receive, outbox)),
    }
    _, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await connection.close()


async def _hear(receive: Receive, outbox: Outbox) -> None:
    while (message := await receive())["type"] == "websocket.receive":
        _pass_on(outbox, message["text"])


def _pass_on(outbox: Outbox, frame: str) -> None:
    if not outbox.put(frame, is_audio=True):
        raise SpeechUnavailable("not read")


application = shortened(relay)
