"""The application as a client meets it, in this process and without a port: HTTP that streams, sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

App = Callable[[Any, Any, Any], Awaitable[None]]
Message = MutableMapping[str, Any]

# A name that every Django lets in while it is tested.
HOST = "testserver"
LEAVE_LIMIT = 10.0
_PEER = ("127.0.0.1", 0)


class Gone(Exception):
    """The other side ended what was still being waited for."""


class Answer:
    """An HTTP answer while it comes: `status`, `headers`, and then its body line by line."""

    def __init__(self, body: bytes) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._body = body
        self._asked = False
        self._left = asyncio.Event()
        self._began = asyncio.Event()
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def lines(self) -> AsyncIterator[str]:
        """Each line of the body as soon as it is whole, until the answer ends or is left."""
        rest = b""
        while (chunk := await self._chunks.get()) is not None:
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line.decode()
        if rest:
            yield rest.decode()

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """The JSON objects of a `text/event-stream`, without the `[DONE]` that may end it."""
        async for line in self.lines():
            kind, _, data = line.partition(":")
            if kind == "data" and data.strip() != "[DONE]":
                yield json.loads(data)

    async def json(self) -> Any:
        """The whole body."""
        return json.loads("\n".join([line async for line in self.lines()]) or "null")

    def leave(self) -> None:
        """The client goes away: the application is told, and nothing more comes."""
        self._left.set()
        self._chunks.put_nowait(None)

    async def begun(self) -> None:
        """Once there is a status. Raises Gone where there is none."""
        await self._began.wait()
        if not self.status:
            raise Gone("the application gave no answer")

    def over(self) -> None:
        """The application has ended."""
        self._began.set()
        self._chunks.put_nowait(None)

    async def receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            self.status = message["status"]
            self._began.set()
        elif message["type"] == "http.response.body":
            self._chunks.put_nowait(message.get("body", b""))
            if not message.get("more_body"):
                self._chunks.put_nowait(None)


@asynccontextmanager
async def asked(
    app: App, method: str, path: str, headers: Mapping[str, str], body: Any = None
) -> AsyncIterator[Answer]:
    """Sends a request with a JSON body; its answer. Whoever leaves the block early has gone away."""
    data = b"" if body is None else json.dumps(body).encode()
    sent = {"content-type": "application/json", "content-length": str(len(data)), **headers}
    answer = Answer(data)
    task = asyncio.ensure_future(
        app(_scope("http", path, sent) | {"method": method}, answer.receive, answer.send)
    )
    task.add_done_callback(lambda _task: answer.over())
    try:
        await answer.begun()
        yield answer
    finally:
        answer.leave()
        await ended(task)


class Socket:
    """A WebSocket at the application: `frames` until it is closed, then `code`."""

    def __init__(self, app: App, path: str, query: str, headers: Mapping[str, str]) -> None:
        self.code = 0
        self._in: asyncio.Queue[Message] = asyncio.Queue()
        self._out: asyncio.Queue[str | None] = asyncio.Queue()
        self._in.put_nowait({"type": "websocket.connect"})
        scope = _scope("websocket", path, headers) | {"query_string": query.encode(), "subprotocols": []}
        self._task = asyncio.ensure_future(app(scope, self._in.get, self._take))
        self._task.add_done_callback(lambda _task: self._out.put_nowait(None))

    def send(self, event: Mapping[str, Any]) -> None:
        """Sends an event; never waits."""
        self._in.put_nowait({"type": "websocket.receive", "text": json.dumps(event)})

    async def frames(self) -> AsyncIterator[dict[str, Any]]:
        """What the application sends, until it closes the socket."""
        while (frame := await self._out.get()) is not None:
            yield json.loads(frame)

    async def leave(self) -> None:
        """The client closes the socket, and waits for what the application still does about it."""
        self._in.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await ended(self._task)

    async def _take(self, message: Message) -> None:
        if message["type"] == "websocket.send":
            self._out.put_nowait(message["text"])
        elif message["type"] == "websocket.close":
            self.code = message.get("code", 1000)
            self._out.put_nowait(None)


async def ended(task: asyncio.Future[None]) -> None:
    """Once the application has ended; one that does not is cut off."""
    await asyncio.wait({task}, timeout=LEAVE_LIMIT)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


def _scope(kind: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    named = {"host": HOST, **headers}
    return {
        "type": kind,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http" if kind == "http" else "ws",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in named.items()],
        "client": _PEER,
        "server": (HOST, 80),
    }
