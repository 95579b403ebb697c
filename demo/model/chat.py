"""What a client asks of the model, and the same conversation as the planner reads it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from demo.speech.planner.history import Item

Role = Literal["system", "developer", "user", "assistant", "tool"]


class Loose(BaseModel):
    """Part of a request; what this stand-in does not know is let pass."""

    model_config = ConfigDict(extra="ignore")


class TextPart(Loose):
    """One part of a message; only text is understood here."""

    type: str
    text: str = ""


class CalledFunction(Loose):
    """A tool with its arguments as JSON text."""

    name: str
    arguments: str = "{}"


class ToolCall(Loose):
    """One call that the model made earlier."""

    id: str
    function: CalledFunction


class Message(Loose):
    """One message of the conversation."""

    role: Role
    content: str | list[TextPart] | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str = ""

    @property
    def text(self) -> str:
        """Its words."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class Function(Loose):
    """A declared function."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class Declared(Loose):
    """A declared tool."""

    type: str = "function"
    function: Function


class StreamOptions(Loose):
    """With `include_usage` the stream ends with what it cost."""

    include_usage: bool = False


class ChatRequest(Loose):
    """The body of `POST /v1/chat/completions`, as far as it is heeded."""

    model: str
    messages: list[Message] = Field(min_length=1)
    tools: list[Declared] | None = None
    tool_choice: str | dict[str, Any] = "auto"
    parallel_tool_calls: bool = True
    stream: bool = False
    stream_options: StreamOptions | None = None

    @property
    def instructions(self) -> str:
        """What the model is told to be."""
        told = (one.text for one in self.messages if one.role in ("system", "developer"))
        return "\n\n".join(text for text in told if text)

    @property
    def may_call(self) -> bool:
        """Whether it may pick tools."""
        return self.tool_choice != "none"

    def declarations(self) -> list[dict[str, Any]]:
        """The tools that may be picked, as a speech session declares them."""
        functions = [tool.function for tool in self.tools or () if tool.type == "function"]
        if isinstance(self.tool_choice, dict):
            wanted = (self.tool_choice.get("function") or {}).get("name")
            functions = [function for function in functions if function.name == wanted]
        return [{"type": "function", **function.model_dump()} for function in functions]


def items(messages: Sequence[Message]) -> list[Item]:
    """The conversation without its instructions, as the items of a speech session."""
    return [item for message in messages for item in _items(message)]


def _items(message: Message) -> Iterator[Item]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.text}
    elif message.role == "user":
        yield _said("user", "input_text", message.text)
    elif message.role == "assistant":
        if message.text:
            yield _said("assistant", "output_text", message.text)
        for call in message.tool_calls or ():
            function = call.function
            made = {"call_id": call.id, "name": function.name, "arguments": function.arguments}
            yield {"type": "function_call", **made}


def _said(role: str, kind: str, text: str) -> Item:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def arguments_of(arguments: dict[str, Any]) -> str:
    """Arguments as a model writes them."""
    return json.dumps(arguments, ensure_ascii=False)
