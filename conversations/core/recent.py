"""Memory that a long call cannot make grow: the last so many of something, by id."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """A mapping that forgets the oldest entry when it is full."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[str, V] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, key: str, value: V) -> None:
        """Keeps this as the newest entry."""
        self._kept.pop(key, None)
        self._kept[key] = value
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def get(self, key: str) -> V | None:
        """The value of that id; None for one that is not known, or not any more."""
        return self._kept.get(key)

    def take(self, key: str) -> V | None:
        """The value of that id, which is forgotten."""
        return self._kept.pop(key, None)
