"""What a speech service says, as GA events: whole responses, for scripts and for tests without a socket."""

import base64
import json
from dataclasses import dataclass
from itertools import count

BYTES_A_MILLISECOND = 48


@dataclass(frozen=True)
class Says:
    """An answer in words; one that does not end goes on until it is cancelled."""

    text: str
    pieces: int = 3
    audio_ms: int = 120
    ends: bool = True


@dataclass(frozen=True)
class Calls:
    """An answer that picks tools natively: (name, arguments) each, arguments as an object or as text."""

    calls: tuple
    narration: str = ""

    @classmethod
    def one(cls, name, arguments=None, narration=""):
        return cls(((name, {} if arguments is None else arguments),), narration)


@dataclass(frozen=True)
class Fails:
    """A response that the service gives up."""

    code: str = "rate_limit_exceeded"


def sound(milliseconds):
    """Silence of that length, base64 PCM16 at 24 kHz."""
    return base64.b64encode(bytes(milliseconds * BYTES_A_MILLISECOND)).decode()


def pieces_of(text, pieces):
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


class Numbers:
    """Ids that tell what they are of: resp_1, item_1, call_1."""

    def __init__(self):
        self._counts = {}

    def next(self, kind):
        return f"{kind}_{next(self._counts.setdefault(kind, count(1)))}"


def created(response_id, **fields):
    response = {"id": response_id, "object": "realtime.response", "status": "in_progress", "output": []}
    return {"type": "response.created", "response": {**response, **fields}}


def done(response_id, output=(), status="completed", code=""):
    details = {"type": status, "error": {"type": "server_error", "code": code}} if code else None
    response = {"id": response_id, "object": "realtime.response", "status": status, "output": list(output)}
    return {"type": "response.done", "response": {**response, "status_details": details}}


def message(item_id, text, modality="audio", status="completed"):
    kind, field = ("output_audio", "transcript") if modality == "audio" else ("output_text", "text")
    content = [{"type": kind, field: text}] if text else []
    item = {"id": item_id, "object": "realtime.item", "type": "message", "role": "assistant"}
    return {**item, "status": status, "content": content}


def call_item(item_id, call_id, name, arguments="", status="completed"):
    item = {"id": item_id, "object": "realtime.item", "type": "function_call", "status": status}
    return {**item, "call_id": call_id, "name": name, "arguments": arguments}


def item_events(item, previous=None):
    """How a service acknowledges an item."""
    fields = {"previous_item_id": previous, "item": item}
    return [{"type": "conversation.item.added", **fields}, {"type": "conversation.item.done", **fields}]


def committed(item_id, text):
    """What the caller said becomes an item, and is understood."""
    item = {"id": item_id, "type": "message", "role": "user", "status": "completed"}
    content = [{"type": "input_audio", "transcript": None}]
    kind = "conversation.item.input_audio_transcription.completed"
    return [
        {"type": "input_audio_buffer.committed", "item_id": item_id, "previous_item_id": None},
        *item_events({**item, "content": content}),
        {
            "type": kind,
            "item_id": item_id,
            "content_index": 0,
            "transcript": text,
            "usage": {"type": "duration", "seconds": 1},
        },
    ]


def spoken(response_id, item_id, says, modality="audio"):
    """The events of one message, between its response's beginning and its end."""
    place = {"response_id": response_id, "item_id": item_id, "output_index": 0}
    part_place = {**place, "content_index": 0}
    empty = message(item_id, "", modality, "in_progress")
    part = {"type": "audio", "transcript": ""} if modality == "audio" else {"type": "text", "text": ""}
    events = [
        {"type": "response.output_item.added", "response_id": response_id, "output_index": 0, "item": empty},
        {"type": "conversation.item.added", "previous_item_id": None, "item": empty},
        {"type": "response.content_part.added", **part_place, "part": part},
    ]
    texts = pieces_of(says.text, says.pieces)
    name = "response.output_audio_transcript" if modality == "audio" else "response.output_text"
    for text in texts:
        events.append({"type": f"{name}.delta", **part_place, "delta": text})
        if modality == "audio" and says.audio_ms:
            delta = sound(says.audio_ms // len(texts))
            events.append({"type": "response.output_audio.delta", **part_place, "delta": delta})
    if not says.ends:
        return events
    whole = message(item_id, says.text, modality)
    field = "transcript" if modality == "audio" else "text"
    if modality == "audio":
        events.append({"type": "response.output_audio.done", **part_place})
    return [
        *events,
        {"type": f"{name}.done", **part_place, field: says.text},
        {"type": "response.content_part.done", **part_place, "part": {**part, field: says.text}},
        {"type": "response.output_item.done", "response_id": response_id, "output_index": 0, "item": whole},
        {"type": "conversation.item.done", "previous_item_id": None, "item": whole},
    ]


def called(response_id, item, index=0):
    """The events of one native call."""
    place = {"response_id": response_id, "item_id": item["id"], "output_index": index}
    about = {"call_id": item["call_id"], "name": item["name"]}
    started = {**item, "arguments": "", "status": "in_progress"}
    head = {"response_id": response_id, "output_index": index}
    arguments = item["arguments"]
    return [
        {"type": "response.output_item.added", **head, "item": started},
        {"type": "conversation.item.added", "previous_item_id": None, "item": started},
        {"type": "response.function_call_arguments.delta", **place, **about, "delta": arguments},
        {"type": "response.function_call_arguments.done", **place, **about, "arguments": arguments},
        {"type": "response.output_item.done", **head, "item": item},
        {"type": "conversation.item.done", "previous_item_id": None, "item": item},
    ]


def response(reply, numbers, modality="audio"):
    """All events of one response, in GA's order."""
    response_id = numbers.next("resp")
    events, output = [created(response_id)], []
    if isinstance(reply, Fails):
        return [*events, done(response_id, status="failed", code=reply.code)]
    words = reply if isinstance(reply, Says) else Says(reply.narration, audio_ms=60)
    if words.text:
        item_id = numbers.next("item")
        events += spoken(response_id, item_id, words, modality)
        output.append(message(item_id, words.text, modality))
    for name, arguments in reply.calls if isinstance(reply, Calls) else ():
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        item = call_item(numbers.next("item"), numbers.next("call"), name, text)
        events += called(response_id, item, len(output))
        output.append(item)
    return [*events, done(response_id, output)] if words.ends else events
