"""What a page that comes back is told anew, besides what the core tells it: the turn, and a brain's part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conversations.core.events import ConfirmAnswered
from conversations.realtime.allowed import ClientMessage

Event = Mapping[str, Any]

# More than a turn may have; a brain that never ends what it begins fills nothing.
MOST = 32
_TOOL_ENDS = frozenset({"vocero.tool.completed", "vocero.tool.failed"})


class Standing:
    """The newest turn; of a brain, which tells each event once, tools that run and sheets that wait."""

    def __init__(self) -> None:
        self._turn: list[Event] = []
        self._tools: dict[str, Event] = {}
        self._sheets: dict[str, tuple[Event, float]] = {}

    def note(self, event: Event, now: float) -> bool:
        """Takes an event for the page; whether it is told again, as long as it stands."""
        kind, data = event["type"], event.get("data") or {}
        payload = data.get("payload") or {}
        nonce = str(payload.get("nonce") or "")
        if kind == "vocero.turn.started":
            self._turn = [event]
            return True
        if kind == "vocero.tool.started":
            return _keep(self._tools, str(event["call_id"]), event)
        if kind in _TOOL_ENDS:
            self._end(str(event["call_id"]))
        elif data.get("command") == "close_confirm":
            self._sheets.pop(nonce, None)
        elif data.get("command") == "open_confirm" and nonce:
            return _keep(self._sheets, nonce, (event, now + _seconds(payload)))
        return False

    def answered(self, message: ClientMessage | ConfirmAnswered) -> None:
        """The caller tapped on a sheet."""
        if isinstance(message, ConfirmAnswered):
            self._sheets.pop(message.nonce, None)

    def again(self, now: float) -> list[Event]:
        """All of it, the sheets with the time that is left."""
        open_now = [(event, ends - now) for event, ends in self._sheets.values() if ends > now]
        return [*self._turn, *self._tools.values(), *(_with_time(event, left) for event, left in open_now)]

    def _end(self, call_id: str) -> None:
        self._tools.pop(call_id, None)
        for nonce, (event, _) in list(self._sheets.items()):
            if event["data"]["payload"].get("call_id") == call_id:
                del self._sheets[nonce]


def _keep(kept: dict[str, Any], key: str, value: object) -> bool:
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > MOST:
        del kept[next(iter(kept))]
    return True


def _seconds(payload: Event) -> float:
    seconds = payload.get("expires_in")
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def _with_time(event: Event, left: float) -> Event:
    data = event["data"]
    return {**event, "data": {**data, "payload": {**data["payload"], "expires_in": left}}}
