"""What was asked of the portal, so that a test can tell; no token is kept, only its fingerprint."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MOST_ENTRIES = 2000


@dataclass(slots=True)
class Entry:
    """One HTTP request: who sent what, and how it ended.

    `caller` is a phone, `token` a SHA-256 in hexadecimal, `session` the same of an MCP session's id, `rpc` is
    the JSON-RPC method; `status` is None until answered. A tool call that ran is `started` and then
    `finished` or `cancelled`.
    """

    method: str
    path: str
    headers: tuple[str, ...]
    rpc: str | None = None
    tool: str | None = None
    arguments: Any = None
    caller: str | None = None
    token: str | None = None
    session: str | None = None
    fault: str | None = None
    status: int | None = None
    content_type: str | None = None
    started: bool = False
    finished: bool = False
    cancelled: bool = False


@dataclass(slots=True)
class Journal:
    """The entries in the order in which the requests came; safe to read and await from any thread."""

    _entries: deque[Entry] = field(default_factory=lambda: deque(maxlen=MOST_ENTRIES))
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def entries(self) -> list[Entry]:
        """All entries so far, oldest first."""
        with self._changed:
            return list(self._entries)

    def add(self, entry: Entry) -> Entry:
        """Note a request that has come."""
        with self._changed:
            self._entries.append(entry)
            self._changed.notify_all()
        return entry

    def note(self, entry: Entry, **facts: Any) -> None:
        """Add facts to an entry."""
        with self._changed:
            for name, value in facts.items():
                setattr(entry, name, value)
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget all entries."""
        with self._changed:
            self._entries.clear()

    def wait_for(self, wanted: Callable[[Entry], bool], timeout: float = 10.0) -> Entry:
        """Block until an entry is as wanted and return it; TimeoutError after so many seconds."""

        def found() -> Entry | None:
            return next((entry for entry in self._entries if wanted(entry)), None)

        with self._changed:
            entry = self._changed.wait_for(found, timeout)
        if entry is None:
            raise TimeoutError("no such request came")
        return entry
