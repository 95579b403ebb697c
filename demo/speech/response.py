"""One response as a run of events in GA order; pure: sound and words come in, events come out."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from demo.speech.conversation import Conversation
from demo.speech.events import Event, Item, audio_format, event, new_id
from demo.speech.items import stored
from demo.speech.pcm import duration_ms
from demo.speech.planner.tools import Call
from demo.speech.sentences import deltas

Status = Literal["completed", "cancelled", "failed", "incomplete"]
Modality = Literal["audio", "text"]


@dataclass(frozen=True, slots=True)
class ResponseShape:
    """What every event of a response has in common."""

    modality: Modality
    voice: str
    rate: int
    max_output_tokens: int | str = "inf"
    metadata: Mapping[str, str] | None = None


class Response:
    """The events of one response; `conversation` is None for one that is out of band."""

    def __init__(self, shape: ResponseShape, conversation: Conversation | None) -> None:
        self.id = new_id("resp")
        self.shape = shape
        self._conversation = conversation
        self._output: list[Item] = []
        self._message: Item | None = None
        self._previous: str | None = None
        self._words = ""
        self._sound = 0

    def begin(self) -> list[Event]:
        """`response.created`."""
        return [event("response.created", response=self._shown("in_progress", None))]

    def open_message(self) -> list[Event]:
        """The beginning of the assistant's message and its one part."""
        self._message = stored("message", None, {"role": "assistant", "content": []}, "in_progress")
        part = event("response.content_part.added", **self._place(), part=self._part())
        return [*self._item_added(self._message), part]

    def words(self, delta: str) -> list[Event]:
        """A piece of the message's text."""
        self._words += delta
        return [event(f"response.{self._text_kind}.delta", **self._place(), delta=delta)]

    def sound(self, pcm: bytes) -> list[Event]:
        """A piece of the message's sound."""
        self._sound += len(pcm)
        delta = base64.b64encode(pcm).decode()
        return [event("response.output_audio.delta", **self._place(), delta=delta)]

    def close_message(self, status: Literal["completed", "incomplete"] = "completed") -> list[Event]:
        """The end of the message: every `…done` holds what was really sent."""
        if self._message is None:
            return []
        place, spoken = self._place(), self.shape.modality == "audio"
        text = {"transcript" if spoken else "text": self._words}
        done = [event("response.output_audio.done", **place)] if spoken else []
        done.append(event(f"response.{self._text_kind}.done", **place, **text))
        done.append(event("response.content_part.done", **place, part=self._part()))
        content = {"type": "output_audio" if spoken else "output_text", **text}
        item = self._message | {"status": status, "content": [content]}
        self._message = None
        return [*done, *self._item_done(item)]

    def call(self, call: Call) -> list[Event]:
        """A whole function call."""
        fields = {"name": call.name, "call_id": new_id("call"), "arguments": ""}
        item = stored("function_call", None, fields, "in_progress")
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        place = {
            "response_id": self.id,
            "item_id": item["id"],
            "output_index": len(self._output),
            "call_id": item["call_id"],
        }
        kind = "response.function_call_arguments"
        return [
            *self._item_added(item),
            *(event(f"{kind}.delta", **place, delta=delta) for delta in deltas(arguments)),
            event(f"{kind}.done", **place, name=call.name, arguments=arguments),
            *self._item_done(item | {"status": "completed", "arguments": arguments}),
        ]

    def finish(self, status: Status, reason: str = "", failure: str = "") -> list[Event]:
        """What is still open, closed as incomplete, and `response.done`."""
        details: Item | None = None
        if status == "failed":
            error = {"type": "server_error", "code": "engine_failed", "message": failure}
            details = {"type": status, "error": error}
        elif status != "completed":
            details = {"type": status, "reason": reason}
        return [
            *self.close_message("incomplete"),
            event("response.done", response=self._shown(status, details)),
        ]

    @property
    def _text_kind(self) -> str:
        return "output_audio_transcript" if self.shape.modality == "audio" else "output_text"

    def _part(self) -> Item:
        if self.shape.modality == "audio":
            return {"type": "audio", "transcript": self._words}
        return {"type": "text", "text": self._words}

    def _place(self) -> dict[str, Any]:
        item_id = self._message["id"] if self._message else ""
        return {
            "response_id": self.id,
            "item_id": item_id,
            "output_index": len(self._output),
            "content_index": 0,
        }

    def _item_added(self, item: Item) -> list[Event]:
        index = len(self._output)
        added = [event("response.output_item.added", response_id=self.id, output_index=index, item=item)]
        if self._conversation:
            self._previous = self._conversation.add(item)
            added.append(event("conversation.item.added", item=item, previous_item_id=self._previous))
        return added

    def _item_done(self, item: Item) -> list[Event]:
        done = []
        if self._conversation:
            self._conversation.replace(item, duration_ms(self._sound, self.shape.rate))
            done.append(event("conversation.item.done", item=item, previous_item_id=self._previous))
        index = len(self._output)
        self._output.append(item)
        done.append(event("response.output_item.done", response_id=self.id, output_index=index, item=item))
        return done

    def _shown(self, status: Status | Literal["in_progress"], details: Item | None) -> Item:
        shape = self.shape
        return {
            "id": self.id,
            "object": "realtime.response",
            "status": status,
            "status_details": details,
            "output": list(self._output),
            "conversation_id": self._conversation.id if self._conversation else None,
            "output_modalities": [shape.modality],
            "max_output_tokens": shape.max_output_tokens,
            "audio": {"output": {"format": audio_format(shape.rate), "voice": shape.voice}},
            "usage": None if status == "in_progress" else _usage(self._output),
            "metadata": dict(shape.metadata) if shape.metadata else None,
        }


def _usage(output: Sequence[Item]) -> Item:
    """What was said, counted in words: there are no tokens here, and what is heard is not counted."""
    texts = (
        part.get("transcript") or part.get("text") or ""
        for item in output
        for part in item.get("content", ())
    )
    words = sum(len(text.split()) for text in texts)
    return {
        "total_tokens": words,
        "input_tokens": 0,
        "output_tokens": words,
        "input_token_details": {"text_tokens": 0, "audio_tokens": 0, "cached_tokens": 0},
        "output_token_details": {"text_tokens": words, "audio_tokens": 0},
    }
