"""What a client may send: an exact list; other events are refused, other fields are stripped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from conversations.core import events as e
from conversations.core.markers import neutralise
from conversations.realtime.wire import MISSHAPEN, UNREADABLE, whole

INSTRUCTIONS_LIMIT = 8_000
FRAME_LIMIT = 1024 * 1024
EARLY_FRAME_LIMIT = 256 * 1024
NUMBER_LIMIT = 10**9
NONCE_LIMIT = 64
DEPTH_LIMIT = 32
CONFIRM = "confirm_answer"
_APPEND_QUOTES = 8
_APPEND_QUOTES_WITH_ID = 12


class _Append(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    audio: str
    event_id: str | None = None


_append = msgspec.json.Decoder(_Append)


@dataclass(frozen=True, slots=True)
class Forward:
    """Goes to the service as it stands here."""

    frame: str
    is_audio: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Goes nowhere; the client is told this code."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class UpdateAsked:
    """A `session.update`, with the fields that a client may set, in GA's nested shape."""

    session: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """An RTVI client message."""

    message_id: str
    kind: str
    data: Mapping[str, Any]


Asked = Forward | Refused | UpdateAsked | ClientMessage | e.Event

INVALID = Refused("invalid_event", "This is not an event: send one JSON object with a type.")


def read(frame: str) -> Asked:
    """What a client's frame asks for."""
    if is_audio(frame):
        return Forward(frame, is_audio=True)
    try:
        event = whole(frame)
    except UNREADABLE:
        return INVALID
    name = event.get("type")
    if not isinstance(name, str):
        return INVALID
    if event.get("label") == "rtvi-ai":
        return _client_message(event)
    reader = _READERS.get(name)
    if reader is None:
        return Refused("forbidden_event", "A client may not send this event.")
    try:
        return reader(event)
    except MISSHAPEN:
        return Refused("invalid_event", f"The fields of {name} are not of the right shape.")


def is_audio(frame: str) -> bool:
    """Whether it is a piece of audio with exactly the known fields, each once, which goes on untouched."""
    try:
        event = _append.decode(frame)
    except UNREADABLE:
        return False
    # A repeated key would let another parser read another event out of the same text.
    quotes = _APPEND_QUOTES if event.event_id is None else _APPEND_QUOTES_WITH_ID
    return event.type == "input_audio_buffer.append" and _quotes(frame, event.audio) == quotes


def _quotes(frame: str, audio: str) -> int:
    """How many quotes a frame has; in the middle of a long one there is nothing but audio."""
    around = len(frame) - len(audio)
    if '"' in audio or around > len(audio):
        return frame.count('"')
    return frame.count('"', 0, around) + frame.count('"', -around)


def _append_again(event: dict[str, Any]) -> Forward:
    clean = {"type": "input_audio_buffer.append", "audio": _text(event["audio"])}
    return Forward(json.dumps(clean), is_audio=True)


def _bare(event: dict[str, Any]) -> Forward:
    return Forward(json.dumps({"type": event["type"]}))


def _truncate(event: dict[str, Any]) -> e.TruncateAsked:
    return e.TruncateAsked(
        _text(event["item_id"]),
        _whole_number(event.get("content_index", 0)),
        _whole_number(event["audio_end_ms"]),
    )


def _create_item(event: dict[str, Any]) -> Asked:
    item = event["item"]
    if item["type"] == "function_call_output":
        return e.BrowserOutput(_text(item["call_id"]), _text(item["output"]))
    if item["type"] != "message" or item.get("role") != "user":
        return Refused(
            "forbidden_event", "A client may only create user messages and outputs of its own tools."
        )
    texts = [_text(part["text"]) for part in item["content"] if part.get("type") == "input_text"]
    if not texts or len(texts) != len(item["content"]):
        return Refused("forbidden_event", "A client's message holds input_text only.")
    content = [{"type": "input_text", "text": neutralise(text)} for text in texts]
    clean: dict[str, Any] = {"type": "message", "role": "user", "content": content}
    if isinstance(item.get("id"), str) and 0 < len(item["id"]) <= 32:
        clean["id"] = item["id"]
    return e.Typed(clean, "\n".join(texts))


def _create_response(event: dict[str, Any]) -> e.CreateAsked:
    wanted = dict(event.get("response") or {})
    options = {key: wanted[key] for key in ("output_modalities", "max_output_tokens") if key in wanted}
    return e.CreateAsked(_checked(options))


def _update(event: dict[str, Any]) -> UpdateAsked:
    # The oldest pages send the session's fields beside the type.
    bare = {key: value for key, value in event.items() if key not in ("type", "event_id")}
    return UpdateAsked(page_session(bare if bare and "session" not in bare else event["session"]))


def _client_message(event: dict[str, Any]) -> Asked:
    data = event.get("data")
    if (
        event.get("type") != "client-message"
        or not isinstance(data, dict)
        or not isinstance(data.get("t"), str)
    ):
        return Refused("forbidden_event", "A client may send RTVI client-messages only.")
    body = data["d"] if isinstance(data.get("d"), dict) else {}
    if data["t"] == CONFIRM:
        return _confirm_answer(body)
    return ClientMessage(str(event.get("id") or ""), data["t"], body)


def _confirm_answer(body: Mapping[str, Any]) -> Asked:
    nonce, answer = body.get("nonce"), body.get("answer")
    if not isinstance(nonce, str) or not 0 < len(nonce) <= NONCE_LIMIT or answer not in ("yes", "no"):
        return Refused("invalid_event", "An answer to a sheet holds its nonce, and yes or no.")
    return e.ConfirmAnswered(nonce, answer == "yes")


def as_message(answered: e.ConfirmAnswered) -> ClientMessage:
    """The tap as the client sent it, for a brain that asked for it on a sheet of its own."""
    answer = "yes" if answered.approved else "no"
    return ClientMessage("", CONFIRM, {"nonce": answered.nonce, "answer": answer})


def stored_session(session: Mapping[str, Any]) -> dict[str, Any]:
    """The same of what an integrator asked for beforehand, where it has the shape of a session at all."""
    try:
        return page_session(session)
    except MISSHAPEN:
        return {}


def page_session(session: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a session that a client may set, nested as in GA; the older flat shape is understood.

    Raises one of MISSHAPEN.
    """
    nested = _nested(session)
    _refuse_depth(session, DEPTH_LIMIT)
    names = ("output_modalities", "max_output_tokens")
    wanted: dict[str, Any] = {name: nested[name] for name in names if name in nested}
    if nested.get("tool_choice") in ("auto", "none"):
        wanted["tool_choice"] = nested["tool_choice"]
    if isinstance(nested.get("instructions"), str):
        wanted["instructions"] = neutralise(nested["instructions"][:INSTRUCTIONS_LIMIT])
    if isinstance(nested.get("tools"), list):
        wanted["tools"] = [_page_tool(tool) for tool in nested["tools"] if isinstance(tool, dict)]
    audio = _page_audio(nested["audio"])
    return _checked({**wanted, **({"audio": audio} if audio else {})})


def _page_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A function of the page's own; a service may know more fields, such as an address to call."""
    kept = {name: tool[name] for name in ("type", "name") if name in tool}
    if "parameters" in tool:
        kept["parameters"] = json.loads(neutralise(json.dumps(tool["parameters"], ensure_ascii=False)))
    if isinstance(tool.get("description"), str):
        kept["description"] = neutralise(tool["description"])
    return kept


def _nested(session: Mapping[str, Any]) -> dict[str, Any]:
    nested = dict(session)
    if "modalities" in nested and "output_modalities" not in nested:
        nested["output_modalities"] = ["audio"] if "audio" in nested["modalities"] else ["text"]
    if "max_response_output_tokens" in nested:
        nested.setdefault("max_output_tokens", nested["max_response_output_tokens"])
    audio = nested.get("audio") if isinstance(nested.get("audio"), dict) else {}
    given = {side: dict((audio or {}).get(side) or {}) for side in ("input", "output")}
    for flat, side, name in _FLAT:
        if flat in nested:
            given[side].setdefault(name, nested[flat])
    nested["audio"] = given
    return nested


_FLAT = (
    ("turn_detection", "input", "turn_detection"),
    ("input_audio_transcription", "input", "transcription"),
    ("input_audio_noise_reduction", "input", "noise_reduction"),
    ("voice", "output", "voice"),
    ("speed", "output", "speed"),
)


_AUDIO: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "input": {
        "turn_detection": (dict, type(None)),
        "transcription": (dict, type(None)),
        "noise_reduction": (dict, type(None)),
    },
    "output": {"voice": (str, dict), "speed": (int, float)},
}


def _page_audio(audio: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    sides = {
        side: {
            key: audio[side][key]
            for key, kinds in keys.items()
            if isinstance(audio[side].get(key, ...), kinds)
        }
        for side, keys in _AUDIO.items()
    }
    return {side: fields for side, fields in sides.items() if fields}


def _refuse_depth(value: Any, limit: int) -> None:
    """What nests deeper could not be written as JSON again."""
    if limit == 0:
        raise ValueError("nested too deeply")
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for item in inside:
        _refuse_depth(item, limit - 1)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """Drops values of a wrong kind, as the service would replace them by its own."""
    modalities = options.get("output_modalities")
    if "output_modalities" in options and modalities not in (["audio"], ["text"]):
        del options["output_modalities"]
    tokens = options.get("max_output_tokens")
    counted = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens <= NUMBER_LIMIT
    if "max_output_tokens" in options and not (tokens == "inf" or counted):
        del options["max_output_tokens"]
    return options


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _whole_number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    if not -NUMBER_LIMIT <= value <= NUMBER_LIMIT:
        raise ValueError("not a number of milliseconds or of parts")
    return int(value)


_READERS: Mapping[str, Callable[[dict[str, Any]], Asked]] = {
    "input_audio_buffer.append": _append_again,
    "input_audio_buffer.commit": lambda _event: e.CommitAsked(),
    "input_audio_buffer.clear": _bare,
    "conversation.item.truncate": _truncate,
    "conversation.item.retrieve": lambda event: e.RetrieveAsked(_text(event["item_id"])),
    "conversation.item.create": _create_item,
    "response.create": _create_response,
    "response.cancel": lambda _event: e.CancelAsked(),
    "session.update": _update,
    "vocero.client.played": lambda event: e.Played(
        _text(event["item_id"]),
        _whole_number(event["played_ms"]),
        _whole_number(event.get("content_index", 0)),
    ),
}


def merged(page: Mapping[str, Any], session: Mapping[str, Any]) -> dict[str, Any]:
    """The client's earlier wishes with its newer ones, the two sides of `audio` each on its own."""
    audio = {side: {**page.get("audio", {}).get(side, {})} for side in ("input", "output")}
    for side, fields in session.get("audio", {}).items():
        audio[side].update(fields)
    return {**page, **session, "audio": {side: fields for side, fields in audio.items() if fields}}
