"""An answer in the shapes of chat completions: whole, or in pieces."""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from demo.model.chat import ChatRequest
from demo.model.replies import Called, Reply
from demo.speech.sentences import deltas


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer to one request."""

    request: ChatRequest
    reply: Reply
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self) -> dict[str, Any]:
        """The answer as one body."""
        reply = self.reply
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.calls:
            message["tool_calls"] = [self._call(number, call) for number, call in enumerate(reply.calls)]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage()}

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The answer in pieces, without its end."""
        yield self._chunk({"role": "assistant", "content": ""})
        for piece in deltas(self.reply.text):
            yield self._chunk({"content": piece})
        for number, call in enumerate(self.reply.calls):
            head = self._call(number, call)
            function = {"name": call.name, "arguments": ""}
            yield self._chunk({"tool_calls": [{"index": number, **head, "function": function}]})
            for piece in deltas(call.arguments):
                yield self._chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})

    def end(self) -> Iterator[dict[str, Any]]:
        """The end of the pieces, and what they cost where that was asked for."""
        yield self._chunk({}, self.reply.reason)
        options = self.request.stream_options
        if options is not None and options.include_usage:
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage()}

    def usage(self) -> dict[str, int]:
        """What it cost, counted in words: there are no tokens here."""
        asked = sum(len(message.text.split()) for message in self.request.messages)
        said = len(self.reply.text.split()) + sum(len(call.arguments.split()) for call in self.reply.calls)
        return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.request.model}

    def _call(self, number: int, call: Called) -> dict[str, Any]:
        function = {"name": call.name, "arguments": call.arguments}
        return {"id": f"call_{self.id[-8:]}_{number}", "type": "function", "function": function}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}


def event(data: dict[str, Any]) -> str:
    """One piece on the wire."""
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
