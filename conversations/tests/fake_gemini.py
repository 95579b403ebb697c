"""Gemini's two APIs for tests: generate-content and interactions, as their SDK speaks to them."""

import json

from starlette.applications import Starlette
from starlette.routing import Route

from conversations.tests.fake_models import (
    BREAKS,
    CUT,
    HOLDS,
    SIGNATURE,
    Asked,
    Calls,
    FakeModel,
    Says,
    Tells,
    Thinks,
    check,
)


class FakeGemini(FakeModel):
    """`POST /v1/models/{model}:streamGenerateContent?alt=sse`."""

    @property
    def app(self):
        path = "/{version}/models/{model}:streamGenerateContent"
        return Starlette(routes=[Route(path, self.answer, methods=["POST"])])

    def read(self, body):
        contents = body["contents"]
        config = body.get("toolConfig", {}).get("functionCallingConfig", {})
        declared = [one for tool in body.get("tools", ()) for one in tool["functionDeclarations"]]
        for one in declared:
            check(one.get("parameters_json_schema"))
        return Asked(
            "".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", ())),
            [
                ({"model": "assistant"}.get(one["role"], one["role"]), text)
                for one in contents
                if (text := "".join(part.get("text", "") for part in one["parts"] if not part.get("thought")))
            ],
            list(results(contents)),
            {one["name"]: one.get("parameters_json_schema") for one in declared},
            config.get("mode", "auto").lower(),
            {},
            {},
        )

    def told(self, parts):
        finish = "STOP"
        number = 0
        for part in parts:
            match part:
                case Says(pieces):
                    yield from (candidate([{"text": piece}]) for piece in pieces)
                case Thinks(text):
                    yield candidate([{"text": text, "thought": True, "thoughtSignature": SIGNATURE}])
                case Calls():
                    function = {"name": part.name, "args": part.arguments, "id": part.id or f"fc_{number}"}
                    yield candidate([{"functionCall": function, "thoughtSignature": SIGNATURE}])
                    number += 1
                case Tells(message):
                    yield {"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}}
                    return
            if part is CUT:
                finish = "MAX_TOKENS"
            if part in (HOLDS, BREAKS):
                yield part
        yield candidate([{"text": ""}], finish)


def candidate(parts, finish=None):
    one = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        one["finishReason"] = finish
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}
    return {"candidates": [one], "modelVersion": "fake", "responseId": "r1", "usageMetadata": usage}


def results(contents):
    """Each result with its call; what a call was signed with comes back with it."""
    waiting = []
    for content in contents:
        answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if answers:
            assert [one.get("id") for one in answers] == [one.get("id") for one in waiting]
            assert [one["name"] for one in answers] == [one["name"] for one in waiting]
            yield from ((one["name"], one["response"]["output"]) for one in answers)
            waiting = []
            continue
        assert not waiting, "calls without results"
        for part in content["parts"]:
            if "functionCall" in part:
                assert part.get("thoughtSignature") == SIGNATURE, "a signature is missing"
                waiting.append(part["functionCall"])
    assert not waiting, "calls without results"


class FakeInteractions(FakeModel):
    """`POST /v1/interactions`, streaming."""

    @property
    def app(self):
        return Starlette(routes=[Route("/{version}/interactions", self.answer, methods=["POST"])])

    def read(self, body):
        steps = body["input"]
        assert body["stream"] is True
        assert body["store"] is False, "the service would keep what nobody heard"
        for one in body.get("tools", ()):
            assert one["type"] == "function"
            check(one.get("parameters"))
        names = {"user_input": "user", "model_output": "assistant"}
        return Asked(
            body.get("system_instruction", ""),
            [
                (names[one["type"]], "".join(part["text"] for part in one["content"]))
                for one in steps
                if one["type"] in names
            ],
            list(step_results(steps)),
            {one["name"]: one.get("parameters") for one in body.get("tools", ())},
            body.get("generation_config", {}).get("tool_choice", "auto"),
            {},
            {},
        )

    def told(self, parts):
        yield event("interaction.created", interaction=interaction("in_progress"))
        yield event("interaction.status_update", interaction_id="i1", status="in_progress")
        yield event("interaction.heartbeat", note="an event of a kind that nobody knows yet")
        status = "completed"
        for index, part in enumerate(parts):
            match part:
                case Says(pieces):
                    yield event("step.start", index=index, step={"type": "model_output"})
                    for piece in pieces:
                        yield event("step.delta", index=index, delta={"type": "text", "text": piece})
                case Thinks(text):
                    yield from thought(index, text)
                case Calls():
                    status = "requires_action"
                    yield from called(part, index)
                case Tells(message):
                    yield event("error", error={"code": "unavailable", "message": message})
                    return
            if part is CUT:
                status = "incomplete"
            elif part in (HOLDS, BREAKS):
                yield part
            elif parts[index + 1 : index + 2] != (CUT,):
                yield event("step.stop", index=index)
        yield event("interaction.completed", interaction=interaction(status))
        yield "event: done\ndata: [DONE]\n\n"


def event(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'event_type': kind, **fields})}\n\n"


def interaction(status):
    return {"id": "i1", "object": "interaction", "model": "m", "status": status, "usage": {"total_tokens": 5}}


def thought(index, text):
    yield event("step.start", index=index, step={"type": "thought"})
    summary = {"type": "thought_summary", "content": {"type": "text", "text": text}}
    yield event("step.delta", index=index, delta=summary)
    yield event("step.delta", index=index, delta={"type": "thought_signature", "signature": SIGNATURE})


def called(call, index):
    id_ = call.id or f"call_{index}"
    step = {"type": "function_call", "id": id_, "name": call.name, "arguments": {}}
    yield event("step.start", index=index, step=step)
    text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    for start in range(0, len(text), 7):
        delta = {"type": "arguments_delta", "arguments": text[start : start + 7]}
        yield event("step.delta", index=index, delta=delta)


def step_results(steps):
    """Each result with its call, by id; thoughts come back signed."""
    waiting = {}
    for step in steps:
        match step["type"]:
            case "function_call":
                assert isinstance(step["arguments"], dict)
                assert step["id"] not in waiting, "an id twice"
                waiting[step["id"]] = step["name"]
            case "function_result":
                assert waiting.pop(step["call_id"]) == step["name"]
                yield step["name"], step["result"]
            case "thought":
                assert step.get("signature") == SIGNATURE, "a signature is missing"
    assert not waiting, "calls without results"
