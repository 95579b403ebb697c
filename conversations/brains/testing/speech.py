"""A speech service for tests: it hears what it is told to hear, and its language model is Vocero itself."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

BYTES_A_MILLISECOND = 48
# As fast as anybody speaks: a text that is cut off is heard up to its share of the sound.
MILLISECONDS_A_LETTER = 40
SPOKEN_MS = 900
BREATH = 0.005
BUSY = "conversation_already_has_active_response"

Chat = Sequence[dict[str, str]]
Think = Callable[[Chat], AsyncIterator[str]]


class ThinkingFailed(Exception):
    """The language model gave no answer."""


@asynccontextmanager
async def speech_service(think: Think) -> AsyncIterator[SpeechService]:
    """One that serves on loopback for as long as the block lasts; `think` streams the words of an answer."""
    service = SpeechService(think)
    async with serve(
        service.talk, "127.0.0.1", 0, compression=None, max_size=None, close_timeout=1
    ) as server:
        service.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/realtime"
        yield service


class SpeechService:
    """It speaks the events of OpenAI Realtime (GA); `hears` is what a caller does with their voice."""

    def __init__(self, think: Think) -> None:
        self.url = ""
        self._think = think
        self._line: Line | None = None

    async def talk(self, connection: ServerConnection) -> None:
        """One connection from its beginning to its end."""
        line = self._line = Line(connection, self._think)
        await line.serve()

    async def hears(self, text: str) -> None:
        """The caller says this, over an answer that is being spoken if there is one."""
        if self._line is None:
            raise ThinkingFailed("nobody called the speech service")
        await self._line.hears(text)


class Line:
    """One session: its instructions, what was said in it, and the answer that is being spoken."""

    def __init__(self, connection: ServerConnection, think: Think) -> None:
        self._connection, self._think = connection, think
        self._numbers = count(1)
        self._instructions = ""
        self._chat: list[dict[str, str]] = []
        self._speaking: asyncio.Task[None] | None = None
        self._hushing = asyncio.Lock()
        self._response = ""

    async def serve(self) -> None:
        reactions = {
            "session.update": self._update,
            "conversation.item.create": self._create_item,
            "conversation.item.truncate": self._truncate,
            "response.create": self._create_response,
            "response.cancel": self._cancel,
        }
        try:
            await self._say("session.created", session={"id": self._new("sess"), "tools": []})
            async for frame in self._connection:
                event = json.loads(frame)
                if (reaction := reactions.get(event["type"])) is not None:
                    await reaction(event)
        except ConnectionClosed:
            pass
        finally:
            await self._stop_speaking()

    async def hears(self, text: str) -> None:
        """An utterance, told as a service tells it, and answered at once."""
        await self._hush("turn_detected")
        item_id = self._new("item")
        await self._say("input_audio_buffer.speech_started", audio_start_ms=0, item_id=item_id)
        # To speak takes longer than to begin: what Vocero was about to ask for has come by now.
        await (await self._connection.ping())
        await asyncio.sleep(BREATH)
        await self._hush("turn_detected")
        await self._say("input_audio_buffer.speech_stopped", audio_end_ms=SPOKEN_MS, item_id=item_id)
        await self._say("input_audio_buffer.committed", previous_item_id=None, item_id=item_id)
        content = [{"type": "input_audio", "transcript": text}]
        await self._add_item({"id": item_id, "type": "message", "role": "user", "content": content})
        heard = "conversation.item.input_audio_transcription.completed"
        await self._say(heard, item_id=item_id, content_index=0, transcript=text)
        self._chat.append({"role": "user", "content": text})
        self._answer(self._instructions, self._chat)

    # ---- what Vocero asks

    async def _update(self, event: dict[str, Any]) -> None:
        session = event["session"]
        self._instructions = session.get("instructions", self._instructions)
        await self._say("session.updated", session=session)

    async def _create_item(self, event: dict[str, Any]) -> None:
        item = {"id": self._new("item"), **event["item"]}
        text = "".join(part.get("text", "") for part in item.get("content", ()))
        if item["type"] == "message" and text:
            self._chat.append({"role": item["role"], "content": text})
        await self._add_item(item)

    async def _truncate(self, event: dict[str, Any]) -> None:
        heard = {name: event[name] for name in ("item_id", "content_index", "audio_end_ms")}
        await self._say("conversation.item.truncated", **heard)

    async def _create_response(self, event: dict[str, Any]) -> None:
        if self._speaking is not None and not self._speaking.done():
            error = {"type": "invalid_request_error", "code": BUSY, "message": "One response at a time."}
            await self._say("error", error={**error, "event_id": event.get("event_id")})
            return
        wished = event.get("response") or {}
        # A response of its own instructions and input is beside the conversation: a line that is to be said.
        self._answer(wished.get("instructions", self._instructions), [] if "input" in wished else self._chat)

    async def _cancel(self, event: dict[str, Any]) -> None:
        if event.get("response_id") in (None, self._response):
            await self._hush("client_cancelled")

    # ---- the answer

    def _answer(self, instructions: str, chat: Chat) -> None:
        self._response = self._new("resp")
        asked = [{"role": "system", "content": instructions}, *chat]
        self._speaking = asyncio.create_task(self._speak(self._response, asked))

    async def _hush(self, reason: str) -> None:
        async with self._hushing:
            if await self._stop_speaking():
                await self._done(self._response, "cancelled", (), {"type": "cancelled", "reason": reason})

    async def _stop_speaking(self) -> bool:
        """Whether an answer was being spoken."""
        speaking, self._speaking = self._speaking, None
        if speaking is None or speaking.done():
            return False
        speaking.cancel()
        await asyncio.wait({speaking})
        return speaking.cancelled()

    async def _speak(self, response_id: str, asked: Chat) -> None:
        item_id, words = self._new("item"), list[str]()
        try:
            await self._say("response.created", response=_response(response_id, "in_progress"))
            async for piece in self._think(asked):
                if not words:
                    await self._begin_message(response_id, item_id)
                words.append(piece)
                await self._sound(response_id, item_id, piece)
        except ThinkingFailed:
            error = {"type": "server_error", "code": "model_unavailable"}
            await self._done(response_id, "failed", (), {"type": "failed", "error": error})
        except ConnectionClosed:
            return
        else:
            output = [await self._end_message(response_id, item_id, "".join(words))] if words else []
            await self._done(response_id, "completed", output)
        finally:
            if words:
                self._chat.append({"role": "assistant", "content": "".join(words)})

    async def _begin_message(self, response_id: str, item_id: str) -> None:
        item = _message(item_id, "", "in_progress")
        await self._say("response.output_item.added", response_id=response_id, output_index=0, item=item)
        await self._say("conversation.item.added", previous_item_id=None, item=item)
        part = {"type": "audio", "transcript": ""}
        await self._say("response.content_part.added", **_place(response_id, item_id), part=part)

    async def _sound(self, response_id: str, item_id: str, piece: str) -> None:
        place = _place(response_id, item_id)
        await self._say("response.output_audio_transcript.delta", **place, delta=piece)
        silence = bytes(len(piece) * MILLISECONDS_A_LETTER * BYTES_A_MILLISECOND)
        await self._say("response.output_audio.delta", **place, delta=base64.b64encode(silence).decode())

    async def _end_message(self, response_id: str, item_id: str, text: str) -> dict[str, Any]:
        place, item = _place(response_id, item_id), _message(item_id, text, "completed")
        await self._say("response.output_audio.done", **place)
        await self._say("response.output_audio_transcript.done", **place, transcript=text)
        part = {"type": "audio", "transcript": text}
        await self._say("response.content_part.done", **place, part=part)
        await self._say("response.output_item.done", response_id=response_id, output_index=0, item=item)
        await self._say("conversation.item.done", previous_item_id=None, item=item)
        return item

    async def _done(self, response_id: str, status: str, output: Sequence[Any], details: Any = None) -> None:
        response = _response(response_id, status) | {"output": list(output), "status_details": details}
        await self._say("response.done", response=response)

    async def _add_item(self, item: dict[str, Any]) -> None:
        for name in ("conversation.item.added", "conversation.item.done"):
            await self._say(name, previous_item_id=None, item=item)

    async def _say(self, kind: str, **fields: Any) -> None:
        await self._connection.send(json.dumps({"type": kind, "event_id": self._new("event"), **fields}))

    def _new(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers)}"


def _place(response_id: str, item_id: str) -> dict[str, Any]:
    return {"response_id": response_id, "item_id": item_id, "output_index": 0, "content_index": 0}


def _response(response_id: str, status: str) -> dict[str, Any]:
    return {"id": response_id, "object": "realtime.response", "status": status, "output": []}


def _message(item_id: str, text: str, status: str) -> dict[str, Any]:
    content = [{"type": "output_audio", "transcript": text}] if text else []
    message = {"id": item_id, "object": "realtime.item", "type": "message", "role": "assistant"}
    return {**message, "status": status, "content": content}
