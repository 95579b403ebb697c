"""A speech service whose language model is Vocero: what it is told, and how it asks for answers."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2

from conversations.tests import speech_events as ga
from conversations.tests.brain_kit import ScriptedBrain
from vocero.services import Reasoning

KEY = "key-of-the-speech-service"
PATIENCE = 60.0


def thinking(brain_class, *answers):
    """The settings of a deployment whose brain is of this class, answers like this, and thinks for calls."""
    brain_class.answers = [list(answer) for answer in answers]
    ScriptedBrain.made = []
    path = f"{brain_class.__module__}.{brain_class.__qualname__}"
    return Reasoning(brain=path, as_llm=True, service_keys=("another-key", KEY))


def instructions(line):
    """What the service's session was told last."""
    return line.sent_of("session.update")[-1]["session"]["instructions"]


def ticket(line):
    """The last line of that."""
    return instructions(line).rpartition("\n")[2]


def body(system, *said, **more):
    """A request for an answer to what was said last; caller and assistant take turns."""
    roles = ("user", "assistant")
    turns = [{"role": roles[number % 2], "content": text} for number, text in enumerate(said)]
    return {"model": "vocero", "messages": [{"role": "system", "content": system}, *turns], **more}


async def post(address, content, key=KEY, **headers):
    """One request, and its whole answer."""
    url = f"{address.origin}/v1/chat/completions"
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
        return await client.post(url, json=content, headers={**bearer, **headers})


class Streaming:
    """A request that streams; `said` is what came so far."""

    def __init__(self, response):
        self.status = response.status_code
        self.chunks, self.said = [], ""
        self._response = response
        self._moved = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def until(self, text):
        """Once this was said."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.said:
                assert not self._reading.done(), (self.status, self.said)
                self._moved.clear()
                await self._moved.wait()

    async def over(self):
        """Once nothing more comes: all that was said."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait({self._reading})
        return self.said

    async def leave(self):
        self._reading.cancel()
        await asyncio.wait({self._reading})

    async def _read(self):
        try:
            async for line in self._response.aiter_lines():
                if line.startswith("data: {"):
                    self.chunks.append(json.loads(line.removeprefix("data: ")))
                    for choice in self.chunks[-1]["choices"]:
                        self.said += choice["delta"].get("content") or ""
                    self._moved.set()
        finally:
            self._moved.set()


@asynccontextmanager
async def streams(address, content, key=KEY):
    """A request whose answer comes as it is made; leaving the block hangs up."""
    url = f"{address.origin}/v1/chat/completions"
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=60) as client,
        client.stream("POST", url, json={**content, "stream": True}, headers=headers) as response,
    ):
        streaming = Streaming(response)
        try:
            yield streaming
        finally:
            await streaming.leave()


def hears(line, text, item_id="spoken-1"):
    """The service hears the caller say this."""
    place = {"item_id": item_id}
    line.say(
        {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, **place},
        {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 900, **place},
        {"type": "input_audio_buffer.committed", "previous_item_id": None, **place},
        {
            "type": "conversation.item.input_audio_transcription.completed",
            "content_index": 0,
            "transcript": text,
            **place,
        },
    )


def speaks(line, text):
    """The service says this, as its answer."""
    line.say(*ga.response(ga.Says(text), line.script.numbers))
