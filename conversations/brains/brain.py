"""What an integrator writes: a brain, and the session through which it reaches its conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any, Protocol

from conversations.brains.actions import Action
from conversations.brains.loop import TurnTools
from conversations.brains.rtvi import RTVIMessage
from conversations.core.transcript import Said


class BrainSession(Protocol):
    """One conversation as its brain sees it, for as long as the brain lives.

    `caller` is a name, or None where nobody logged in; `history` is what was said and heard, oldest first.
    """

    @property
    def id(self) -> str: ...

    @property
    def caller(self) -> str | None: ...

    @property
    def history(self) -> Sequence[Said]: ...

    def dispatch(self, action: Action) -> str:
        """Sends the action to the screen and returns the command's id; it never waits for anything."""
        ...

    async def begin(self, methods: Sequence[Callable[..., Any]]) -> TurnTools:
        """What the running turn may use: these methods and the conversation's own tools, once a turn.

        For adapters; raises DeclarationRefused where a method cannot be a tool.
        """
        ...


class Brain:
    """One conversation's reasoning; `session` is there before any hook is called.

    Tools named in `finish_tools` run on when the caller goes on; their results enter the history.
    """

    session: BrainSession
    finish_tools: Collection[str] = ()

    async def greet(self, session: BrainSession) -> str | None:
        """Awaited once, before the first turn; what it returns is said aloud where a call begins with it."""
        return None

    def respond(self, session: BrainSession, text: str) -> AsyncIterator[str]:
        """The answer to what the caller said, piece by piece as it is to be spoken."""
        raise NotImplementedError

    async def on_rtvi(self, session: BrainSession, msg: RTVIMessage) -> None:
        """A message of the app's, in a task of its own while a turn may be running."""
