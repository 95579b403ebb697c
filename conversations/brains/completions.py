"""An answer in the shapes of OpenAI's chat completions: whole, or in pieces. Tool calls are never in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Nobody counts tokens here, where any model may have thought: about so many characters are one.
CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer to one request; `created` in epoch seconds, `asked` in characters."""

    completion_id: str
    created: int
    model: str
    asked: int

    def whole(self, text: str) -> dict[str, Any]:
        """The answer as one body."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage(len(text))}

    def piece(self, text: str) -> dict[str, Any]:
        """A piece of the answer; the first one is empty."""
        role = {} if text else {"role": "assistant"}
        return self._chunk({**role, "content": text}, None)

    def end(self) -> dict[str, Any]:
        """The end of the pieces."""
        return self._chunk({}, "stop")

    def cost(self, said: int) -> dict[str, Any]:
        """What it cost, for who asked to be told after the end."""
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage(said)}

    def usage(self, said: int) -> dict[str, int]:
        """What it cost, by an estimate from the characters that were asked and said."""
        asked, answered = (-(-count // CHARACTERS_A_TOKEN) for count in (self.asked, said))
        return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.completion_id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: Mapping[str, Any], reason: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}


def event(data: Mapping[str, Any]) -> bytes:
    """One piece on the wire."""
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


DONE = b"data: [DONE]\n\n"
