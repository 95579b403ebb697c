"""What a session holds in memory: how much, and whether anything of it is another's as well."""

import asyncio
import functools
from collections import deque
from dataclasses import dataclass, field
from types import MappingProxyType

from conversations.tests.machine.portal import HeldPortal
from tools.frozen import FrozenDict, FrozenList

CONTAINERS = (list, tuple, set, frozenset, deque, dict, MappingProxyType)
FROZEN = (FrozenDict, FrozenList)
# What nobody may share, since it can change: what holds things, what holds a connection, and what waits.
CHANGEABLE = (list, set, deque, dict, HeldPortal, asyncio.Event, asyncio.Future)
OURS = ("conversations.core", "conversations.realtime", "tools.")
PLAIN = (int, float, type, type(None))


@dataclass
class Reach:
    """Everything that can be reached from one object, by id."""

    things: dict = field(default_factory=dict)
    characters: int = 0
    entries: int = 0

    def shared_with(self, other):
        """What can change and is held by both."""
        both = self.things.keys() & other.things.keys()
        return [self.things[one] for one in both if isinstance(self.things[one], CHANGEABLE)]


def reach(session):
    """Follows attributes and members; not into tasks, closures, or what cannot change."""
    found, left = Reach(), _attributes(session)
    things = found.things
    while left:
        thing = left.pop()
        if id(thing) in things or isinstance(thing, PLAIN):
            continue
        if isinstance(thing, str):
            found.characters += len(thing)
        elif isinstance(thing, FROZEN):
            continue
        elif isinstance(thing, CONTAINERS):
            found.entries = max(found.entries, len(thing))
            left.extend(thing)
            if isinstance(thing, dict | MappingProxyType):
                left.extend(thing.values())
        else:
            left.extend(_attributes(thing) if _is_ours(type(thing)) else ())
        things[id(thing)] = thing
    return found


def _attributes(thing):
    held = [getattr(thing, name, None) for name in _slots(type(thing))]
    return [*held, *getattr(thing, "__dict__", {}).values()]


@functools.cache
def _slots(kind):
    return [name for one in kind.__mro__ for name in getattr(one, "__slots__", ()) if name != "__weakref__"]


@functools.cache
def _is_ours(kind):
    return kind.__module__.startswith(OURS)
