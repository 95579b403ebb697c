"""The sheets on which a caller confirms a tool before it runs: one for each call, decided once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from conversations.core.effects import ClearTimer, Command, Effect, SetTimer, Tell
from conversations.core.markers import neutralise
from conversations.core.policy import Setup
from conversations.core.turns import Picked

TIMER = "confirm:"
VALUE_LIMIT = 200
# Nobody reads more before a tap; what is not shown must not be approved.
MOST_VALUES = 24
# Control characters, and those that change the direction of what follows: a value must look like what it is.
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a tap would approve: this call with these arguments, canonical JSON, and no other."""

    nonce: str
    picked: Picked
    arguments: str
    room: int
    expires_at: float


class Sheets:
    """The sheets that are open, in the order in which they were opened."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._open: dict[str, Sheet] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def __iter__(self) -> Iterator[Sheet]:
        return iter(list(self._open.values()))

    def of_service_call(self, service_call_id: str) -> Sheet | None:
        """The open sheet of a native call of this session of the service."""
        native = {one.picked.service_call_id: one for one in self if not one.picked.carried}
        return native.get(service_call_id) if service_call_id else None

    def open(self, picked: Picked, arguments: str, room: int, now: float) -> list[Effect]:
        """The caller is asked."""
        limit = self._setup.limits.confirm
        sheet = Sheet(self._setup.new_id("nonce"), picked, arguments, room, now + limit)
        self._open[sheet.nonce] = sheet
        return [self._shown(sheet, limit), SetTimer(TIMER + sheet.nonce, limit)]

    def shown_again(self, now: float) -> list[Effect]:
        """The sheets that are open, for a browser that does not show them."""
        return [self._shown(sheet, max(sheet.expires_at - now, 0.0)) for sheet in self]

    def _shown(self, sheet: Sheet, seconds: float) -> Command:
        payload = {
            "nonce": sheet.nonce,
            "call_id": sheet.picked.call_id,
            "label": self._setup.label(sheet.picked.name),
            "summary": [{"label": label, "value": value} for label, value in summary(sheet.arguments)],
            "expires_in": seconds,
        }
        return Command("open_confirm", payload)

    def take(self, nonce: str, now: float) -> tuple[Sheet | None, list[Effect]]:
        """The sheet that the caller decides, which is open no more; none where that is over."""
        sheet = self._open.get(nonce)
        if sheet is None or now >= sheet.expires_at:
            return None, [*self._close(nonce, "too_late"), self._told_too_late()]
        del self._open[nonce]
        return sheet, [ClearTimer(TIMER + nonce)]

    def withdraw(self, sheet: Sheet, reason: str) -> list[Effect]:
        """A sheet goes undecided: `declined`, `expired`, `cancelled` or `changed`."""
        del self._open[sheet.nonce]
        return [ClearTimer(TIMER + sheet.nonce), *self._close(sheet.nonce, reason)]

    def named(self, timer: str) -> Sheet | None:
        """The open sheet whose time that timer ends."""
        return self._open.get(timer.removeprefix(TIMER)) if timer.startswith(TIMER) else None

    def _close(self, nonce: str, reason: str) -> list[Effect]:
        return [Command("close_confirm", {"nonce": nonce, "reason": reason})]

    def _told_too_late(self) -> Tell:
        return Tell("error", {"code": "too_late", "message": self._setup.for_caller["too_late"]})


def summary(arguments: str) -> list[tuple[str, str]]:
    """What a sheet shows of canonical arguments: the scalars on top, or in the one object that is there.

    Each value is cut at 200 characters; what is null is not shown.
    """
    values = json.loads(arguments)
    if len(values) == 1 and isinstance(inside := next(iter(values.values())), dict):
        values = inside
    scalars = [(name, value) for name, value in values.items() if isinstance(value, str | int | float)]
    return [(_worded(name), _shown(value)) for name, value in scalars]


def is_too_long(arguments: str) -> bool:
    """Whether a sheet would have to leave something out."""
    return len(summary(arguments)) > MOST_VALUES


def _worded(name: str) -> str:
    return _clean(name.replace("_", " ")).capitalize()


def _shown(value: str | float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _clean(value if isinstance(value, str) else json.dumps(value))


def _clean(text: str) -> str:
    text = neutralise(" ".join(_UNSHOWABLE.sub(" ", text).split()))
    return text if len(text) <= VALUE_LIMIT else f"{text[: VALUE_LIMIT - 1]}…"
