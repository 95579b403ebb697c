"""GA's frames and the core's events, one for the other. No socket here; other dialects: `interpreter`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.realtime import deltas, prompt, shapes


class Kind(msgspec.Struct):
    """What every frame is sorted by; the rest of it is decoded only where the core needs it."""

    type: str


@dataclass(frozen=True, slots=True)
class SessionUpdated:
    """The service tells its session; between the two sides of the wire, nothing for the core.

    `session` is what the browser may see of it, `tools` are the names that it holds.
    """

    session: Mapping[str, Any]
    tools: frozenset[str]


Found = e.Event | SessionUpdated

UPDATED = "session.updated"

_kind = msgspec.json.Decoder(Kind)
_whole = msgspec.json.Decoder(dict[str, Any])

# What a frame can raise that is no event, or not one of the shape that its type promises. Too deep is one of
# them: msgspec says so with a RecursionError.
UNREADABLE = (msgspec.DecodeError, RecursionError)
MISSHAPEN = (AttributeError, KeyError, TypeError, ValueError, OverflowError)

# Events that the browser sees and nobody acts on.
PASSING = frozenset(
    {
        "input_audio_buffer.cleared",
        "input_audio_buffer.timeout_triggered",
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.segment",
        "conversation.item.deleted",
        "rate_limits.updated",
    }
)


def kind(frame: str | bytes) -> str:
    """The event's type; empty where the frame is no event."""
    try:
        return _kind.decode(frame).type
    except UNREADABLE:
        return ""


def whole(frame: str | bytes) -> dict[str, Any]:
    """The whole event; raises one of UNREADABLE where it is none."""
    return _whole.decode(frame)


def is_known(name: str) -> bool:
    """Whether anybody may see, or acts on, an event of that type."""
    return name in (deltas.AUDIO, UPDATED) or name in _READERS


def decode(event: dict[str, Any], frame: str) -> tuple[Found, ...]:
    """The core's events of one whole event, fitted to its shape, and its frame.

    Raises one of MISSHAPEN.
    """
    return (audio(frame),) if event["type"] == deltas.AUDIO else _READERS[event["type"]](event, frame)


def session_updated(event: dict[str, Any], frame: str) -> SessionUpdated:
    """What a whole `session.updated` tells, not fitted yet; raises one of MISSHAPEN."""
    names = declared_names(event["session"] or {})
    event, _ = shapes.fitted(event, frame)
    return SessionUpdated(event["session"] or {}, names)


def encode(effect: fx.Effect, event_id: str, plain_instructions: str | None = None, ticket: str = "") -> str:
    """The frame for an effect that goes to the service.

    `plain_instructions` are those without marker rules, for a response in which no tool may be picked; a
    `ticket` ends the instructions of a line.
    """
    event: dict[str, Any]
    match effect:
        case fx.SendItem(item):
            event = {"type": "conversation.item.create", "item": item}
        case fx.CreateResponse(options, last, own_id, line):
            response = _line(line, ticket) if line else _response(options, last, plain_instructions)
            event, event_id = {"type": "response.create", "response": response}, own_id or event_id
        case fx.CancelResponse(response_id):
            event = {"type": "response.cancel", "response_id": response_id}
        case fx.Truncate(item_id, content_index, audio_end_ms, own_id):
            event_id = own_id or event_id
            event = {
                "type": "conversation.item.truncate",
                "item_id": item_id,
                "content_index": content_index,
                "audio_end_ms": audio_end_ms,
            }
        case fx.Commit():
            event = {"type": "input_audio_buffer.commit"}
        case fx.Retrieve(item_id, own_id):
            event, event_id = {"type": "conversation.item.retrieve", "item_id": item_id}, own_id
        case _:
            raise TypeError(f"{type(effect).__name__} does not go to the speech service")
    return json.dumps({**event, "event_id": event_id}, ensure_ascii=False)


def session_update(session: Mapping[str, Any], event_id: str) -> str:
    """The frame that declares a session."""
    event = {"type": "session.update", "event_id": event_id, "session": {"type": "realtime", **session}}
    return json.dumps(event, ensure_ascii=False)


def declared_names(session: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tools that a session of the service holds."""
    tools = session.get("tools")
    names = (tool.get("name") for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
    return frozenset(name for name in names if isinstance(name, str))


def error_code(event: Mapping[str, Any]) -> str:
    """The code of an `error` event; some services put it into `type`."""
    error = event.get("error") or {}
    code = error.get("code") or error.get("type") or ""
    return str(code)[:64] if str(code).replace("_", "").isalnum() else "service_error"


def _line(line: str, ticket: str) -> dict[str, Any]:
    """A response that says one sentence; without input nothing else is there to be answered."""
    order = prompt.ticketed(prompt.line(line), ticket)
    return {"instructions": order, "tool_choice": "none", "input": []}


def _response(options: Mapping[str, Any], last: bool, plain_instructions: str | None) -> dict[str, Any]:
    response = dict(options)
    if last:
        response["tool_choice"] = "none"
        if plain_instructions is not None:
            response["instructions"] = plain_instructions
    return response


def audio(frame: str) -> e.AudioDelta:
    """A piece of audio, of known fields only; raises TypeError where it is none."""
    piece = deltas.read(frame)
    if not isinstance(piece, e.AudioDelta):
        raise TypeError("not audio")
    return piece


Reader = Callable[[dict[str, Any], str], tuple[Found, ...]]


def _speech_started(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    return (e.SpeechStarted(frame, str(event.get("item_id") or "")),)


def _speech_stopped(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    return (e.SpeechStopped(frame, str(event.get("item_id") or "")),)


def _committed(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    item_id, previous = str(event.get("item_id") or ""), str(event.get("previous_item_id") or "")
    return (e.Committed(item_id, previous, frame),)


def _heard(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    text = event.get("transcript")
    return (e.Heard(str(event.get("item_id") or ""), text if isinstance(text, str) else None, frame),)


def _text_delta(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    text, place = str(event["delta"] or ""), _place(event)
    index, spoken = int(event.get("content_index") or 0), "_transcript." in event["type"]
    return (e.TextDelta(*place, index, text, frame, spoken),)


def _text_done(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    text, place = str(event.get("transcript") or event.get("text") or ""), _place(event)
    index, spoken = int(event.get("content_index") or 0), "_transcript." in event["type"]
    return (e.TextDone(*place, index, text, frame, spoken),)


def _structure(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    response_id, item_id = _place(event)
    index = int(event.get("content_index") or 0)
    texts = tuple((item_id, index, text) for text in _words(event.get("part") or {}))
    return (e.Structure(response_id, item_id, frame, texts=texts),)


def _output_item(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    item = event["item"]
    response_id, item_id = str(event.get("response_id") or ""), str(item.get("id") or "")
    if not _is_call(item):
        shape = e.Structure(response_id, item_id, frame, texts=_texts(item))
        return (shape,) if _is_message(item) else ()
    shape = e.Structure(response_id, item_id, frame, of_call=True, name=str(item.get("name") or ""))
    if event["type"] == "response.output_item.added":
        return (shape,)
    return (shape, _call(response_id, item))


def _call_arguments(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    name = event.get("name")
    partial, place = event["type"].endswith(".delta"), _place(event)
    texts = () if partial else ((place[1], 0, str(event.get("arguments") or "")),)
    known_as = name if isinstance(name, str) else ""
    shape = e.Structure(*place, frame, of_call=True, partial=partial, name=known_as, texts=texts)
    if partial or not isinstance(name, str):
        return (shape,)
    return (shape, _call(shape.response_id, {**event, "id": event.get("item_id")}))


def _call(response_id: str, item: Mapping[str, Any]) -> e.FunctionCall:
    return e.FunctionCall(
        response_id,
        str(item.get("id") or ""),
        str(item.get("call_id") or ""),
        str(item.get("name") or ""),
        str(item.get("arguments") or ""),
    )


def _response_created(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    response = event["response"]
    if response["id"] is None:
        # Where a service gives no ids, the first words announce an answer; elsewhere it is nonsense.
        return ()
    return (e.ResponseStarted(str(response["id"]), _with_output(event, frame, [])),)


def _response_done(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    response = event["response"]
    response_id = str(response.get("id") or "")
    details = response.get("status_details") or {}
    error = details.get("error") or {}
    code = str(error.get("code") or error.get("type") or details.get("reason") or "")
    output = [item for item in response.get("output") or () if _is_call(item) or _is_message(item)]
    finished = response.get("status") == "completed"
    told = tuple(_call(response_id, item) for item in output if _is_call(item))
    status = str(response.get("status") or "")
    texts = tuple(text for item in output for text in _texts(item))
    frame = _with_output(event, frame, output)
    return (e.ResponseDone(response_id, status, code, told if finished else (), frame, told, texts),)


def _with_output(event: dict[str, Any], frame: str, output: list[dict[str, Any]]) -> str:
    """The frame with these items only, of all that a service may list."""
    response = event["response"]
    if (response.get("output") or []) == output:
        return frame
    return json.dumps({**event, "response": {**response, "output": output}}, ensure_ascii=False)


def _is_call(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "function_call"


def _is_message(item: Mapping[str, Any]) -> bool:
    """Whether an item of a response is one that the assistant says."""
    return item.get("type") == "message" and (item.get("role") or "assistant") == "assistant"


def _item_echo(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    item = event["item"]
    item_id, item_kind, role, name = (str(item.get(key) or "") for key in ("id", "type", "role", "name"))
    previous, asked = str(event.get("previous_item_id") or ""), event["type"].endswith(".retrieved")
    return (e.ItemEcho(item_id, item_kind, role, name, frame, previous, asked, _texts(item)),)


def _texts(item: Mapping[str, Any]) -> tuple[e.Text, ...]:
    """The words of a message, by content part."""
    item_id, parts = str(item.get("id") or ""), enumerate(item.get("content") or ())
    return tuple((item_id, index, text) for index, part in parts for text in _words(part))


def _words(part: Mapping[str, Any]) -> tuple[str, ...]:
    """What a content part says; one that says it as text and as transcript says it twice."""
    return tuple(str(part[key]) for key in ("transcript", "text") if part.get(key))


def _truncated(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    return (e.Truncated(str(event.get("item_id") or ""), int(event.get("content_index") or 0), frame),)


def _error(event: dict[str, Any], frame: str) -> tuple[e.Event, ...]:
    error = event.get("error") or {}
    message, event_id = str(error.get("message") or ""), str(error.get("event_id") or "")
    return (e.ServiceError(error_code(event), message, event_id, frame),)


def _place(event: Mapping[str, Any]) -> tuple[str, str]:
    return str(event.get("response_id") or ""), str(event.get("item_id") or "")


_READERS: Mapping[str, Reader] = {
    **dict.fromkeys(PASSING, lambda _event, frame: (e.Passing(frame),)),
    "input_audio_buffer.speech_started": _speech_started,
    "input_audio_buffer.speech_stopped": _speech_stopped,
    "input_audio_buffer.committed": _committed,
    "conversation.item.input_audio_transcription.completed": _heard,
    "conversation.item.input_audio_transcription.failed": _heard,
    "response.created": _response_created,
    "response.output_text.delta": _text_delta,
    "response.output_text.done": _text_done,
    "response.output_audio_transcript.delta": _text_delta,
    "response.output_audio_transcript.done": _text_done,
    "response.output_audio.done": _structure,
    "response.content_part.added": _structure,
    "response.content_part.done": _structure,
    "response.output_item.added": _output_item,
    "response.output_item.done": _output_item,
    "response.function_call_arguments.delta": _call_arguments,
    "response.function_call_arguments.done": _call_arguments,
    "response.done": _response_done,
    "conversation.item.added": _item_echo,
    "conversation.item.done": _item_echo,
    "conversation.item.retrieved": _item_echo,
    "conversation.item.truncated": _truncated,
    "error": _error,
}
