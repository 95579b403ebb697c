"""What the core asks for: frozen values that the edge performs in order. None of them waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conversations.core.records import Record

# ---- to the speech service


@dataclass(frozen=True, slots=True)
class SendItem:
    """Add this item to the conversation, under our own id; with `shown` the browser may see it."""

    item: Mapping[str, Any]
    shown: bool = False


@dataclass(frozen=True, slots=True)
class CreateResponse:
    """Ask for a response; with `last`, one in which no tool may be picked any more.

    `event_id` marks the service's complaint, if it has one. With a `line` it is to say only that.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    last: bool = False
    event_id: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class CancelResponse:
    """Cancel this response."""

    response_id: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tell the service how much of an item was heard; `event_id` marks its complaint, if it has one."""

    item_id: str
    content_index: int
    audio_end_ms: int
    event_id: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """What the caller has said so far is to be an item."""


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Ask for an item again; `event_id` marks the service's complaint, if it has one."""

    item_id: str
    event_id: str


# ---- to the browser


@dataclass(frozen=True, slots=True)
class Show:
    """Pass the service's event on as it is; of sound no more need pass than the browser takes."""

    frame: str
    is_audio: bool = False


@dataclass(frozen=True, slots=True)
class DropSound:
    """The caller stopped playback: sound that the browser has not got yet is not to be heard."""


@dataclass(frozen=True, slots=True)
class ShowDelta:
    """Pass the event on with this delta instead of its own."""

    frame: str
    delta: str


@dataclass(frozen=True, slots=True)
class ShowCut:
    """Pass the event on with only the kept texts, by item and content index, and without the hidden calls.

    `after` is (hidden, visible): where the event says that an item comes after the hidden one.
    """

    frame: str
    kept: Mapping[tuple[str, int], str]
    hidden: frozenset[str] = frozenset()
    after: tuple[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Tell:
    """One of Vocero's own events, `vocero.…` or `error`."""

    type: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """The page is to do this: an RTVI `ui-command`, for clients that know Vocero's own events."""

    command: str
    payload: Mapping[str, Any]


# ---- to this process


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a tool once `opened` is in the database; its outcome comes back as ToolEnded.

    `opened` begins the call's row, or says that the caller approved the call of a row that is there.
    """

    call_id: str
    name: str
    arguments: str
    room: int
    opened: Record
    turn_id: str = ""


@dataclass(frozen=True, slots=True)
class CancelTool:
    """End a running tool now."""

    call_id: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Write this into the record."""

    record: Record


@dataclass(frozen=True, slots=True)
class Redeclare:
    """From here on the tools of the last ToolsOffered are those that may be called: the service is told."""


@dataclass(frozen=True, slots=True)
class StopBrain:
    """The brain that thinks for this call is to end what it does: its turn is over."""


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Fire TimerFired(name) after so many seconds; a timer of that name starts anew."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ClearTimer:
    """Forget that timer."""

    name: str


Effect = (
    SendItem
    | CreateResponse
    | CancelResponse
    | Truncate
    | Commit
    | Retrieve
    | Show
    | DropSound
    | ShowDelta
    | ShowCut
    | Tell
    | Command
    | RunTool
    | CancelTool
    | Keep
    | Redeclare
    | StopBrain
    | SetTimer
    | ClearTimer
)
