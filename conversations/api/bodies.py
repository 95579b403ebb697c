"""Bodies are bounded before Django spools them to the disk."""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from conversations.api import problems
from conversations.api.problems import Problem

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]


def bounded(app: App, limit: int) -> App:
    """The application, never given more than `limit` bytes of one request's body."""

    async def guarded(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
        elif _declared(scope) > limit:
            await _refuse(send)
        else:
            body = _Body(receive, send, limit)
            await app(scope, body.receive, body.send)
            if body.over and not body.answered:
                await _refuse(send)

    return guarded


class _Body:
    """Counts what comes in; over the limit it plays a client that went away, so that nothing is kept."""

    def __init__(self, receive: Receive, send: Send, limit: int) -> None:
        self._receive, self._send, self._left = receive, send, limit
        self.over = False
        self.answered = False

    async def receive(self) -> Message:
        message = {"type": "http.disconnect"} if self.over else await self._receive()
        self._left -= len(message.get("body", b""))
        self.over = self._left < 0
        return {"type": "http.disconnect"} if self.over else message

    async def send(self, message: Message) -> None:
        self.answered = True
        await self._send(message)


def _declared(scope: Any) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0


async def _refuse(send: Send) -> None:
    body = json.dumps(problems.body(Problem("too_large"), 413, uuid.uuid4().hex)).encode()
    headers = [(b"content-type", problems.MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    # What follows on this connection would be the rest of the body.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
