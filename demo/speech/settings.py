"""What a session is set to, how `session.update` changes it, and how it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from demo.speech.client_events import Detection, InputPatch, OutputPatch, SessionPatch, ToolChoice
from demo.speech.engine import Parts
from demo.speech.events import Item, audio_format

MODEL = "vocero-demo-speech"
HEARING_MODEL = "whisper-tiny.en"
_PATIENCE = {"low": 1000, "medium": 700, "auto": 700, "high": 400}
_PLAIN = ("instructions", "tools", "tool_choice", "output_modalities", "max_output_tokens")


SERVER_VAD = Detection()


@dataclass(frozen=True, slots=True)
class Settings:
    """A session's settings; `prompt` is None where no transcripts are wanted, `detection` in manual turns."""

    instructions: str = ""
    tools: Sequence[Item] = ()
    tool_choice: ToolChoice = "auto"
    output_modalities: tuple[str, ...] = ("audio",)
    max_output_tokens: int | str = "inf"
    input_rate: int = 24000
    output_rate: int = 24000
    speed: float = 1.0
    prompt: str | None = None
    detection: Detection | None = SERVER_VAD


def merged(settings: Settings, patch: SessionPatch) -> Settings:
    """The settings with what the patch sets, and only that, changed."""
    changes: dict[str, Any] = {
        name: getattr(patch, name) for name in _PLAIN if getattr(patch, name) is not None
    }
    if patch.audio and patch.audio.input:
        changes |= _input_changes(settings, patch.audio.input)
    if patch.audio and patch.audio.output:
        changes |= _output_changes(patch.audio.output)
    return replace(settings, **changes)


def shown(settings: Settings, session_id: str, expires_at: int, parts: Parts) -> Item:
    """The `session` object of `session.created` and `session.updated`; it says what this service is."""
    detection = settings.detection
    transcription = None if settings.prompt is None else _transcription(settings.prompt)
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": session_id,
        "model": MODEL,
        "expires_at": expires_at,
        "output_modalities": list(settings.output_modalities),
        "instructions": settings.instructions,
        "tools": list(settings.tools),
        "tool_choice": settings.tool_choice,
        "max_output_tokens": settings.max_output_tokens,
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "include": None,
        "audio": {
            "input": {
                "format": audio_format(settings.input_rate),
                "transcription": transcription,
                "noise_reduction": None,
                "turn_detection": detection.model_dump(exclude={"eagerness"}) if detection else None,
            },
            "output": {
                "format": audio_format(settings.output_rate),
                "voice": parts.voice_name,
                "speed": settings.speed,
            },
        },
        "demo": {"mode": parts.mode, "hearing": parts.hearing, "voice": parts.voice_name},
    }


def _input_changes(settings: Settings, patch: InputPatch) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if patch.format:
        changes["input_rate"] = patch.format.rate
    if "transcription" in patch.model_fields_set:
        wanted = patch.transcription
        changes["prompt"] = None if wanted is None else wanted.prompt or ""
    if "turn_detection" in patch.model_fields_set:
        changes["detection"] = _detection(settings.detection, patch.turn_detection)
    return changes


def _output_changes(patch: OutputPatch) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if patch.format:
        changes["output_rate"] = patch.format.rate
    if patch.speed is not None:
        changes["speed"] = patch.speed
    return changes


def _detection(current: Detection | None, wanted: Detection | None) -> Detection | None:
    """The new detection; this service goes by silence, so a semantic one becomes a wait of fitting length."""
    if wanted is None:
        return None
    changes = {name: getattr(wanted, name) for name in wanted.model_fields_set - {"type"}}
    if wanted.type == "semantic_vad":
        changes["silence_duration_ms"] = _PATIENCE[wanted.eagerness]
    return (current or SERVER_VAD).model_copy(update=changes)


def _transcription(prompt: str) -> Item:
    return {"model": HEARING_MODEL, "language": "en", "prompt": prompt}
