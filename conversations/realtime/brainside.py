"""What a live call and the brain that thinks for it have to do with each other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from conversations.brains import tickets
from conversations.brains.tickets import Ticket
from conversations.core.events import ConfirmAnswered, Event
from conversations.core.turns import Turn
from conversations.realtime.allowed import ClientMessage
from conversations.realtime.session import Session


class Thinker(Protocol):
    """The brain, as far as the call sees it."""

    def stop(self) -> None: ...

    def receive(self, message: ClientMessage | ConfirmAnswered) -> bool: ...


class BrainSide:
    """The call as its brain sees it, and the brain as the call does. `thinks_until` is 0 where none thinks.

    `extras` and `language` are those of the newest client.
    """

    def __init__(self, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self.session: Session | None = None
        self.thinker: Thinker | None = None
        self.thinks_until = 0.0
        self.extras, self.language = False, ""
        # What other processes ask, by the channel on which they are answered.
        self.asked: dict[str, asyncio.Task[None]] = {}

    # ---- for the brain

    def holds(self, session_id: str) -> bool:
        """Whether that session of the service is this call's own, and runs."""
        return bool(self.thinks_until) and self.session is not None and self.session.holds(session_id)

    def thinks(self, session_id: str) -> Turn | None:
        """The turn to which an answer to that session belongs; None where the session is over."""
        return self.session.thinks(session_id) if self.session is not None else None

    def feed(self, event: Event) -> None:
        """What the call's core is to know of its brain."""
        if self.session is not None:
            self.session.feed(event)

    def pass_on(self, event: Mapping[str, Any]) -> None:
        """An event of the brain's for the page."""
        if self.session is not None:
            self.session.pass_on(event)

    # ---- for the call

    def ticket(self, session_id: str, says: bool) -> str:
        """The last line of the instructions of that session, or of a line that it is to say."""
        if not self.thinks_until:
            return ""
        return tickets.line(Ticket(self.conversation_id, session_id, int(self.thinks_until), says))

    def stop(self) -> None:
        """The caller has gone on, or the call is over."""
        if self.thinker is not None:
            self.thinker.stop()

    def takes(self, message: ClientMessage | ConfirmAnswered) -> bool:
        """Whether a message of the page's is for the brain, which has it then."""
        return self.thinker is not None and self.thinker.receive(message)
