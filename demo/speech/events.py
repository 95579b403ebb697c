"""Server events as the wire has them, and the refusal that becomes an `error` event."""

import secrets
from typing import Any

Event = dict[str, Any]
Item = dict[str, Any]


class Refused(Exception):
    """A client event that cannot be done: what the client must change."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param


def new_id(prefix: str) -> str:
    """A fresh id such as `item_5f0c…`."""
    return f"{prefix}_{secrets.token_hex(8)}"


def event(kind: str, **fields: Any) -> Event:
    """One server event with an id of its own."""
    return {"type": kind, "event_id": new_id("event"), **fields}


def error(refusal: Refused, client_event_id: str | None) -> Event:
    """The `error` event for a refused client event."""
    details = {
        "type": "invalid_request_error",
        "code": refusal.code,
        "message": refusal.message,
        "param": refusal.param,
        "event_id": client_event_id,
    }
    return event("error", error=details)


def item_events(item: Item, previous_item_id: str | None) -> list[Event]:
    """The two events that add a finished item to the conversation."""
    fields = {"item": item, "previous_item_id": previous_item_id}
    return [event("conversation.item.added", **fields), event("conversation.item.done", **fields)]


def audio_format(rate: int) -> Item:
    """PCM16 at a rate, as GA names it."""
    return {"type": "audio/pcm", "rate": rate}
