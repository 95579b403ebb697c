"""Who hears what the speech service says, by the way of an Upstream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from conversations.core.events import Event
from conversations.realtime.deltas import Piece
from conversations.realtime.opening import Opened


class Listener(Protocol):
    """None of it waits. `hear` is told more of an answer, `feed` everything else."""

    def opened(self, opened: Opened, unnoticed: bool) -> None: ...

    def replaced(self) -> None: ...

    def is_quiet(self) -> bool: ...

    def lost(self, retry_in: float) -> None: ...

    def feed(self, event: Event) -> None: ...

    def hear(self, piece: Piece) -> None: ...

    def session_updated(self, session: Mapping[str, Any]) -> None: ...
