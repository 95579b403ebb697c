"""How long a request is waited for: until its answer is here, or a little longer than anybody wants it.

Under the older protocol a cancelled request stays open until the server answers it, which may be never.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

# Enough for a server to say that it stopped; then the connection is worth more.
GRACE_SECONDS = 2.0


class Wait:
    """The waiting for one answer, which may be given up while it lasts."""

    def __init__(self) -> None:
        self._until: float | None = None
        self._scope: asyncio.Timeout | None = None

    def give_up(self) -> None:
        """Nobody wants the answer any more."""
        self._until = asyncio.get_running_loop().time() + GRACE_SECONDS
        if self._scope is not None:
            self._scope.reschedule(self._until)

    @asynccontextmanager
    async def bounded(self) -> AsyncIterator[None]:
        """One step of the waiting; TimeoutError when it is given up."""
        async with asyncio.timeout_at(self._until) as scope:
            self._scope = scope
            try:
                yield
            finally:
                self._scope = None


class Waiting:
    """The requests of one client that wait for their answers, by JSON-RPC id."""

    def __init__(self) -> None:
        self._waits: dict[str, Wait] = {}

    def begin(self, request: httpx2.Request) -> tuple[str, Wait]:
        """A request goes out, with the key to `end` it by; one that cancels another ends its wait."""
        message = _message(request)
        if message.get("method") == "notifications/cancelled":
            params = message.get("params")
            cancelled = self._waits.get(str(params.get("requestId"))) if isinstance(params, dict) else None
            if cancelled is not None:
                cancelled.give_up()
        key, wait = str(message.get("id", "")), Wait()
        if key:
            self._waits[key] = wait
        return key, wait

    def end(self, key: str) -> None:
        """The answer is here, or will not come."""
        self._waits.pop(key, None)


def _message(request: httpx2.Request) -> dict[str, object]:
    if request.method != "POST":
        return {}
    message = json.loads(request.content)
    return message if isinstance(message, dict) else {}
