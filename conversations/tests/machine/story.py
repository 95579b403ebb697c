"""What is seen of a conversation from outside, one thing after the other: the watchers read this."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from conversations.core.events import Event
from conversations.core.records import Record
from conversations.realtime.endings import Ending


@dataclass(frozen=True, slots=True)
class Shown:
    """A frame is on its way to the browser."""

    text: str
    frame: dict


@dataclass(frozen=True, slots=True)
class Missed:
    """A frame for a browser that is away; it may see it when it is back."""

    text: str
    frame: dict


@dataclass(frozen=True, slots=True)
class Put:
    """A frame is on its way to the session at the service."""

    text: str
    frame: dict


@dataclass(frozen=True, slots=True)
class Arrived:
    """The service has a frame, whoever sent it."""

    text: str


@dataclass(frozen=True, slots=True)
class Begun:
    """The service begins a response: because of a request, as an answer to an utterance, or for no reason."""

    response_id: str
    wish: str = ""
    utterance: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """The service says a thing, which is now on its way."""

    frame: dict


@dataclass(frozen=True, slots=True)
class Delivered:
    """The relay reads a frame of the service; all that it does about it comes before the next Handled."""

    frame: dict


@dataclass(frozen=True, slots=True)
class Fed:
    """An event enters the core; all that is done about it comes before the next Handled."""

    event: Event


@dataclass(frozen=True, slots=True)
class Handled:
    """That was it."""


@dataclass(frozen=True, slots=True)
class Wrote:
    """A record for the journal."""

    record: Record


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A record that the journal did not take, and said so."""

    record: Record


@dataclass(frozen=True, slots=True)
class Ran:
    """A tool begins to work at its source."""

    run: object


@dataclass(frozen=True, slots=True)
class Stopped:
    """A tool works no more at its source."""

    run: object


@dataclass(frozen=True, slots=True)
class Logged:
    """A line of the log."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Over:
    """A socket's call has ended like this."""

    ending: Ending


@dataclass(frozen=True, slots=True)
class Glance:
    """What there is at the end of a step: see `conversation.Socket.glance`.

    With `settled` nothing is left to do without time passing; after `last` nothing comes any more.
    """

    settled: bool
    live: bool
    unread: int
    characters: int
    entries: int
    shared: tuple
    working: int
    last: bool = False


@dataclass
class Story:
    """The things so far, each with its time. Nobody may see `tokens`; `foreign` is another's."""

    conversation_id: str
    caller: object
    clock: Callable = field(default_factory=lambda: asyncio.get_running_loop().time)
    tokens: tuple = ()
    foreign: tuple = ()
    things: list = field(default_factory=list)

    def tell(self, thing):
        self.things.append((self.clock(), thing))

    def take(self):
        """Everything since this was last asked."""
        things, self.things = self.things, []
        return things
