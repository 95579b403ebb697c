"""JSON values that nobody can change: what one conversation is given, another cannot spoil."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn


def freeze(value: Any) -> Any:
    """A deep, unchangeable copy of a JSON value; it equals the original and is written as JSON like it."""
    if isinstance(value, Mapping):
        return FrozenDict((key, freeze(item)) for key, item in value.items())
    return FrozenList(freeze(item) for item in value) if isinstance(value, list | tuple) else value


def shared(value: Any) -> Any:
    """Like `freeze`, but one object for all equal values: a thousand conversations offer the same schemas."""
    return _shared(json.dumps(value, ensure_ascii=False))


@lru_cache(maxsize=512)
def _shared(text: str) -> Any:
    return freeze(json.loads(text))


def thaw(value: Any) -> Any:
    """A deep, plain copy of a frozen JSON value, for whoever has to change it."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return [thaw(item) for item in value] if isinstance(value, list | tuple) else value


def _refuse(_self: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
    raise TypeError("this JSON value is frozen; thaw() makes a copy that can be changed")


# Subclasses of the plain types, because json and msgspec write nothing else.
class FrozenDict(dict[str, Any]):
    """A JSON object that refuses every change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, _memo: dict[int, Any]) -> dict[str, Any]:
        return dict(thaw(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (freeze, (thaw(self),))


class FrozenList(list[Any]):
    """A JSON array that refuses every change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = _refuse
    insert = pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, _memo: dict[int, Any]) -> list[Any]:
        return list(thaw(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (freeze, (thaw(self),))
