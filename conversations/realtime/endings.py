"""How a socket ends: the close code, and the `error` event that is sent before it."""

from __future__ import annotations

from dataclasses import dataclass

from conversations.realtime import shown


@dataclass(frozen=True, slots=True)
class Ending:
    """`code` is the WebSocket close code; `error` and `message`, where there are any, are told first."""

    code: int
    error: str = ""
    message: str = ""
    retry_after_ms: int | None = None


LEFT = Ending(1000)
TOO_MANY_INVALID = Ending(4400, "too_many_invalid_events", "Too many events of this client were invalid.")
NOT_ADMITTED = Ending(4401, "not_authenticated", "Start a conversation first, then connect.")
NOT_FOUND = Ending(4404, "conversation_not_found", "There is no such conversation.")
TAKEN_OVER = Ending(4409, "taken_over", "This conversation goes on in another window.")
TOO_LARGE = Ending(4413, "message_too_large", "This message is larger than a client may send.")
SPEECH_DOWN = Ending(4502, "speech_unavailable", "The speech service cannot be reached right now.")
RESTARTING = Ending(1012, "restarting", "This server restarts. Please reconnect.")
TOO_SLOW = Ending(1011, "browser_too_slow", "This connection is too slow to carry the call.")
BROKEN = Ending(1011, "internal", "Something went wrong here. Please reconnect.")

_CLOSED = {
    "caller_cleanup": "The conversation was ended.",
    "superseded": "Another conversation was started in this browser.",
    "expired": "The conversation has reached its time limit.",
    "idle": "The conversation was ended because nobody spoke.",
    "auth_expired": "Your sign-in is no longer valid. Please start again.",
    "operator": "The conversation was ended by an operator.",
    "error": "The conversation ended because of an error.",
}


def closed(reason: str) -> Ending:
    """The ending of a conversation that was closed for this reason."""
    return Ending(4410, reason, _CLOSED.get(reason, _CLOSED["error"]))


def busy(seconds: int) -> Ending:
    """The ending for a caller over a limit, who may try again after so many seconds."""
    return Ending(4429, "rate_limited", "Too many attempts. Please wait a moment.", seconds * 1000)


def refused(close_code: int, code: str) -> Ending:
    """The ending of a socket that was not let in."""
    known = {ending.code: ending for ending in (NOT_ADMITTED, NOT_FOUND)}
    return known[close_code] if close_code in known else closed(code)


def frame(ending: Ending, event_id: str) -> str:
    """The `error` event that is sent before the close."""
    retry = {} if ending.retry_after_ms is None else {"retry_after_ms": ending.retry_after_ms}
    return shown.error({"code": ending.error, "message": ending.message, **retry}, event_id)
