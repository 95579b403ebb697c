"""What Vocero adds to a tool turn, to the first sound of an answer, and to being talked over."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Origin

from bench import frames
from bench.processes import free_ports
from bench.report import Effort, Part, spread
from bench.servers import PHONE, Stage, Target, seats_at

TURNS = 60
TOOL = "get_my_briefing"
ADDED_LIMIT, AUDIO_LIMIT, CANCEL_LIMIT = 1.0, 1.0, 5.0
PATIENCE = 20.0
GATED, OPEN = "Vocero", "Vocero, gate off"

ABOUT = """The speech service is played by the bench itself. A turn is timed from the call's last event to
the request for the answer that follows it: the call is checked, its row is committed, the tool runs at the
stand-in for AquaPortal, its result is trimmed, labelled and sent. What is compared is the same call through
the MCP SDK's own client, held open, made in turns with it. First sound is timed from the service's piece of
audio, right after the first piece of the transcript, to the browser; being talked over from
`speech_started` to `response.cancel`. Milliseconds."""


@dataclass(slots=True)
class Speech:
    """The service's side of one session: what is heard of Vocero, in order."""

    socket: ServerConnection
    heard: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)

    async def say(self, *events: bytes | dict[str, Any]) -> None:
        for event in events:
            await self.socket.send(event.decode() if isinstance(event, bytes) else json.dumps(event))

    async def asked(self, kind: str) -> dict[str, Any]:
        """The next event of that kind; those before it are passed over."""
        async with asyncio.timeout(PATIENCE):
            while (event := await self.heard.get())["type"] != kind:
                pass
        return event

    async def listen(self) -> None:
        async for frame in self.socket:
            event = json.loads(frame)
            if event["type"] == "session.update":
                await self.say(frames.updated(event["session"]))
            self.heard.put_nowait(event)


@dataclass(slots=True)
class Call:
    """One browser in one conversation, and the session that Vocero opened for it."""

    browser: ClientConnection
    speech: Speech
    number: int = 0

    async def asks(self) -> None:
        """The caller types a question, and Vocero asks for the answer to it."""
        content = [{"type": "input_text", "text": "And now?"}]
        item = {"type": "message", "role": "user", "content": content}
        await self.browser.send(json.dumps({"type": "conversation.item.create", "item": item}))
        await self.browser.send(json.dumps({"type": "response.create"}))
        created = (await self.speech.asked("conversation.item.create"))["item"]
        await self.speech.say({"type": "conversation.item.added", "item": created})
        await self.speech.asked("response.create")
        self.number += 1

    async def sees(self, kind: str) -> None:
        """Waits until the browser is shown an event of that kind."""
        async with asyncio.timeout(PATIENCE):
            while json.loads(await self.browser.recv())["type"] != kind:
                pass

    async def turn(self) -> float:
        """Milliseconds of one tool turn."""
        await self.asks()
        number, speech = self.number, self.speech
        item = {
            "id": f"call_item_{number}",
            "type": "function_call",
            "call_id": f"call_{number}",
            "name": TOOL,
        }
        place = {"response_id": f"resp_{number:09}", "output_index": 0}
        await speech.say(
            frames.opening(number)[0],
            {"type": "response.output_item.added", **place, "item": {**item, "arguments": ""}},
        )
        told = {"item_id": item["id"], "call_id": item["call_id"], "name": TOOL, "arguments": "{}"}
        began = time.monotonic()
        await speech.say(
            {"type": "response.function_call_arguments.done", **place, **told},
            {"type": "response.output_item.done", **place, "item": {**item, "arguments": "{}"}},
            {
                "type": "response.done",
                "response": {
                    "id": place["response_id"],
                    "status": "completed",
                    "output": [{**item, "arguments": "{}"}],
                },
            },
        )
        output = await speech.asked("conversation.item.create")
        if (await speech.asked("response.create")) and "error" in output["item"]["output"][:12]:
            raise RuntimeError(output["item"]["output"])
        spent = (time.monotonic() - began) * 1e3
        await speech.say({"type": "conversation.item.added", "item": output["item"]})
        self.number += 1
        await self._answers()
        await self.sees("response.done")
        return spent

    async def first_sound(self) -> float:
        """Milliseconds from the service's first sound to the browser's."""
        await self.asks()
        await self.speech.say(*frames.opening(self.number))
        await self.sees("response.output_audio_transcript.delta")
        began = time.monotonic()
        await self.speech.say(frames.answered(frames.LOADS[1], self.number))
        await self.sees("response.output_audio.delta")
        spent = (time.monotonic() - began) * 1e3
        await self.speech.say(*frames.ending(self.number, "Well, "))
        await self.sees("response.done")
        return spent

    async def talked_over(self) -> float:
        """Milliseconds from speech that begins to the cancel of what is being said."""
        await self.asks()
        await self.speech.say(*frames.opening(self.number), frames.answered(frames.LOADS[1], self.number))
        await self.sees("response.output_audio.delta")
        began = time.monotonic()
        item_id = f"spoken_{self.number}"
        await self.speech.say(
            {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": item_id}
        )
        await self.speech.asked("response.cancel")
        spent = (time.monotonic() - began) * 1e3
        over = {"id": f"resp_{self.number:09}", "status": "cancelled", "output": []}
        await self.speech.say(
            {"type": "response.done", "response": over},
            {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 100, "item_id": item_id},
            {
                "type": "conversation.item.input_audio_transcription.completed",
                "item_id": item_id,
                "content_index": 0,
                "transcript": "",
            },
        )
        return spent

    async def _answers(self) -> None:
        text = "Well, "
        await self.speech.say(*frames.opening(self.number), *frames.ending(self.number, text))


def measure(effort: Effort, built: Stage) -> Part:
    """Tool turns, first sounds and interruptions."""
    return asyncio.run(_measure(built, effort.count(TURNS)))


async def _measure(built: Stage, turns: int) -> Part:
    part, port = Part("Tool turn and first sound", ABOUT), free_ports(1)[0]
    sessions: asyncio.Queue[Speech] = asyncio.Queue()

    async def session(socket: ServerConnection) -> None:
        speech = Speech(socket)
        await speech.say(frames.created())
        sessions.put_nowait(speech)
        await speech.listen()

    url = f"ws://127.0.0.1:{port}/v1/realtime"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serve(session, "127.0.0.1", port, compression=None))
        gated = await asyncio.to_thread(built.vocero, GATED, S2S_SPEECH_URL=url)
        opened = await asyncio.to_thread(built.vocero, OPEN, S2S_SPEECH_URL=url, S2S_MCP_URL="")
        bare = await stack.enter_async_context(bare_client(built.portal))
        # A call each: one caller may not ask so often.
        async with calling(gated, sessions) as call:
            await _tell_turns(part, call, bare, turns)
        async with calling(gated, sessions) as call, calling(opened, sessions) as plain:
            await _tell_sound(part, call, plain, turns)
        async with calling(gated, sessions) as call:
            over = [await call.talked_over() for _ in range(turns)]
        met = median(over) <= CANCEL_LIMIT
        part.add(
            "Talked over: the cancel is on the wire",
            spread(over, "ms", 2),
            "",
            f"≤ {CANCEL_LIMIT:.0f} ms",
            met,
        )
    return part


async def _tell_turns(part: Part, call: Call, bare: Client, turns: int) -> None:
    await call.turn()
    await bare.call_tool(TOOL, {})
    whole, alone = [], []
    for _ in range(turns):
        whole.append(await call.turn())
        began = time.monotonic()
        await bare.call_tool(TOOL, {})
        alone.append((time.monotonic() - began) * 1e3)
    added = median(whole) - median(alone)
    compared = f"{added:+.2f} ms over a held MCP client's call, {spread(alone, 'ms', 2)}"
    part.add(
        "Tool turn, last event of the call to response.create",
        spread(whole, "ms", 2),
        compared,
        f"≤ +{ADDED_LIMIT:.0f} ms",
        added <= ADDED_LIMIT,
    )


async def _tell_sound(part: Part, call: Call, plain: Call, turns: int) -> None:
    gated, ungated = [], []
    for _ in range(turns):
        gated.append(await call.first_sound())
        ungated.append(await plain.first_sound())
    added = median(gated) - median(ungated)
    compared = f"{added:+.2f} ms over the gate switched off, {spread(ungated, 'ms', 2)}"
    part.add(
        "First sound, from the service to the browser",
        spread(gated, "ms", 2),
        compared,
        f"≤ +{AUDIO_LIMIT:.0f} ms",
        added <= AUDIO_LIMIT,
    )


@asynccontextmanager
async def calling(target: Target, sessions: asyncio.Queue[Speech]) -> AsyncIterator[Call]:
    """A call at this server, once it is ready."""
    seat = (await asyncio.to_thread(seats_at, target, 1))[0]
    headers = {name: value for name, value in seat.items() if name not in ("query", "Origin")}
    address = f"{target.url}?{seat['query']}"
    async with connect(
        address, additional_headers=headers, origin=Origin(seat["Origin"]), compression=None, proxy=None
    ) as browser:
        call = Call(browser, await sessions.get())
        await call.sees("session.created")
        yield call


@asynccontextmanager
async def bare_client(portal: int) -> AsyncIterator[Client]:
    """The MCP SDK's own client, open, as the same caller."""
    address = f"http://127.0.0.1:{portal}"
    async with httpx2.AsyncClient(trust_env=False) as http:
        token = (await http.post(f"{address}/login", json={"phone": PHONE})).json()["sessionToken"]
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
    ):
        await client.list_tools()
        yield client
