"""A brain over chat completions: OpenAI's own service, and every server that speaks like it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import groupby
from typing import Any

import httpx2
import openai

from conversations.brains import declared
from conversations.brains.asking import ModelBusy, patiently, refused
from conversations.brains.loop import Delta, Hop, ModelFailed, ModelRequest, Picked, TextDelta
from conversations.brains.pieces import Calls
from conversations.brains.tooled import ToolBrain
from conversations.core.transcript import Said
from tools.contract import Tool
from tools.naming import alias
from tools.translation import Dialect

SECONDS = 60.0
_ROLES: Mapping[str, str] = {"caller": "user", "assistant": "assistant"}
# The answer ended where the model did not mean it to end.
_CUT = frozenset({"length", "content_filter"})


def client(base_url: str, api_key: str, seconds: float = SECONDS) -> openai.AsyncOpenAI:
    """A client of the service there, with the time limits of a conversation. An empty address is OpenAI's."""
    return openai.AsyncOpenAI(
        base_url=base_url or None,
        api_key=api_key or "none",
        timeout=httpx2.Timeout(seconds, connect=min(seconds, 5)),
        max_retries=0,
    )


class OpenAIBrain(ToolBrain):
    """A brain over chat completions; `client` is an `openai.AsyncOpenAI`.

    A server that compiles tool schemas into a grammar may need `dialect = tools.translation.COMPILED`; others
    get them whole. `max_output_tokens` bounds each answer where it is set.
    """

    provider = "openai"
    dialect: Dialect | None = None
    max_output_tokens: int | None = None

    @patiently
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """One request to the model: its words as they come, then the tool calls. Raises ModelFailed."""
        answer = _Answer(self.max_output_tokens)
        try:
            once = self.client.with_options(max_retries=0)
            async with await once.chat.completions.create(**self._body(request)) as chunks:
                async for chunk in chunks:
                    for text in answer.take(chunk):
                        yield TextDelta(text)
        # The service's own words, which these carry, are neither for the caller nor for the log.
        except openai.APIStatusError as error:
            raise refused(error.status_code, error.response.headers) from None
        except openai.APITimeoutError:
            raise ModelFailed("model_unavailable", "no answer in time") from None
        except openai.APIConnectionError:
            raise ModelBusy("the connection failed") from None
        except openai.APIError:
            raise refused(None) from None
        except (httpx2.HTTPError, ValueError):
            raise ModelBusy("the answer broke off or cannot be read") from None
        request.spent.input, request.spent.output = answer.spent
        if not answer.came:
            raise ModelBusy("an empty answer")
        for picked in answer.picked():
            yield picked

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """Nothing but what is needed: servers refuse fields that they do not know."""
        body: dict[str, Any] = {"model": self.model, "messages": _messages(request), "stream": True}
        tools = [_function(*one) for one in declared.told(request.tools, self.dialect)]
        if tools:
            body |= {"tools": tools, "tool_choice": request.tool_choice}
        if self.max_output_tokens:
            body |= {
                "max_completion_tokens": self.max_output_tokens,
                "stream_options": {"include_usage": True},
            }
        return body


class _Answer:
    """One streamed answer as far as it has come."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._calls = Calls()
        self._finish: str | None = None
        self._tokens = 0
        self.spent: tuple[int | None, int | None] = None, None
        self.came = False

    def take(self, chunk: Any) -> Sequence[str]:
        """What it says. What the model thinks to itself has fields of its own, which are not read."""
        self.came = True
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self.spent = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
        self._tokens = getattr(usage, "completion_tokens", None) or self._tokens
        # Filters and counts come in chunks without choices.
        choice = next(iter(getattr(chunk, "choices", None) or ()), None)
        self._finish = getattr(choice, "finish_reason", None) or self._finish
        delta = getattr(choice, "delta", None)
        for piece in getattr(delta, "tool_calls", None) or ():
            self._calls.take(piece)
        return _words(getattr(delta, "content", None) or getattr(delta, "refusal", None))

    def picked(self) -> Sequence[Picked]:
        """The calls that came, whatever the finish reason says; where the answer was cut, so was the last."""
        full = self._limit is not None and self._tokens >= self._limit
        return self._calls.picked(cut=self._finish in _CUT or full)


def _words(content: Any) -> Sequence[str]:
    """The spoken part of a content: a text, or a list of typed parts."""
    if isinstance(content, str):
        return (content,) if content else ()
    parts = content if isinstance(content, list) else ()
    typed = [part for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    return [str(part.get("text")) for part in typed if part.get("text")]


def _function(tool: Tool, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    about = {"name": tool.name, "description": tool.description}
    return {"type": "function", "function": {**about, **({"parameters": parameters} if parameters else {})}}


def _messages(request: ModelRequest) -> list[dict[str, Any]]:
    messages = [_message("system", request.instructions)] if request.instructions else []
    # Where nobody answered, the caller speaks twice, and templates of local models insist on taking turns.
    spoken = groupby([*request.history, Said("caller", request.text)], key=lambda said: said.role)
    messages += [_message(_ROLES[role], "\n".join(one.text for one in said)) for role, said in spoken]
    used: set[str] = set()
    for hop in request.hops:
        messages += _hop(hop, used)
    return messages


def _message(role: str, content: str | None) -> dict[str, Any]:
    return {"role": role, "content": content}


def _hop(hop: Hop, used: set[str]) -> list[dict[str, Any]]:
    """An answer that picked tools, with their results; its content is there even where it says nothing."""
    if not hop.picked:
        return [_message("assistant", hop.spoken), *(_message("user", output) for output in hop.outputs)]
    ids = [_unused(picked.id, used) for picked in hop.picked]
    calls = [_call(id_, picked) for id_, picked in zip(ids, hop.picked, strict=True)]
    results = zip(ids, hop.outputs, strict=True)
    return [
        {**_message("assistant", hop.spoken or None), "tool_calls": calls},
        *({**_message("tool", output), "tool_call_id": id_} for id_, output in results),
    ]


def _unused(id_: str, used: set[str]) -> str:
    """The id as the model gave it where it is one of its own: servers count anew in every answer."""
    own = id_ if id_ and id_ not in used else f"{id_ or 'call'}_{len(used)}"
    used.add(own)
    return own


def _call(id_: str, picked: Picked) -> dict[str, Any]:
    """A call as it goes back. Servers read its arguments again, and refuse what they cannot read."""
    function = {"name": alias(picked.name), "arguments": _readable(picked.arguments)}
    return {"id": id_, "type": "function", "function": function, **(picked.extra or {})}


def _readable(arguments: str) -> str:
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except ValueError:
        return "{}"
