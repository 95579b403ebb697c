"""Conversation items that a client sends, checked and put into the wire's own shape."""

from typing import Any, Literal

from pydantic import Field

from demo.speech.client_events import Id, Loose, checked
from demo.speech.events import Item, Refused, new_id

_PARTS = {"user": {"input_text"}, "system": {"input_text"}, "assistant": {"output_text", "output_audio"}}


class Part(Loose):
    """One part of a message."""

    type: str
    text: str | None = None
    transcript: str | None = None


class Message(Loose):
    """A `message` item."""

    id: Id | None = None
    role: Literal["user", "system", "assistant"]
    content: list[Part] = Field(min_length=1)


class FunctionCall(Loose):
    """A `function_call` item, as a client that restores a conversation sends it."""

    id: Id | None = None
    call_id: Id | None = None
    name: str
    arguments: str


class FunctionCallOutput(Loose):
    """A `function_call_output` item."""

    id: Id | None = None
    call_id: Id
    output: str


def accepted(item: dict[str, Any]) -> Item:
    """The item as the conversation keeps it; raises Refused."""
    kind = item.get("type")
    if kind == "message":
        return _message(checked(Message, item, "item"))
    if kind == "function_call":
        call = checked(FunctionCall, item, "item")
        fields = {"name": call.name, "call_id": call.call_id or new_id("call"), "arguments": call.arguments}
        return stored("function_call", call.id, fields)
    if kind == "function_call_output":
        output = checked(FunctionCallOutput, item, "item")
        return stored("function_call_output", output.id, {"call_id": output.call_id, "output": output.output})
    raise Refused("invalid_value", f"Invalid value: {str(kind)[:60]!r}. No such item.", "item.type")


def stored(kind: str, item_id: str | None, fields: dict[str, Any], status: str = "completed") -> Item:
    """An item in the wire's shape."""
    return {
        "id": item_id or new_id("item"),
        "object": "realtime.item",
        "type": kind,
        "status": status,
        **fields,
    }


def spoken_message(item_id: str) -> Item:
    """The user's message for committed sound, before anything was understood of it."""
    content = [{"type": "input_audio", "transcript": None}]
    return stored("message", item_id, {"role": "user", "content": content})


def _message(message: Message) -> Item:
    content = []
    for index, part in enumerate(message.content):
        if part.type not in _PARTS[message.role]:
            reason = f"Invalid value: {part.type[:60]!r}. A {message.role} message cannot hold it here."
            raise Refused("invalid_value", reason, f"item.content[{index}].type")
        key = "transcript" if part.type == "output_audio" else "text"
        content.append({"type": part.type, key: getattr(part, key) or ""})
    return stored("message", message.id, {"role": message.role, "content": content})
