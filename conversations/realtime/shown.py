"""The core's effects as frames for the browser, and the session of the service as the browser may see it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conversations.core import effects as fx
from conversations.core.markers import neutralise
from conversations.realtime import shapes
from conversations.realtime.wire import whole

RTVI = "rtvi-ai"
# What a browser that comes back is told anew, as it is then.
TOLD_AGAIN = ("vocero.tool.started", "open_confirm")
ALWAYS_TOLD = ("error", "conversation.item.retrieved")
_RESPONSE_TEXTS = ("transcript", "text")


def frame(effect: fx.Effect, event_id: str) -> str:
    """The frame for an effect that goes to the browser."""
    match effect:
        case fx.Show(passed):
            return passed
        case fx.ShowDelta(original, delta):
            return _with_delta(original, delta)
        case fx.ShowCut(original, kept, hidden, after):
            return _cut(original, kept, hidden, after)
        case fx.Tell("error", fields):
            return error(fields, event_id)
        case fx.Tell(name, fields):
            return json.dumps({"type": name, "event_id": event_id, **fields}, ensure_ascii=False)
        case fx.Command(command, payload):
            return _rtvi("ui-command", {"command": command, "payload": payload}, event_id)
    raise TypeError(f"{type(effect).__name__} does not go to the browser")


def _rtvi(kind: str, data: Mapping[str, Any], message_id: str) -> str:
    message = {"label": RTVI, "type": kind, "id": message_id, "data": data}
    return json.dumps(message, ensure_ascii=False)


def error(fields: Mapping[str, Any], event_id: str) -> str:
    """A GA `error` event; `fields` are `code`, `message`, and `ref` or `retry_after_ms` where they apply."""
    body = {"type": "vocero_error", "param": None, "event_id": None, **fields}
    return json.dumps({"type": "error", "event_id": event_id, "error": body}, ensure_ascii=False)


def session(name: str, declared: Mapping[str, Any], page: Mapping[str, Any], event_id: str) -> str:
    """`session.created` or `session.updated` with the page's words and tools, and nothing of the server's."""
    told = shapes.fit(declared, shapes.SESSION)
    shown = {key: value for key, value in told.items() if value is not None}
    shown["object"], shown["type"] = "realtime.session", "realtime"
    shown["audio"] = _audio(shown.get("audio") or {}, page)
    shown["instructions"] = page.get("instructions") or ""
    shown["tools"] = page.get("tools") or []
    shown["tool_choice"] = page.get("tool_choice") or "auto"
    return json.dumps({"type": name, "event_id": event_id, "session": shown}, ensure_ascii=False)


def _audio(audio: dict[str, Any], page: Mapping[str, Any]) -> dict[str, Any]:
    """The audio settings, without the vocabulary that the server gives to the transcription."""
    transcription = (audio.get("input") or {}).get("transcription")
    if transcription:
        own = ((page.get("audio") or {}).get("input") or {}).get("transcription") or {}
        kept = {key: transcription[key] for key in ("model", "language") if key in transcription}
        prompt = {"prompt": own["prompt"]} if "prompt" in own else {}
        audio["input"]["transcription"] = {**kept, **prompt}
    return audio


def _with_delta(original: str, delta: str) -> str:
    event = whole(original)
    if event["type"].endswith(".done"):
        event["type"] = event["type"].removesuffix("done") + "delta"
        for key in (*_RESPONSE_TEXTS, "arguments", "name"):
            event.pop(key, None)
    event["delta"] = delta
    return json.dumps(event, ensure_ascii=False)


def _cut(
    original: str,
    kept: Mapping[tuple[str, int], str],
    hidden: frozenset[str],
    after: tuple[str, str | None] | None,
) -> str:
    event = whole(original)
    if after is not None and event.get("previous_item_id") == after[0]:
        event["previous_item_id"] = after[1]
    if isinstance(event.get("response"), dict):
        listed = event["response"].get("output") or []
        output = [item for item in listed if not _is_hidden(item, hidden)]
        spoken = [_cut_item(item, kept) for item in output]
        event["response"]["output"] = [item for item in spoken if item.get("content") != []]
    if isinstance(event.get("item"), dict):
        event["item"] = _cut_item(event["item"], kept)
    event = _disarmed(event)
    place = (str(event.get("item_id") or ""), int(event.get("content_index") or 0))
    if isinstance(event.get("part"), dict):
        event["part"] = _cut_part(event["part"], kept.get(place, ""))
    for key in _RESPONSE_TEXTS:
        if isinstance(event.get(key), str):
            event[key] = kept.get(place, "")
    return json.dumps(event, ensure_ascii=False)


def _is_hidden(item: Mapping[str, Any], hidden: frozenset[str]) -> bool:
    return item.get("type") == "function_call" and str(item.get("id") or "") in hidden


def _cut_item(item: dict[str, Any], kept: Mapping[tuple[str, int], str]) -> dict[str, Any]:
    """The item with the words that passed; what the caller said is no secret."""
    item, content = _disarmed(item), item.get("content")
    if item.get("type") != "message" or item.get("role") == "user" or not isinstance(content, list):
        return item
    item_id = str(item.get("id") or "")
    parts = [_cut_part(part, kept.get((item_id, index), "")) for index, part in enumerate(content)]
    return {**item, "content": [part for part in parts if any(part.get(key) for key in _RESPONSE_TEXTS)]}


def _disarmed(call: dict[str, Any]) -> dict[str, Any]:
    """A call of the browser's own with arguments in which no marker stands."""
    arguments = call.get("arguments")
    return {**call, "arguments": neutralise(arguments)} if isinstance(arguments, str) else call


def _cut_part(part: Any, text: str) -> dict[str, Any]:
    """The part with that text, and without its sound, which may say more."""
    if not isinstance(part, dict):
        return {}
    left = {key: value for key, value in part.items() if key != "audio"}
    return {key: text if key in _RESPONSE_TEXTS else value for key, value in left.items()}
