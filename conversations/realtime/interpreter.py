"""Between one service's dialect and GA: what it says is told in GA, what it is told is said in its words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from conversations.core import events as e
from conversations.realtime import beta, deltas, dialects, shapes, wire
from conversations.realtime.completion import Completion

# Base64 holds no quotes, and in a string they are escaped.
_INDEX = re.compile(r'("content_index"\s*:\s*)\d+')
# What a failed response says again at its end.
_SAID_TWICE = "response_failed"
# Complaints about a session's settings, which some send without naming the update.
_OF_UPDATES = frozenset({"unknown_or_invalid_event", "invalid_session_type"})


class Interpreter:
    """For one session at the service, from its `session.created` on, whose session is `created`.

    `dialect` is the best guess so far; `certain` says that it is final.
    """

    def __init__(self, created: Mapping[str, Any], new_id: Callable[[str], str]) -> None:
        self.dialect, self.certain = dialects.recognised(created)
        self._new_id = new_id
        self._completion = Completion(new_id, bare=not self.certain)
        self._last_update = ""
        self._modalities: list[str] | None = None

    # ---- from the service

    def piece(self, frame: str) -> deltas.Piece | None:
        """More of an answer, where that is all that the frame says; `rest` is for any other."""
        piece = deltas.read(frame)
        if piece is None or not self._completion.goes_on(piece):
            return None
        return _in_place(piece) if piece.content_index else piece

    def decode(self, frame: str) -> tuple[wire.Found, ...]:
        """The core's events of one frame of the service; none for a frame that nobody may see or act on."""
        piece = self.piece(frame)
        return self.rest(frame) if piece is None else (piece,)

    def rest(self, frame: str) -> tuple[wire.Found, ...]:
        """The same of a frame that is no `piece`."""
        name = wire.kind(frame)
        if not wire.is_known(beta.NAMES.get(name, name)) and name != "conversation.item.created":
            return ()
        try:
            return self._decode(frame)
        except (*wire.UNREADABLE, *wire.MISSHAPEN):
            return ()

    def session(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """A session of the service's in GA's shape."""
        nested: Mapping[str, Any] = beta.to_ga({"type": "", "session": dict(told)})["session"]
        return nested

    def _decode(self, frame: str) -> tuple[wire.Found, ...]:
        said = wire.whole(frame)
        whole = beta.to_ga(said)
        if whole["type"] == wire.UPDATED:
            return (wire.session_updated(whole, frame),)
        told, text = shapes.fitted(whole, frame)
        if told["type"] != said["type"]:
            self._completion.traits.flat = True
        text = text if told == said else _text(told)
        if told["type"] == "error":
            if not self._matters(told):
                return ()
            told = self._addressed(told)
            text = _text(told)
        found: list[wire.Found] = []
        for event in self._completion.whole(told):
            found.extend(wire.decode(event, text if event is told else _text(event)))
        self._learn()
        return tuple(found)

    def _matters(self, error: Mapping[str, Any]) -> bool:
        """Whether a complaint is not told by the end of its response as well."""
        return self.dialect not in dialects.S2S or wire.error_code(error) != _SAID_TWICE

    def _addressed(self, error: dict[str, Any]) -> dict[str, Any]:
        """The complaint with the event that it is about, where the service says of which kind that was."""
        about = error.get("error") or {}
        named = about.get("event_id") or wire.error_code(error) not in _OF_UPDATES
        return error if named else {**error, "error": {**about, "event_id": self._last_update}}

    def _learn(self) -> None:
        if self.certain:
            return
        found = dialects.refined(self.dialect, self._completion.traits)
        if found is not None:
            self.dialect, self.certain = found, True

    # ---- to the service

    def encode(self, frame: str) -> str:
        """A client's frame as this service understands it."""
        name = wire.kind(frame)
        settles = name in ("session.update", "response.create")
        if not settles and not self.dialect.flat:
            return frame
        event = self._settled(wire.whole(frame)) if settles else wire.whole(frame)
        return _text(beta.from_ga(event) if self.dialect.flat else event)

    def _settled(self, event: dict[str, Any]) -> dict[str, Any]:
        """A declaration, which is remembered, or a request, with what this service forgets of the session."""
        if event["type"] == "session.update":
            self._last_update = event["event_id"]
            self._modalities = event["session"].get("output_modalities")
            return event
        self._completion.asked()
        # Sound goes without saying, and options discard an answer that was thought out beforehand.
        if self.dialect.obeys_modalities or self._modalities in (None, ["audio"]):
            return event
        return {**event, "response": {"output_modalities": self._modalities, **event["response"]}}

    def instead(self, frame: str) -> tuple[e.Event, ...]:
        """What answers a client's frame that this service lacks; nothing where it goes to the service."""
        if wire.kind(frame) not in self.dialect.lacks:
            return ()
        event = wire.whole(frame)
        refused = e.ServiceError("unsupported", "", str(event.get("event_id") or ""), "")
        if event["type"] == dialects.RETRIEVE:
            return (refused,)
        told = {"type": _ANSWERS[event["type"]], "event_id": self._new_id("event")}
        places: dict[str, Any] = {
            key: event[key] for key in ("item_id", "content_index", "audio_end_ms") if key in event
        }
        shown = e.Passing(_text({**told, **places}))
        # What the browser cut is cut for the browser; the model is to be told in another way.
        return (shown, refused) if event["type"] == dialects.TRUNCATE else (shown,)


_ANSWERS = {
    dialects.CLEAR: "input_audio_buffer.cleared",
    dialects.TRUNCATE: "conversation.item.truncated",
}


def _in_place(piece: deltas.Piece) -> deltas.Piece:
    """Some count their pieces of audio where GA counts the parts of an item."""
    return piece._replace(content_index=0, frame=_INDEX.sub(r"\g<1>0", piece.frame, count=1))


def _text(event: Mapping[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False)
