"""What the caller's screen shows and their ears hear, whichever way it came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from conversations.brains.testing.turns import ToolRun, Turn

Command = dict[str, Any]
ENDED = ("vocero.tool.completed", "vocero.tool.failed")


class CallEnded(AssertionError):
    """The call or the conversation ended while something of it was still waited for."""


class Stage:
    """Fills the turn that has begun, and keeps the commands; `until` waits for either."""

    def __init__(self, patience: float) -> None:
        self.turn: Turn | None = None
        self.greeting = ""
        self.commands: list[Command] = []
        self._patience = patience
        self._why_over = ""
        self._signs = 0
        self._changed = asyncio.Event()

    def begin(self, turn: Turn) -> None:
        """From now on what is shown belongs to this turn."""
        self.turn, self._signs = turn, 0
        self._changed.set()

    def say(self, text: str) -> None:
        """Words for the caller; before any turn they are a greeting."""
        if self.turn is None:
            self.greeting += text
        else:
            self.turn.text += text
        self._sign()

    def show(self, event: dict[str, Any]) -> None:
        """Another event for the screen."""
        kind = event["type"]
        if kind == "ui-command":
            self.commands.append(dict(event["data"]))
            self._sign()
        elif kind == "vocero.tool.started":
            self._sign()
        elif kind in ENDED and self.turn is not None:
            self.turn.tools.append(ToolRun(event["name"], event.get("code", "")))
            self._sign()

    def over(self, why: str) -> None:
        """Nothing more comes."""
        self._why_over = why
        self._changed.set()

    def look(self) -> None:
        """Something changed that is waited for here."""
        self._changed.set()

    def has_begun(self, turn: Turn) -> bool:
        """Whether the caller has heard or seen anything of that turn."""
        return self.turn is turn and self._signs > 0

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        """Once that holds. Raises CallEnded, or TimeoutError after the patience."""
        try:
            async with asyncio.timeout(self._patience):
                while not holds():
                    if self._why_over:
                        raise CallEnded(f"{self._why_over}; waited for {what}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise TimeoutError(f"{self._patience:g} s went by without {what}") from error

    def _sign(self) -> None:
        self._signs += 1
        self._changed.set()
