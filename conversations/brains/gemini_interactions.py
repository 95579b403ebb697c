"""A brain over Gemini's interactions API; the service keeps nothing between two requests."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import httpx2

from conversations.brains import declared
from conversations.brains.asking import ModelBusy, patiently, refused
from conversations.brains.loop import Delta, Hop, ModelFailed, ModelRequest, Picked, TextDelta
from conversations.brains.pieces import grouped
from conversations.brains.tooled import ToolBrain
from tools.naming import alias
from tools.translation import GEMINI

try:
    from google.genai import _interactions_errors as errors
    from google.genai import interactions as api
except ImportError as missing:
    raise ImportError(
        "GeminiInteractionsBrain needs google-genai: pip install -r requirements-gemini.txt, "
        "or pip install google-genai."
    ) from missing

Step = dict[str, Any]

_STEPS: Mapping[str, str] = {"caller": "user_input", "assistant": "model_output"}
_FAILED = frozenset({"failed", "cancelled"})
# The answer ended where the model did not mean it to end.
_CUT = frozenset({"incomplete", "budget_exceeded", "requires_continuation"})


class GeminiInteractionsBrain(ToolBrain):
    """A brain over the interactions API; `client` is a `google.genai.Client`, as for GeminiBrain.

    Each request carries the whole history, as it was heard, and nothing is stored. `max_output_tokens` bounds
    each answer where it is set. The client's interactions are asked without retries of its own.
    """

    provider = "gcp.gemini"
    max_output_tokens: int | None = None

    @patiently
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """One request to the model: its words as they come, then the tool calls. Raises ModelFailed."""
        answer = _Answer()
        interactions = self.client.aio.interactions
        # The SDK asks five times by itself, over more seconds than anybody wants to hear nothing.
        interactions.sdk_configuration.retry_config = None
        try:
            answered = await interactions.create(**self._body(request))
            if not isinstance(answered, AbstractAsyncContextManager):
                raise ModelBusy("the answer is no stream")
            async with answered as events:
                async for event in events:
                    for text in answer.take(event):
                        yield TextDelta(text)
        # The service's own words, which these carry, are neither for the caller nor for the log.
        except errors.APITimeoutError:
            raise ModelFailed("model_unavailable", "no answer in time") from None
        except errors.APIConnectionError:
            raise ModelBusy("the connection failed") from None
        except errors.APIStatusError as error:
            raise refused(error.status_code, error.response.headers) from None
        except (errors.GeminiNextGenAPIClientError, httpx2.HTTPError, ValueError):
            raise ModelBusy("the answer broke off or cannot be read") from None
        if not answer.came:
            raise ModelBusy("an empty answer")
        for picked in answer.picked():
            yield picked

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        tools = [_function(*one) for one in declared.told(request.tools, GEMINI)]
        config: dict[str, Any] = {"tool_choice": request.tool_choice} if tools else {}
        if self.max_output_tokens:
            config["max_output_tokens"] = self.max_output_tokens
        body: dict[str, Any] = {
            "model": self.model,
            "input": _steps(request),
            "stream": True,
            "store": False,
            # Another request in the middle of an answer would be an answer of its own.
            "automatic_continuation": False,
        }
        optional = {
            "system_instruction": request.instructions,
            "tools": tools,
            "generation_config": config,
        }
        return body | {name: value for name, value in optional.items() if value}


@dataclass(slots=True)
class _Part:
    """One step of the answer while it comes."""

    step: Step
    text: str = ""
    arguments: str = ""
    whole: bool = False

    @property
    def is_call(self) -> bool:
        return self.step.get("type") == "function_call"

    def told(self) -> Step:
        """The step as the service wants it back."""
        kind = self.step.get("type")
        if kind == "model_output":
            return {"type": kind, "content": [_text(self.text)]} if self.text else {}
        if self.is_call:
            return {**self.step, "arguments": _object(self.written())}
        return self.step

    def written(self) -> str:
        """The arguments as the model wrote them, in pieces or at once."""
        return self.arguments or json.dumps(self.step.get("arguments") or {}, ensure_ascii=False)


class _Answer:
    """One streamed answer as far as it has come."""

    def __init__(self) -> None:
        self._parts: dict[Any, _Part] = {}
        self._status = ""
        self.came = False

    def take(self, event: api.InteractionSSEEvent) -> Sequence[str]:
        """What it says; thoughts are only kept, and events of other kinds pass by."""
        self.came = True
        match event.event_type:
            case "step.start":
                return self._start(event.index, event.step)
            case "step.delta":
                return self._add(event.index, event.delta)
            case "step.stop":
                self._part(event.index).whole = True
            case "interaction.completed":
                self._complete(event.interaction.status)
            case "error":
                raise refused(None)
        return ()

    def _complete(self, status: str) -> None:
        if status in _FAILED:
            raise ModelBusy(f"the interaction ended as {status}")
        self._status = status

    def _start(self, index: Any, step: Any) -> Sequence[str]:
        given = step.model_dump(mode="json", exclude_none=True)
        part = self._parts[index] = _Part(given)
        if given.get("type") != "model_output":
            return ()
        texts = [one["text"] for one in given.get("content") or () if one.get("type") == "text"]
        part.text = "".join(texts)
        return [text for text in texts if text]

    def _add(self, index: Any, delta: Any) -> Sequence[str]:
        part = self._part(index)
        match delta.type:
            case "text":
                part.text += delta.text
                return [delta.text] if delta.text and part.step.get("type") == "model_output" else ()
            case "arguments_delta":
                part.arguments += delta.arguments or ""
            case "thought_signature":
                part.step["signature"] = delta.model_dump(mode="json")["signature"]
        return ()

    def _part(self, index: Any) -> _Part:
        """The step with that index; one that never began is taken for speech."""
        return self._parts.setdefault(index, _Part({"type": "model_output"}))

    def picked(self) -> Sequence[Picked]:
        """The calls that came, each with the steps since the one before it, as they are wanted back."""
        groups = grouped(self._once(), lambda part: part.is_call)
        return [
            Picked(
                str(part.step.get("id") or ""),
                str(part.step.get("name") or ""),
                part.written(),
                tuple(filter(None, (one.told() for one in parts))),
                cut=number == len(groups) and (self._status in _CUT or not (part.whole or self._status)),
            )
            for number, (part, parts) in enumerate(groups, 1)
        ]

    def _once(self) -> Sequence[_Part]:
        """The steps without calls that came before under the same id."""
        kept: dict[Any, _Part] = {}
        for index, part in self._parts.items():
            call = part.is_call and part.step.get("id")
            kept.setdefault(("call", call) if call else index, part)
        return list(kept.values())


def _object(arguments: str) -> dict[str, Any]:
    try:
        read = json.loads(arguments)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _function(tool: Any, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    about = {"type": "function", "name": tool.name, "description": tool.description}
    return {**about, "parameters": parameters} if parameters else about


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _said(kind: str, text: str) -> Step:
    return {"type": kind, "content": [_text(text)]}


def _steps(request: ModelRequest) -> list[Step]:
    steps = [_said(_STEPS[one.role], one.text) for one in request.history]
    steps.append(_said("user_input", request.text))
    for number, hop in enumerate(request.hops):
        steps += _hop(number, hop)
    return steps


def _hop(number: int, hop: Hop) -> list[Step]:
    """An answer that picked tools, with their results."""
    if not hop.picked:
        return [
            _said("model_output", hop.spoken),
            *(_said("user_input", output) for output in hop.outputs),
        ]
    calls: list[Step] = []
    results: list[Step] = []
    for place, (picked, output) in enumerate(zip(hop.picked, hop.outputs, strict=True)):
        id_ = picked.id if picked.extra else f"{picked.id}_{number}_{place}"
        calls += picked.extra or [_call(id_, picked)]
        results.append({"type": "function_result", "call_id": id_, "name": _name(picked), "result": output})
    return calls + results


def _call(id_: str, picked: Picked) -> Step:
    """A call that the model made in its text."""
    named = {"type": "function_call", "id": id_, "name": _name(picked)}
    return {**named, "arguments": json.loads(picked.arguments)}


def _name(picked: Picked) -> str:
    return picked.name if picked.extra else alias(picked.name)
