"""The one active response of a session: decided, spoken piece by piece, cancelled between pieces."""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from demo.speech.client_events import ResponsePatch
from demo.speech.conversation import Conversation
from demo.speech.engine import Engine, EngineFailure
from demo.speech.events import Item, Refused
from demo.speech.hearing import Hearing, Spawn
from demo.speech.items import accepted
from demo.speech.outbox import Outbox
from demo.speech.pcm import byte_count
from demo.speech.planner import Context, Decision, Say, Tool, decide, declared, in_instructions
from demo.speech.planner.tools import Call
from demo.speech.response import Response, ResponseShape, Status
from demo.speech.sentences import deltas, sentences
from demo.speech.settings import Settings
from demo.speech.thinking import Thinker, units

CHUNK_MS = 200
DEAF = "I cannot hear on this computer. Please type your question."

log = logging.getLogger("demo.speech")


@dataclass(frozen=True, slots=True)
class Request:
    """What one response is made from: the session's settings with its own on top, perhaps its own input."""

    settings: Settings
    order: str = ""
    items: Sequence[Item] | None = None
    out_of_band: bool = False
    metadata: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Active:
    """The response that runs now, and the task that makes it."""

    response: Response
    task: "asyncio.Task[None]"


@dataclass(slots=True)
class Responder:
    """Makes responses, one at a time; `lead_ms` is how far sound may run ahead, None for no limit.

    Where there is a `thinker`, it says what to say.
    """

    engine: Engine
    conversation: Conversation
    hearing: Hearing
    outbox: Outbox
    spawn: Spawn
    today: Callable[[], date]
    lead_ms: int | None
    thinker: Thinker | None = None
    _active: Active | None = field(default=None, init=False)

    def create(self, request: Request) -> None:
        """Begin a response; raises Refused while another is active."""
        if self._active:
            raise Refused(
                "conversation_already_has_active_response",
                f"Conversation already has an active response in progress: {self._active.response.id}. "
                "Wait until the response is finished before creating a new one.",
            )
        settings = request.settings
        shape = ResponseShape(
            modality="audio" if "audio" in settings.output_modalities else "text",
            voice=self.engine.parts.voice_name,
            rate=settings.output_rate,
            max_output_tokens=settings.max_output_tokens,
            metadata=request.metadata,
        )
        response = Response(shape, None if request.out_of_band else self.conversation)
        self.outbox.put(*response.begin())
        self._active = Active(response, self.spawn(self._run(response, request)))

    def cancel(
        self, reason: Literal["turn_detected", "client_cancelled"], response_id: str | None = None
    ) -> bool:
        """End the active response, where it is the one that is meant; whether it was."""
        active = self._active
        if active is None or (response_id is not None and response_id != active.response.id):
            return False
        active.task.cancel()
        self._finish(active.response, "cancelled", reason=reason)
        return True

    async def _run(self, response: Response, request: Request) -> None:
        try:
            await self.hearing.settled()
            complete = await self._answer(response, request)
        except EngineFailure as failure:
            log.error("a response failed: %s", failure)
            self._finish(response, "failed", failure="This service failed.")
            return
        self._finish(response, "completed" if complete else "incomplete", reason="max_output_tokens")

    def _finish(self, response: Response, status: Status, reason: str = "", failure: str = "") -> None:
        self._active = None
        self.outbox.put(*response.finish(status, reason, failure))

    async def _answer(self, response: Response, request: Request) -> bool:
        """Make the output; False where the limit on its length cut it."""
        if self.thinker is not None:
            return await self._think(response, request, self.thinker)
        native = declared(request.settings.tools)
        marker, catalog = in_instructions(request.settings.instructions)
        decision = self._decision(request, (*native, *catalog))
        if isinstance(decision, Say):
            return await self._say(response, request.settings, decision.text)
        calls = decision.calls
        if marker and calls[0].name not in {tool.name for tool in native}:
            return await self._say(response, request.settings, marker_text(marker, calls[0]))
        for call in calls:
            self.outbox.put(*response.call(call))
        return True

    def _decision(self, request: Request, tools: Sequence[Tool]) -> Decision:
        items = self.conversation.items if request.items is None else request.items
        if not self.engine.can_hear and not request.order and _is_sound(items):
            return Say(DEAF)
        choice = request.settings.tool_choice
        if isinstance(choice, dict):
            tools = [tool for tool in tools if tool.name == choice.get("name")]
        return decide(Context(items, tools, self.today(), may_call=choice != "none", order=request.order))

    async def _think(self, response: Response, request: Request, thinker: Thinker) -> bool:
        items = self.conversation.items if request.items is None else request.items
        if not self.engine.can_hear and not request.order and _is_sound(items):
            return await self._say(response, request.settings, DEAF)
        told = request.order or request.settings.instructions
        self.outbox.put(*response.open_message())
        sent_ms, began = 0, asyncio.get_running_loop().time()
        async with aclosing(thinker.words(told, items)) as words:
            async for sentence in units(words):
                for unit in self._units(response, sentence):
                    sent_ms = await self._utter(response, request.settings, unit, (began, sent_ms))
        self.outbox.put(*response.close_message())
        return True

    async def _say(self, response: Response, settings: Settings, text: str) -> bool:
        text, complete = _limited(text, settings.max_output_tokens)
        self.outbox.put(*response.open_message())
        sent_ms, began = 0, asyncio.get_running_loop().time()
        for unit in self._units(response, text):
            sent_ms = await self._utter(response, settings, unit, (began, sent_ms))
        if complete:
            self.outbox.put(*response.close_message())
        return complete

    def _units(self, response: Response, text: str) -> Sequence[str]:
        """The text in the pieces that are told one at a time."""
        spoken = response.shape.modality == "audio"
        return self.engine.parts.voice.units(text) if spoken else sentences(text)

    async def _utter(self, response: Response, settings: Settings, unit: str, sent: tuple[float, int]) -> int:
        """One piece in words and, where it is spoken, in sound; how much sound was sent since it began."""
        began, sent_ms = sent
        spoken = response.shape.modality == "audio"
        self.outbox.put(*(event for delta in deltas(unit) for event in response.words(delta)))
        pcm = await self.engine.speak(unit, settings.speed, settings.output_rate) if spoken else b""
        size = byte_count(CHUNK_MS, settings.output_rate)
        for start in range(0, len(pcm), size):
            await self._room(began, sent_ms)
            self.outbox.put(*response.sound(pcm[start : start + size]))
            sent_ms += CHUNK_MS
        await asyncio.sleep(0)
        return sent_ms

    async def _room(self, began: float, sent_ms: int) -> None:
        """Wait for a client that reads slowly, and for its listener: no answer is made minutes ahead."""
        await self.outbox.room()
        if self.lead_ms is not None:
            ahead = began + (sent_ms - self.lead_ms) / 1000 - asyncio.get_running_loop().time()
            await asyncio.sleep(max(0.0, ahead))


def requested(settings: Settings, patch: ResponsePatch | None) -> Request:
    """The request that a `response.create` makes in a session of these settings; raises Refused."""
    if patch is None:
        return Request(settings)
    names = ("instructions", "tools", "tool_choice", "output_modalities", "max_output_tokens")
    changes = {name: getattr(patch, name) for name in names if getattr(patch, name) is not None}
    return Request(
        settings=replace(settings, **changes),
        order=patch.instructions or "",
        items=None if patch.input is None else [accepted(item) for item in patch.input],
        out_of_band=patch.conversation == "none",
        metadata=patch.metadata,
    )


def marker_text(marker: str, call: Call) -> str:
    """A call as a model without native tools writes it."""
    arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    return f"<<<{marker}:NAME={call.name},ARGUMENTS={arguments}>>>"


def _limited(text: str, most: int | str) -> tuple[str, bool]:
    words = text.split(" ")
    if not isinstance(most, int) or len(words) <= most:
        return text, True
    return " ".join(words[:most]), False


def _is_sound(items: Sequence[Item]) -> bool:
    """Whether the last thing that the caller did was to speak."""
    last = next((item for item in reversed(items) if item.get("role") == "user"), None)
    return last is not None and last["content"][0]["type"] == "input_audio"
