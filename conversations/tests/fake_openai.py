"""A chat-completions server for tests, as strict about requests as the strictest that are used."""

import json
import re

from starlette.applications import Starlette
from starlette.routing import Route

from conversations.tests.fake_models import (
    BREAKS,
    CUT,
    HOLDS,
    Asked,
    Calls,
    FakeModel,
    Says,
    Tells,
    Thinks,
    check,
)

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
FIELDS = {
    "model",
    "messages",
    "stream",
    "tools",
    "tool_choice",
    "max_completion_tokens",
    "stream_options",
}


class FakeOpenAI(FakeModel):
    """`POST /v1/chat/completions`, streaming."""

    @property
    def app(self):
        return Starlette(routes=[Route("/v1/chat/completions", self.answer, methods=["POST"])])

    def read(self, body):
        assert set(body) <= FIELDS, set(body) - FIELDS
        assert body["stream"] is True
        messages = list(body["messages"])
        instructions = messages.pop(0)["content"] if messages[0]["role"] == "system" else ""
        return Asked(
            instructions,
            [(one["role"], one["content"]) for one in messages if one["role"] != "tool" and one["content"]],
            list(results(messages)),
            dict(map(declaration, body.get("tools", ()))),
            body.get("tool_choice", "auto"),
            {},
            {},
        )

    def told(self, parts):
        yield ": keep-alive\n\n"
        yield chunk({"role": "assistant", "content": ""})
        finish, number = "stop", 0
        for part in parts:
            match part:
                case Says(pieces):
                    yield from (chunk({"content": piece}) for piece in pieces)
                case Thinks(text):
                    yield chunk({"content": None, "reasoning_content": text, "reasoning": text})
                case Calls():
                    finish = "tool_calls"
                    yield from called(part, number)
                    number += 1
                case Tells(message):
                    yield {"error": {"message": message, "code": 500}}
                    return
            if part is CUT:
                finish = "length"
            if part in (HOLDS, BREAKS):
                yield part
        yield chunk({}, finish)
        yield {**chunk({}), "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}
        yield "data: [DONE]\n\n"


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def piece(index=None, call=None, name=None, arguments=None):
    """One delta of a tool call, with the fields that are given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fields = {"index": index, "id": call, "function": function or None}
    return {key: value for key, value in fields.items() if value is not None}


def called(call, number):
    text = json.dumps(call.arguments) if not isinstance(call.arguments, str) else call.arguments
    id_ = call.id or f"call_{number}"
    first = {**piece(number, id_, call.name, ""), "type": "function"}
    first["extra_content"] = {"google": {"thought_signature": f"sig-{number}"}}
    yield chunk({"tool_calls": [first]})
    for start in range(0, len(text), 7):
        yield chunk({"tool_calls": [piece(number, arguments=text[start : start + 7])]})


def declaration(tool):
    function = tool["function"]
    assert tool["type"] == "function"
    assert NAME.fullmatch(function["name"])
    check(function.get("parameters"))
    return function["name"], function.get("parameters")


def results(messages):
    """Each result with its call; calls and results must follow one another without a gap, by unique ids."""
    waiting, seen = {}, set()
    for message in messages:
        assert "content" in message, "a message without content"
        if message["role"] == "tool":
            call = waiting.pop(message["tool_call_id"])
            yield call["function"]["name"], message["content"]
            continue
        assert not waiting, "calls without results"
        assert message["content"] is not None or message.get("tool_calls")
        for call in message.get("tool_calls", ()):
            assert call["id"] not in seen, "an id twice"
            assert NAME.fullmatch(call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            seen.add(call["id"])
            waiting[call["id"]] = call
    assert not waiting, "calls without results"
