"""The names and shapes from before GA, which some services still speak, and GA's: each into the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

NAMES: Mapping[str, str] = {
    "response.text.delta": "response.output_text.delta",
    "response.text.done": "response.output_text.done",
    "response.audio.delta": "response.output_audio.delta",
    "response.audio.done": "response.output_audio.done",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.audio_transcript.done": "response.output_audio_transcript.done",
}
_PARTS = {"text": "output_text", "audio": "output_audio"}
_PCM: Mapping[str, Any] = {"type": "audio/pcm", "rate": 24_000}
_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "pcm16": _PCM,
    "g711_ulaw": {"type": "audio/pcmu"},
    "g711_alaw": {"type": "audio/pcma"},
}
# Flat name, side of GA's `audio`, and name there.
_AUDIO = (
    ("input_audio_format", "input", "format"),
    ("input_audio_transcription", "input", "transcription"),
    ("input_audio_noise_reduction", "input", "noise_reduction"),
    ("turn_detection", "input", "turn_detection"),
    ("output_audio_format", "output", "format"),
    ("voice", "output", "voice"),
    ("speed", "output", "speed"),
)
_RENAMED = {"max_response_output_tokens": "max_output_tokens"}

Event = Mapping[str, Any]


def to_ga(event: Event) -> dict[str, Any]:
    """The service's event with GA's name and shape; one that has them already stays as it is."""
    return _translated(event, NAMES.get(event["type"], event["type"]), _nested, _ga_item)


def from_ga(event: Event) -> dict[str, Any]:
    """A client's event as a service from before GA understands it."""
    return _translated(event, event["type"], _flat, _beta_item)


def _translated(
    event: Event, name: str, settings: Callable[[Event], dict[str, Any]], item: Callable[[Event], Any]
) -> dict[str, Any]:
    told = {**event, "type": name}
    for key in ("session", "response"):
        if isinstance(told.get(key), dict):
            told[key] = settings(told[key])
            output = told[key].get("output")
            if isinstance(output, list):
                told[key]["output"] = [item(one) for one in output]
    if isinstance(told.get("item"), dict):
        told["item"] = item(told["item"])
    return told


def _nested(settings: Event) -> dict[str, Any]:
    """The settings of a session or a response, nested as in GA."""
    told = {_RENAMED.get(name, name): value for name, value in settings.items()}
    modalities = told.pop("modalities", None)
    if isinstance(modalities, list):
        told["output_modalities"] = ["audio"] if "audio" in modalities else ["text"]
    for flat, side, name in _AUDIO:
        if flat in told:
            value = told.pop(flat)
            audio = told["audio"] = {**(told.get("audio") or {})}
            kept = dict(_FORMATS.get(str(value), _PCM)) if name == "format" else value
            audio[side] = {**(audio.get(side) or {}), name: kept}
    return told


def _flat(settings: Event) -> dict[str, Any]:
    """The same settings before GA, which knew one kind of session only."""
    told = dict(settings)
    told.pop("type", None)
    modalities, audio = told.pop("output_modalities", None), told.pop("audio", None) or {}
    if modalities:
        told["modalities"] = ["text", "audio"] if "audio" in modalities else ["text"]
    if "max_output_tokens" in told:
        told["max_response_output_tokens"] = told.pop("max_output_tokens")
    for flat, side, name in _AUDIO:
        value = (audio.get(side) or {}).get(name, ...)
        if value is not ...:
            told[flat] = "pcm16" if name == "format" else value
    return told


def _ga_item(item: Any) -> Any:
    return _item(item, _PARTS)


def _beta_item(item: Any) -> Any:
    return _item(item, {ga: old for old, ga in _PARTS.items()})


def _item(item: Any, kinds: Mapping[str, str]) -> Any:
    """The item with its parts' types renamed; what the caller said has the same types everywhere."""
    if not isinstance(item, dict) or not isinstance(item.get("content"), list):
        return item
    parts = [
        {**part, "type": kinds.get(str(part.get("type")), part.get("type"))}
        if isinstance(part, dict)
        else part
        for part in item["content"]
    ]
    return {**item, "content": parts}
