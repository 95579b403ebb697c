"""A brain over Gemini's generate-content API."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

import httpx2

try:
    from google import genai
    from google.genai import errors, types
except ImportError as missing:
    raise ImportError(
        "GeminiBrain needs google-genai: pip install -r requirements-gemini.txt, or pip install google-genai."
    ) from missing

from conversations.brains import declared
from conversations.brains.asking import ModelBusy, apart, patiently, refused
from conversations.brains.loop import Delta, Hop, ModelFailed, ModelRequest, Picked, TextDelta
from conversations.brains.pieces import grouped
from conversations.brains.tooled import ToolBrain
from tools.naming import alias
from tools.translation import GEMINI

SECONDS = 60.0
_ROLES: Mapping[str, str] = {"caller": "user", "assistant": "model"}
# The answer ended where the model did not mean it to end.
_CUT = frozenset({"MAX_TOKENS", "CONTINUATION"})


def client(api_key: str, base_url: str = "", seconds: float = SECONDS) -> genai.Client:
    """A client of the service, with the time limits of a conversation and no retries of its own."""
    return genai.Client(
        api_key=api_key,
        http_options=types.HttpOptions(
            base_url=base_url or None,
            timeout=int(seconds * 1000),
            retry_options=types.HttpRetryOptions(attempts=1),
        ),
    )


class GeminiBrain(ToolBrain):
    """A brain over generate-content; `client` is a `google.genai.Client`.

    `max_output_tokens` bounds each answer where it is set.
    """

    provider = "gcp.gemini"
    max_output_tokens: int | None = None

    @patiently
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """One request to the model: its words as they come, then the tool calls. Raises ModelFailed."""
        answer = _Answer(self.max_output_tokens)
        try:
            chunks = await self.client.aio.models.generate_content_stream(
                model=self.model, contents=_contents(request), config=self._config(request)
            )
            async with aclosing(apart(chunks)) as read:
                async for chunk in read:
                    for text in answer.take(chunk):
                        yield TextDelta(text)
        # The service's own words, which these carry, are neither for the caller nor for the log.
        except errors.APIError as error:
            raise refused(error.code, getattr(error.response, "headers", None)) from None
        except httpx2.TimeoutException:
            raise ModelFailed("model_unavailable", "no answer in time") from None
        except httpx2.HTTPError:
            raise ModelBusy("the connection failed") from None
        except ValueError:
            raise ModelBusy("the answer cannot be read") from None
        request.spent.input, request.spent.output = answer.spent
        if not answer.came:
            raise ModelBusy("an empty answer")
        for picked in answer.picked():
            yield picked

    def _config(self, request: ModelRequest) -> types.GenerateContentConfig:
        functions = [
            types.FunctionDeclaration(
                name=tool.name, description=tool.description, parameters_json_schema=parameters
            )
            for tool, parameters in declared.told(request.tools, GEMINI)
        ]
        mode = types.FunctionCallingConfigMode(request.tool_choice.upper())
        choice = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode=mode))
        return types.GenerateContentConfig(
            system_instruction=request.instructions or None,
            tools=[types.Tool(function_declarations=functions)] if functions else None,
            tool_config=choice if functions else None,
            max_output_tokens=self.max_output_tokens,
            # The SDK's own loop copies brains and tells models the texts of exceptions.
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )


class _Answer:
    """One streamed answer as far as it has come."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._parts: list[types.Part] = []
        self._finish = ""
        self._tokens = 0
        self.spent: tuple[int | None, int | None] = None, None
        self.came = False

    def take(self, chunk: types.GenerateContentResponse) -> Sequence[str]:
        """What it says; what the model thinks to itself is marked as such and only kept."""
        self.came = True
        blocked = chunk.prompt_feedback and chunk.prompt_feedback.block_reason
        if blocked:
            raise ModelFailed("model_refused", f"the prompt was blocked: {blocked.value}")
        usage = chunk.usage_metadata
        if usage is not None:
            self.spent = usage.prompt_token_count, usage.candidates_token_count
        self._tokens = (usage and usage.candidates_token_count) or self._tokens
        candidate = next(iter(chunk.candidates or ()), None)
        if candidate is None:
            return ()
        self._finish = candidate.finish_reason.value if candidate.finish_reason else self._finish
        parts = (candidate.content and candidate.content.parts) or []
        self._parts += [part for part in parts if _says_something(part) and not self._repeats(part)]
        return [part.text for part in parts if part.text and not part.thought]

    def picked(self) -> Sequence[Picked]:
        """The calls that came, each with the parts since the one before it, as they are wanted back."""
        groups = grouped(self._parts, lambda part: part.function_call)
        cut = self._finish in _CUT or (self._limit is not None and self._tokens >= self._limit)
        calls = [(part.function_call or types.FunctionCall(), parts) for part, parts in groups]
        return [
            Picked(
                call.id or "",
                call.name or "",
                json.dumps(call.args or {}, ensure_ascii=False),
                tuple(parts),
                cut=cut and number == len(calls),
            )
            for number, (call, parts) in enumerate(calls, 1)
        ]

    def _repeats(self, part: types.Part) -> bool:
        """Whether this is a call that came before, by its id."""
        call = part.function_call
        known = {one.function_call.id for one in self._parts if one.function_call}
        return bool(call and call.id and call.id in known)


def _says_something(part: types.Part) -> bool:
    """The last part of an answer is often an empty text, which the service does not want back."""
    return part.text != "" or bool(part.thought_signature)


def _contents(request: ModelRequest) -> list[types.Content]:
    said = [_text(_ROLES[one.role], one.text) for one in request.history]
    said.append(_text("user", request.text))
    for hop in request.hops:
        said += _hop(hop)
    return said


def _text(role: str, text: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def _hop(hop: Hop) -> list[types.Content]:
    """An answer that picked tools, with their results."""
    if not hop.picked:
        return [_text("model", hop.spoken), *(_text("user", output) for output in hop.outputs)]
    answered = [part for picked in hop.picked for part in picked.extra or _parts(picked)]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=picked.id or None, name=_name(picked), response={"output": output}
            )
        )
        for picked, output in zip(hop.picked, hop.outputs, strict=True)
    ]
    return [types.Content(role="model", parts=answered), types.Content(role="user", parts=results)]


def _parts(picked: Picked) -> Sequence[types.Part]:
    """A call that the model made in its text."""
    call = types.FunctionCall(
        id=picked.id or None, name=alias(picked.name), args=json.loads(picked.arguments)
    )
    return [types.Part(function_call=call)]


def _name(picked: Picked) -> str:
    return picked.name if picked.extra else alias(picked.name)
