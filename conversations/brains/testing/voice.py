"""A voice call: a client at the realtime socket, before a speech service whose model is Vocero's brain."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

from conversations.brains.testing import speech
from conversations.brains.testing.application import App, Socket, asked
from conversations.brains.testing.speech import SpeechService, ThinkingFailed
from conversations.brains.testing.stage import Stage
from conversations.brains.testing.turns import Turn

WORDS = "response.output_audio_transcript.delta"
SOUND = "response.output_audio.delta"
COMPLETIONS = "/v1/chat/completions"


class VoiceCall:
    """One live call; what its client is shown goes to the stage, and every sound counts as played at once."""

    def __init__(self, app: App, stage: Stage, service_key: str) -> None:
        self._app, self._stage, self._service_key = app, stage, service_key
        self._open = AsyncExitStack()
        self._service: SpeechService | None = None
        self._socket: Socket | None = None
        self._watching: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._coming: list[Turn] = []
        self._played: dict[str, float] = {}

    async def prepare(self) -> str:
        """Starts the speech service; its address."""
        self._service = await self._open.enter_async_context(speech.speech_service(self._think))
        return self._service.url

    async def connect(self, secret: str) -> None:
        """Connects the client; returns once the caller may speak."""
        headers = {"authorization": f"Bearer {secret}"}
        self._socket = Socket(self._app, "/v1/realtime", "events=vocero", headers)
        self._watching = asyncio.create_task(self._watch(self._socket))
        await self._ready.wait()

    async def say(self, turn: Turn) -> None:
        """The caller says it, over whatever is being said to them."""
        self._coming.append(turn)
        await self._spoken().hears(turn.said)

    async def shown(self, turn: Turn) -> None:
        """Nothing: what a turn says is shown before it ends."""

    async def hush(self, turn: Turn) -> None:
        """Nothing: who speaks interrupts."""

    async def message(self, kind: str, data: Any) -> None:
        """Sends an RTVI client message."""
        if self._socket is not None:
            self._socket.send(client_message(kind, data))

    async def close(self) -> None:
        if self._socket is not None and self._watching is not None:
            await self._socket.leave()
            await asyncio.wait({self._watching})
        await self._open.aclose()

    # ---- what the client is shown

    async def _watch(self, socket: Socket) -> None:
        try:
            async for frame in socket.frames():
                self._show(socket, frame)
        finally:
            self._ready.set()
            self._stage.over(f"the call was closed with {socket.code}")

    def _show(self, socket: Socket, frame: dict[str, Any]) -> None:
        kind = frame["type"]
        if kind == "session.created":
            self._ready.set()
        elif kind == "input_audio_buffer.speech_started" and self._coming:
            self._stage.begin(self._coming.pop(0))
        elif kind == WORDS:
            self._stage.say(frame["delta"])
        elif kind == SOUND:
            item_id, sound = frame["item_id"], len(frame["delta"]) * 3 / 4
            self._played[item_id] = self._played.get(item_id, 0.0) + sound / speech.BYTES_A_MILLISECOND
            heard = {"item_id": item_id, "content_index": 0, "played_ms": int(self._played[item_id])}
            socket.send({"type": "vocero.client.played", **heard})
        else:
            self._stage.show(frame)

    # ---- the speech service's model

    async def _think(self, chat: speech.Chat) -> AsyncIterator[str]:
        headers = {"authorization": f"Bearer {self._service_key}", "accept": "text/event-stream"}
        body = {"model": "vocero", "stream": True, "messages": list(chat)}
        async with asked(self._app, "POST", COMPLETIONS, headers, body) as answer:
            if answer.status != 200:
                raise ThinkingFailed(f"{COMPLETIONS} answered {answer.status}")
            async for event in answer.events():
                if "error" in event:
                    raise ThinkingFailed(COMPLETIONS)
                for choice in event.get("choices", ()):
                    if text := choice.get("delta", {}).get("content"):
                        yield text

    def _spoken(self) -> SpeechService:
        if self._service is None:
            raise RuntimeError("the driver is not open: use `async with`")
        return self._service


def client_message(kind: str, data: Any) -> dict[str, Any]:
    """A message of the app's in RTVI's envelope."""
    envelope = {"label": "rtvi-ai", "type": "client-message", "id": str(uuid.uuid4())}
    return {**envelope, "data": {"t": kind, "d": data}}
