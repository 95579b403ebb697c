"""The service's events as a browser may see them: the known fields, each of its known kind, and no others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

# A shape is a kind of plain value, an object's fields, or a list of one shape. Null fits everywhere.
Shape = type | tuple[type, ...] | Mapping[str, Any] | list[Any]

_PLAIN = (str, int, float, bool)
# Ids, names and the like; a longer one is none, and would be remembered.
_LONGEST = 512
_NUMBER = (int, float)
_MISFIT = object()


def _fields(*names: str, shape: Shape = _PLAIN) -> dict[str, Shape]:
    return dict.fromkeys(names, shape)


_EVENT = _fields("type", "event_id")
_UTTERANCE = {**_EVENT, "item_id": _PLAIN, "content_index": _NUMBER}
_PLACE = {**_UTTERANCE, "response_id": _PLAIN, "output_index": _NUMBER}
_PART = {"type": _PLAIN, **_fields("text", "transcript", "audio", shape=str)}
_ITEM = {
    **_fields("id", "object", "type", "status", "role", "call_id", "name"),
    **_fields("arguments", "output", shape=str),
    "content": [_PART],
}
_FORMAT = {"type": _PLAIN, "rate": _NUMBER}
_COUNTED = _fields("text_tokens", "audio_tokens", "image_tokens", "cached_tokens", shape=_NUMBER)
_USAGE = {
    "type": _PLAIN,
    **_fields("seconds", "total_tokens", "input_tokens", "output_tokens", shape=_NUMBER),
    "input_token_details": {**_COUNTED, "cached_tokens_details": _COUNTED},
    "output_token_details": _COUNTED,
}
_RESPONSE = {
    **_fields("id", "object", "status", "conversation_id", "max_output_tokens"),
    # Without the service's own sentence, which may quote a key or the instructions.
    "status_details": {**_fields("type", "reason"), "error": _fields("type", "code")},
    "output": [_ITEM],
    "output_modalities": [_PLAIN],
    "audio": {"output": {"format": _FORMAT, "voice": _PLAIN}},
    "usage": _USAGE,
}
_ECHO = {**_EVENT, "previous_item_id": _PLAIN, "item": _ITEM}
_CALL = {**_PLACE, **_fields("call_id", "name"), **_fields("delta", "arguments", shape=str)}
_RESPONSE_ITEM = {**_EVENT, "response_id": _PLAIN, "output_index": _NUMBER, "item": _ITEM}
_LISTENING = _fields(
    *("type", "threshold", "prefix_padding_ms", "silence_duration_ms", "create_response"),
    *("interrupt_response", "idle_timeout_ms", "eagerness"),
)
SESSION: Mapping[str, Shape] = {
    **_fields("id", "object", "type", "model", "max_output_tokens", "expires_at"),
    "output_modalities": [_PLAIN],
    "audio": {
        "input": {
            "format": _FORMAT,
            "transcription": _fields("model", "language", "prompt"),
            "turn_detection": _LISTENING,
            "noise_reduction": _fields("type"),
        },
        "output": {"format": _FORMAT, "voice": _PLAIN, "speed": _NUMBER},
    },
}

_EVENTS: Mapping[str, Mapping[str, Shape]] = {
    "input_audio_buffer.cleared": _EVENT,
    "input_audio_buffer.committed": {**_EVENT, **_fields("item_id", "previous_item_id")},
    "input_audio_buffer.speech_started": {**_EVENT, "item_id": _PLAIN, "audio_start_ms": _NUMBER},
    "input_audio_buffer.speech_stopped": {**_EVENT, "item_id": _PLAIN, "audio_end_ms": _NUMBER},
    "input_audio_buffer.timeout_triggered": {
        **_EVENT,
        "item_id": _PLAIN,
        **_fields("audio_start_ms", "audio_end_ms", shape=_NUMBER),
    },
    "conversation.item.input_audio_transcription.delta": {**_UTTERANCE, "delta": str},
    "conversation.item.input_audio_transcription.segment": {
        **_UTTERANCE,
        **_fields("id", "text", "speaker"),
        **_fields("start", "end", shape=_NUMBER),
    },
    "conversation.item.input_audio_transcription.completed": {
        **_UTTERANCE,
        "transcript": str,
        "usage": _USAGE,
    },
    "conversation.item.input_audio_transcription.failed": {**_UTTERANCE, "error": _fields("type", "code")},
    "conversation.item.truncated": {**_UTTERANCE, "audio_end_ms": _NUMBER},
    "conversation.item.deleted": {**_EVENT, "item_id": _PLAIN},
    "conversation.item.added": _ECHO,
    "conversation.item.created": _ECHO,
    "conversation.item.done": _ECHO,
    "conversation.item.retrieved": _ECHO,
    "rate_limits.updated": {
        **_EVENT,
        "rate_limits": [{"name": _PLAIN, **_fields("limit", "remaining", "reset_seconds", shape=_NUMBER)}],
    },
    "response.created": {**_EVENT, "response": _RESPONSE},
    "response.done": {**_EVENT, "response": _RESPONSE},
    "response.output_text.delta": {**_PLACE, "delta": str},
    "response.output_text.done": {**_PLACE, "text": str},
    "response.output_audio_transcript.delta": {**_PLACE, "delta": str},
    "response.output_audio_transcript.done": {**_PLACE, "transcript": str},
    "response.output_audio.delta": {**_PLACE, "delta": str},
    "response.output_audio.done": _PLACE,
    "response.content_part.added": {**_PLACE, "part": _PART},
    "response.content_part.done": {**_PLACE, "part": _PART},
    "response.output_item.added": _RESPONSE_ITEM,
    "response.output_item.done": _RESPONSE_ITEM,
    "response.function_call_arguments.delta": _CALL,
    "response.function_call_arguments.done": _CALL,
    "session.updated": {**_EVENT, "session": SESSION},
    "error": {**_EVENT, "error": _fields("type", "code", "message", "param", "event_id")},
}


def fitted(event: dict[str, Any], frame: str) -> tuple[dict[str, Any], str]:
    """The event with what is known of its type, and its frame: the same text where nothing was left out."""
    kept = fit(event, _EVENTS[event["type"]])
    return kept, frame if kept == event else json.dumps(kept, ensure_ascii=False)


def fit(value: Mapping[str, Any], shape: Mapping[str, Shape]) -> dict[str, Any]:
    """An object with those of its fields that fit."""
    kept: dict[str, Any] = {}
    for name, one in value.items():
        inside = shape.get(name)
        if inside is not None and (fitting := _fit(one, inside)) is not _MISFIT:
            kept[name] = fitting
    return kept


def _fit(value: Any, shape: Shape) -> Any:
    if value is None:
        return None
    if isinstance(shape, type | tuple):
        too_long = shape is _PLAIN and isinstance(value, str) and len(value) > _LONGEST
        return value if isinstance(value, shape) and not too_long else _MISFIT
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _MISFIT
        items = [_fit(item, shape[0]) for item in value]
        return [item for item in items if item is not None and item is not _MISFIT]
    return fit(value, shape) if isinstance(value, dict) else _MISFIT
