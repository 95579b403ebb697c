"""One typed turn with a tool, as a caller's browser does it, and how long each hop took."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from channels.db import database_sync_to_async
from django.conf import settings
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from conversations.doctor.asking import since
from conversations.doctor.findings import FAILED, OK, Finding
from conversations.identity import binding, links

PATIENCE = 60.0
CSRF = "d" * 32
_WORDS = frozenset({"response.output_audio_transcript.delta", "response.output_text.delta"})


class TurnFailed(Exception):
    """The turn did not get to its end: a sentence, and the mend."""

    def __init__(self, said: str, mend: str) -> None:
        super().__init__(said)
        self.said, self.mend = said, mend


@dataclass(frozen=True, slots=True)
class Place:
    """Where Vocero answers: `address` is `host:port` to connect to, `origin` how its pages are called."""

    address: str
    origin: str

    @property
    def host(self) -> str:
        return urlsplit(self.origin).netloc

    @property
    def secure(self) -> bool:
        return self.origin.startswith("https://")


@dataclass(slots=True)
class Hops:
    """The findings so far; `done` adds one that ends now."""

    found: list[Finding] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def done(self, name: str, said: str) -> None:
        """The hop that began where the one before ended."""
        self.found.append(Finding(name, OK, said, ms=since(self.began)))
        self.began = time.monotonic()

    def split(self, name: str, said: str, ms: int) -> None:
        """A part of a hop whose length somebody else measured."""
        self.found.append(Finding(name, OK, said, ms=ms))


async def take_turn(place: Place, phone: str, question: str) -> Sequence[Finding]:
    """Every hop, the failed one last; the conversation is closed again, whatever happens."""
    hops = Hops()
    try:
        async with asyncio.timeout(PATIENCE), _client(place) as http:
            conversation = await _bootstrap(http, phone)
            hops.done("bootstrap", "logged in, and a conversation was opened")
            try:
                await _talk(place, http, conversation, question, hops)
            finally:
                await http.delete(f"/api/conversations/{conversation}")
            hops.done("cleanup", "the conversation was closed")
    except TurnFailed as failure:
        hops.found.append(Finding("turn", FAILED, failure.said, failure.mend, since(hops.began)))
    except TimeoutError:
        last = hops.found[-1].name if hops.found else "nothing"
        mend = "The admin shows the conversation, the log its lines."
        hops.found.append(Finding("turn", FAILED, f"went no further than: {last}", mend, since(hops.began)))
    except (httpx2.HTTPError, OSError, WebSocketException) as error:
        mend = "Is the server running, and is its host in ALLOWED_HOSTS?"
        said = f"the server cannot be reached ({type(error).__name__})"
        hops.found.append(Finding("turn", FAILED, said, mend, since(hops.began)))
    return hops.found


def _client(place: Place) -> httpx2.AsyncClient:
    scheme = "https" if place.secure else "http"
    headers = {
        "Host": place.host,
        "Origin": place.origin,
        "Referer": f"{place.origin}/",
        "X-CSRFToken": CSRF,
        "Cookie": f"{settings.CSRF_COOKIE_NAME}={CSRF}",
    }
    base = f"{scheme}://{place.address}"
    return httpx2.AsyncClient(base_url=base, headers=headers, trust_env=False, timeout=PATIENCE)


async def _bootstrap(http: httpx2.AsyncClient, phone: str) -> str:
    """A signed link that works once, as a caller gets one; the selector of demonstrations is not needed."""
    issued = await database_sync_to_async(links.issue)(phone, made_by="doctor")
    link = parse_qs(urlsplit(issued.address).query)["link"][0]
    answer = await http.post("/api/conversations", json={"link": link})
    if answer.status_code != httpx2.codes.CREATED:
        told = _told(answer)
        mend = "The log has the line request.refused; `doctor` without --turn asks the login itself."
        raise TurnFailed(f"bootstrap was refused: {answer.status_code} {told}", mend)
    cookie = answer.cookies.get(binding.COOKIE) or ""
    http.headers["Cookie"] = f"{http.headers['Cookie']}; {binding.COOKIE}={cookie}"
    return str(answer.json()["id"])


async def _talk(place: Place, http: httpx2.AsyncClient, conversation: str, question: str, hops: Hops) -> None:
    async with _socket(place, http.headers["Cookie"], conversation) as socket:
        hops.done("socket", "the WebSocket is open")
        events = _events(socket)
        ready = await _next(events, "vocero.conversation.ready")
        count = ready["tools"]["count"]
        hops.done("session", f"the speech service is ready; {count} tools are offered")
        content = [{"type": "input_text", "text": question}]
        item = {"type": "message", "role": "user", "content": content}
        await socket.send(json.dumps({"type": "conversation.item.create", "item": item}))
        await socket.send(json.dumps({"type": "response.create"}))
        started = await _next(events, "vocero.tool.started")
        hops.done("selection", f"the model picked {started['name']}")
        ended = await _next(events, "vocero.tool.completed")
        waited, worked = since(hops.began), int(ended["duration_ms"])
        hops.split("tool request", "its row was written, and it left", max(waited - worked, 0))
        hops.split("result", f"{ended['name']} answered", worked)
        hops.began = time.monotonic()
        await _next(events, *_WORDS)
        hops.done("answer", "its first words came")
        await _next(events, "response.done")
        hops.done("end", "the answer is complete")


@asynccontextmanager
async def _socket(place: Place, cookie: str, conversation: str) -> AsyncIterator[ClientConnection]:
    scheme = "wss" if place.secure else "ws"
    host, _, port = place.address.rpartition(":")
    url = f"{scheme}://{place.host}/v1/realtime?conversation={conversation}"
    headers = {"Cookie": cookie}
    async with connect(
        url,
        host=host,
        port=int(port),
        origin=place.origin,  # type: ignore[arg-type]
        additional_headers=headers,
        compression=None,
        proxy=None,
        max_size=None,
    ) as socket:
        yield socket


async def _events(socket: ClientConnection) -> AsyncIterator[Mapping[str, Any]]:
    async for frame in socket:
        yield json.loads(frame)
    code = socket.close_code
    raise TurnFailed(f"the socket was closed ({code})", "docs: the table of close codes says what it means.")


async def _next(events: AsyncIterator[Mapping[str, Any]], *kinds: str) -> Mapping[str, Any]:
    """The next event of one of these kinds; what ends the turn before it is a failure."""
    async for event in events:
        kind = event.get("type")
        if kind in kinds:
            return event
        _object(event, kinds)
    raise TurnFailed("the socket was closed", "The log says why.")


def _object(event: Mapping[str, Any], kinds: Sequence[str]) -> None:
    kind = event.get("type")
    if kind == "error":
        error = event.get("error") or {}
        mend = f"Search the admin for {error['ref']}." if error.get("ref") else "The log says more."
        raise TurnFailed(f"error {error.get('code')}: {error.get('message')}", mend)
    if kind == "vocero.tool.failed":
        mend = f"Search the admin for {event.get('ref')}."
        raise TurnFailed(f"the tool failed: {event.get('code')}", mend)
    if kind == "vocero.speech.lost":
        raise TurnFailed("the speech service was lost", "`doctor` without --turn reaches it once.")
    if event.get("command") == "open_confirm" or (event.get("data") or {}).get("command") == "open_confirm":
        raise TurnFailed("the tool waits for a tap", "Ask with --question for another one.")
    if kind == "response.done" and "vocero.tool.started" in kinds:
        raise TurnFailed("the model answered without a tool", "Ask for something it must look up.")


def _told(answer: httpx2.Response) -> str:
    try:
        problem = answer.json()
    except ValueError:
        return ""
    return f"{problem.get('code', '')}: {problem.get('detail', '')}" if isinstance(problem, dict) else ""
