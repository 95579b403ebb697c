"""Tool calls as they are found in a streamed answer, whose servers number and name them in their own ways."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from conversations.brains.loop import Picked

# What a server wants back with its call unchanged, such as a thought signature.
_EXTRA = "extra_content"

T = TypeVar("T")


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str
    name: str = ""
    arguments: str = ""
    extra: dict[str, Any] | None = None

    def add(self, name: str, arguments: str) -> None:
        self.name = self.name or name
        if arguments.lstrip().startswith("{"):
            if self.repeats(name, arguments):
                return
            if self.arguments.strip() == "{}":
                # An empty object held the place until the arguments came.
                self.arguments = ""
        self.arguments += arguments

    def repeats(self, name: str, arguments: str) -> bool:
        """Whether this is the whole call once more."""
        known = _whole(self.arguments)
        return known is not None and name in ("", self.name) and _whole(arguments) == known


def grouped(parts: Iterable[T], is_call: Callable[[T], object]) -> Sequence[tuple[T, list[T]]]:
    """Each call among the parts of an answer, with the parts since the one before it, and itself.

    What comes after the last call belongs to that.
    """
    groups: list[tuple[T, list[T]]] = []
    waiting: list[T] = []
    for part in parts:
        waiting.append(part)
        if is_call(part):
            groups.append((part, waiting))
            waiting = []
    if groups:
        groups[-1][1].extend(waiting)
    return groups


class Calls:
    """The calls of one answer. A piece finds its call by id, else by index, else it belongs to the last."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def take(self, piece: Any) -> None:
        """One piece, as the `openai` package reads it; any of its fields may be missing."""
        function = getattr(piece, "function", None)
        name = getattr(function, "name", None) or ""
        arguments = getattr(function, "arguments", None) or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        index, id_ = getattr(piece, "index", None), getattr(piece, "id", None) or ""
        call = self._found(index, id_, name, arguments)
        if call is None:
            call = _Call(index, id_)
            self._calls.append(call)
        call.id = call.id or id_
        extra = getattr(piece, _EXTRA, None)
        call.extra = {_EXTRA: extra} if extra else call.extra
        call.add(name, arguments)

    def picked(self, cut: bool) -> Sequence[Picked]:
        """The calls in their order; with `cut` the last of them may be a part of what was meant."""
        last = len(self._calls) - 1
        return [
            Picked(call.id, call.name, call.arguments.strip() or "{}", call.extra, cut=cut and number == last)
            for number, call in enumerate(self._calls)
        ]

    def _found(self, index: int | None, id_: str, name: str, arguments: str) -> _Call | None:
        if id_:
            return self._by_id(index, id_, name, arguments)
        call = self._latest(index)
        if call is None or not name or not call.name:
            return call
        # A name begins a call, unless it only accompanies every piece or repeats what is known.
        begins = name != call.name or (
            _whole(call.arguments) is not None and not call.repeats(name, arguments)
        )
        return None if begins else call

    def _by_id(self, index: int | None, id_: str, name: str, arguments: str) -> _Call | None:
        for call in self._calls:
            elsewhere = index is not None and call.index is not None and index != call.index
            # Some servers give all calls one id, and tell them apart by index.
            if call.id == id_ and (not elsewhere or call.repeats(name, arguments)):
                return call
        late = self._latest(index) if index is not None else None
        return late if late and not late.id and not (name and late.name) else None

    def _latest(self, index: int | None) -> _Call | None:
        fitting = [call for call in self._calls if index is None or call.index in (index, None)]
        return fitting[-1] if fitting else None


def _whole(arguments: str) -> dict[str, Any] | None:
    """The arguments, where they are one whole JSON object."""
    try:
        read = json.loads(arguments)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None
