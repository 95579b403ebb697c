"""What a client may send: the GA client events, checked at the door; unknown fields are ignored."""

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from demo.speech.events import Refused

Id = Annotated[str, Field(min_length=1, max_length=32)]
Modalities = Annotated[list[Literal["text", "audio"]], Field(min_length=1, max_length=1)]
OutputTokens = Annotated[int, Field(ge=1, le=4096)] | Literal["inf"]
ToolChoice = Literal["auto", "none", "required"] | dict[str, Any]
Tools = list[dict[str, Any]]

Model = TypeVar("Model", bound="Loose")

_CODES = {"missing": "missing_required_parameter"}


class Loose(BaseModel):
    """A part of a client event; what it does not name is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Format(Loose):
    """`audio.*.format`."""

    type: Literal["audio/pcm"]
    rate: Literal[16000, 24000] = 24000


class Detection(Loose):
    """`audio.input.turn_detection`."""

    type: Literal["server_vad", "semantic_vad"] = "server_vad"
    threshold: float = Field(default=0.5, ge=0, le=1)
    prefix_padding_ms: int = Field(default=300, ge=0, le=2000)
    silence_duration_ms: int = Field(default=500, ge=100, le=10_000)
    create_response: bool = True
    interrupt_response: bool = True
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"


class Transcription(Loose):
    """`audio.input.transcription`; the model is this service's own, whatever is asked for."""

    prompt: str | None = None


class InputPatch(Loose):
    """`audio.input`."""

    format: Format | None = None
    transcription: Transcription | None = None
    turn_detection: Detection | None = None


class OutputPatch(Loose):
    """`audio.output`; there is one voice, whatever is asked for."""

    format: Format | None = None
    speed: float | None = Field(default=None, ge=0.25, le=1.5)


class AudioPatch(Loose):
    """`audio`."""

    input: InputPatch | None = None
    output: OutputPatch | None = None


class SessionPatch(Loose):
    """The `session` of `session.update`: only what it sets changes."""

    type: Literal["realtime"]
    instructions: str | None = None
    tools: Tools | None = None
    tool_choice: ToolChoice | None = None
    output_modalities: Modalities | None = None
    max_output_tokens: OutputTokens | None = None
    audio: AudioPatch | None = None


class ResponsePatch(Loose):
    """The `response` of `response.create`: what differs from the session for this response."""

    instructions: str | None = None
    tools: Tools | None = None
    tool_choice: ToolChoice | None = None
    output_modalities: Modalities | None = None
    max_output_tokens: OutputTokens | None = None
    metadata: dict[str, str] | None = None
    conversation: str | None = None
    input: list[dict[str, Any]] | None = None


class SessionUpdate(Loose):
    """`session.update`."""

    session: SessionPatch


class AudioAppend(Loose):
    """`input_audio_buffer.append`: base64 PCM16."""

    audio: str


class AudioCommit(Loose):
    """`input_audio_buffer.commit`."""


class AudioClear(Loose):
    """`input_audio_buffer.clear`."""


class ItemCreate(Loose):
    """`conversation.item.create`."""

    item: dict[str, Any]
    previous_item_id: str | None = None


class ItemRetrieve(Loose):
    """`conversation.item.retrieve`."""

    item_id: str


class ItemDelete(Loose):
    """`conversation.item.delete`."""

    item_id: str


class ItemTruncate(Loose):
    """`conversation.item.truncate`."""

    item_id: str
    content_index: int
    audio_end_ms: int = Field(ge=0)


class ResponseCreate(Loose):
    """`response.create`."""

    response: ResponsePatch | None = None


class ResponseCancel(Loose):
    """`response.cancel`."""

    response_id: str | None = None


KINDS: dict[str, type[Loose]] = {
    "session.update": SessionUpdate,
    "input_audio_buffer.append": AudioAppend,
    "input_audio_buffer.commit": AudioCommit,
    "input_audio_buffer.clear": AudioClear,
    "conversation.item.create": ItemCreate,
    "conversation.item.retrieve": ItemRetrieve,
    "conversation.item.delete": ItemDelete,
    "conversation.item.truncate": ItemTruncate,
    "response.create": ResponseCreate,
    "response.cancel": ResponseCancel,
}


def document(message: str | bytes) -> dict[str, Any]:
    """The JSON object of one message; raises Refused."""
    try:
        found = json.loads(message)
    except ValueError as wrong:
        raise Refused("invalid_json", "The message is not valid JSON.") from wrong
    if not isinstance(found, dict):
        raise Refused("invalid_json", "The message is not a JSON object.")
    return found


def parsed(found: dict[str, Any]) -> Loose:
    """The client event in a JSON object; raises Refused with the field that is wrong."""
    kind = found.get("type")
    if kind is None:
        raise Refused("missing_required_parameter", "Missing required parameter: 'type'.", "type")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise Refused("invalid_value", f"Invalid value: {str(kind)[:60]!r}. No such client event.", "type")
    return checked(model, found)


def checked(model: type[Model], found: Any, at: str = "") -> Model:
    """A part of an event as its model; raises Refused with the field that is wrong, below `at`."""
    try:
        return model.model_validate(found)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False, include_input=False)[0]
        path = ".".join(part for part in (at, *map(str, first["loc"])) if part)
        code = _CODES.get(
            first["type"], "invalid_type" if first["type"].endswith("_type") else "invalid_value"
        )
        raise Refused(code, f"{first['msg']}: '{path}'.", path) from wrong
