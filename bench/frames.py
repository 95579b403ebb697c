"""What goes over the wire while it is measured: events of known sizes, and one whole answer around them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

# Pieces of one answer; 500 of 20 ms are ten seconds of speech.
PIECES = 500
FLOOD = "FLOOD"
_WORDS = "the water is calm "
_SOUND = "UklGRiQA"


@dataclass(frozen=True, slots=True)
class Load:
    """One kind of traffic: what a client sends, and what the service answers each time, in bytes."""

    name: str
    size: int
    spoken: bool


LOADS = (Load("event", 200, False), Load("frame", 1_400, True), Load("delta", 12_288, True))


def asked(size: int) -> bytes:
    """A client's piece of audio, of exactly so many bytes."""
    return _filled({"type": "input_audio_buffer.append"}, "audio", size, _SOUND)


def flood() -> bytes:
    """What makes the bench's service speak without end."""
    return _event("input_audio_buffer.append", audio=FLOOD)


def answered(load: Load, number: int) -> bytes:
    """What the service answers: a piece of the transcript or of audio, of exactly the load's size."""
    kind = "response.output_audio.delta" if load.spoken else "response.output_audio_transcript.delta"
    event = {"type": kind, **_place(number), "output_index": 0, "content_index": 0}
    return _filled(event, "delta", load.size, _SOUND if load.spoken else _WORDS)


def opening(number: int) -> list[bytes]:
    """How an answer begins, its first word included."""
    place = _place(number)
    part = {**place, "output_index": 0, "content_index": 0}
    added = {"response_id": place["response_id"], "output_index": 0, "item": _item(number, "")}
    return [
        _event("response.created", response=_response(number, "in_progress", [])),
        _event("response.output_item.added", **added),
        _event("response.content_part.added", **part, part={"type": "audio", "transcript": ""}),
        _event("response.output_audio_transcript.delta", **part, delta="Well, "),
    ]


def ending(number: int, text: str) -> list[bytes]:
    """How an answer ends."""
    place = _place(number)
    part = {**place, "output_index": 0, "content_index": 0}
    item = _item(number, text)
    return [
        _event("response.output_audio.done", **part),
        _event("response.output_audio_transcript.done", **part, transcript=text),
        _event("response.content_part.done", **part, part={"type": "audio", "transcript": text}),
        _event("response.output_item.done", response_id=place["response_id"], output_index=0, item=item),
        _event("response.done", response=_response(number, "completed", [item])),
    ]


def text_of(load: Load, pieces: int) -> str:
    """Everything that an answer of so many pieces says."""
    piece = "" if load.spoken else json.loads(answered(load, 0))["delta"]
    return "Well, " + piece * pieces


def created() -> bytes:
    """The service's first event."""
    return _event("session.created", session={"id": "sess_bench", "type": "realtime"})


def updated(declared: dict[str, Any]) -> bytes:
    """The service takes a session as it was declared."""
    return _event("session.updated", session={"id": "sess_bench", **declared})


def _place(number: int) -> dict[str, str]:
    return {"response_id": f"resp_{number:09}", "item_id": f"item_{number:09}"}


def _item(number: int, text: str) -> dict[str, Any]:
    content = [{"type": "output_audio", "transcript": text}] if text else []
    place = {"id": f"item_{number:09}", "object": "realtime.item", "type": "message"}
    return {
        **place,
        "status": "completed" if text else "in_progress",
        "role": "assistant",
        "content": content,
    }


def _response(number: int, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": f"resp_{number:09}", "object": "realtime.response", "status": status, "output": output}


def _event(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}, separators=(",", ":")).encode()


def _filled(event: dict[str, Any], field: str, size: int, pattern: str) -> bytes:
    """The event with so much text in a field that it has exactly this size."""
    kind, others = event["type"], {name: value for name, value in event.items() if name != "type"}
    room = size - len(_event(kind, **others, **{field: ""}))
    return _event(kind, **others, **{field: (pattern * (room // len(pattern) + 1))[:room]})
