"""What can happen to a live call. `frame` is the service's own JSON text, kept to be passed on.

Names follow OpenAI Realtime GA. Times are epoch seconds, audio is counted in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Text = tuple[str, int, str]  # item id, content index, text

# ---- from the speech service


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The service hears the caller begin to speak; `item_id` is the utterance's, where it is told."""

    frame: str
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The service hears the caller stop."""

    frame: str
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class Committed:
    """What the caller said is an item now, also where a client committed it by hand."""

    item_id: str
    previous_item_id: str
    frame: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What the caller said in one item, as the service transcribed it; None where it could not."""

    item_id: str
    text: str | None
    frame: str


@dataclass(frozen=True, slots=True)
class ResponseStarted:
    """The service announces a response."""

    response_id: str
    frame: str


class TextDelta(NamedTuple):
    """A piece of assistant text, of one content part of one item; `spoken` where sound says the same.

    Like AudioDelta a tuple: most events are one of these, and a tuple is made in a third of the time.
    """

    response_id: str
    item_id: str
    content_index: int
    text: str
    frame: str
    spoken: bool = False


@dataclass(frozen=True, slots=True)
class TextDone:
    """The whole text of one content part, also where no delta came before it."""

    response_id: str
    item_id: str
    content_index: int
    text: str
    frame: str
    spoken: bool = False


class AudioDelta(NamedTuple):
    """A piece of assistant audio of so many milliseconds."""

    response_id: str
    item_id: str
    content_index: int
    milliseconds: float
    frame: str


@dataclass(frozen=True, slots=True)
class Structure:
    """An event about the shape of a response: items and parts added or done.

    `of_call` says that it is about a function call; `name` is the picked tool where the event tells it.
    `partial` says that it is a piece of the call's arguments, which `texts` hold whole at their end. Else
    `texts` are the assistant's words that the frame repeats. `after` is (hidden, visible): the item that the
    frame names as the one before, and the one that the browser knows.
    """

    response_id: str
    item_id: str
    frame: str
    of_call: bool = False
    partial: bool = False
    name: str = ""
    texts: tuple[Text, ...] = ()
    after: tuple[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """The model picks a tool natively; the same call may be told several times."""

    response_id: str
    item_id: str
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ResponseDone:
    """The end of a response: `completed`, `cancelled`, `failed` or `incomplete`, and why.

    `calls` are to be run, `told` are all that its frame tells of, also where the response did not complete.
    """

    response_id: str
    status: str
    code: str
    calls: tuple[FunctionCall, ...]
    frame: str
    told: tuple[FunctionCall, ...] = ()
    texts: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemEcho:
    """The service repeats an item of the conversation; `kind`, `role` and `name` as it says.

    `asked` says that the browser had asked for it; `texts` are an assistant's words in it.
    """

    item_id: str
    kind: str
    role: str
    name: str
    frame: str
    previous_item_id: str = ""
    asked: bool = False
    texts: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceError:
    """The service complains; `event_id` names our event where it says so."""

    code: str
    message: str
    event_id: str
    frame: str


@dataclass(frozen=True, slots=True)
class Truncated:
    """The service has cut an item to what was heard."""

    item_id: str
    content_index: int
    frame: str


@dataclass(frozen=True, slots=True)
class Passing:
    """Any other event of the service that the browser may see as it is."""

    frame: str


# ---- from the browser


@dataclass(frozen=True, slots=True)
class Typed:
    """The caller writes: the item as the allow-list left it, and its text."""

    item: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class BrowserOutput:
    """The browser answers a call of its own."""

    call_id: str
    output: str


@dataclass(frozen=True, slots=True)
class CommitAsked:
    """The browser says by itself that the caller has finished speaking."""


@dataclass(frozen=True, slots=True)
class CreateAsked:
    """The browser asks for a response, with the options it may set."""

    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """The caller presses stop."""


@dataclass(frozen=True, slots=True)
class TruncateAsked:
    """The browser says where playback of an item was cut."""

    item_id: str
    content_index: int
    audio_end_ms: int


@dataclass(frozen=True, slots=True)
class RetrieveAsked:
    """The browser wants to see an item again."""

    item_id: str
    event_id: str = ""


@dataclass(frozen=True, slots=True)
class Played:
    """How much of a part of an item the caller has heard."""

    item_id: str
    played_ms: int
    content_index: int = 0


@dataclass(frozen=True, slots=True)
class ConfirmAnswered:
    """The caller tapped yes or no on the sheet of that nonce."""

    nonce: str
    approved: bool


# ---- from this process


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool's outcome: `completed`, or `failed` with a code; `output` is the exact text for the model.

    `denied` says that the tool told of a sign-in that it does not accept, in words of its own.
    """

    call_id: str
    status: str
    code: str
    output: str
    duration_ms: int
    truncated: bool = False
    titles: tuple[str, ...] = ()
    excerpt: str = ""
    denied: bool = False


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """How far a running tool is."""

    call_id: str
    progress: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True)
class ToolsOffered:
    """What may be called is something else from the next turn on, in Setup's terms."""

    server_tools: Mapping[str, str]
    browser_tools: frozenset[str]
    aliases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer that the core had set; `name` as in its SetTimer."""

    name: str


@dataclass(frozen=True, slots=True)
class UpstreamLost:
    """The session at the speech service is gone."""


@dataclass(frozen=True, slots=True)
class ServiceKnown:
    """What kind of service it is: with `beside_call` it answers while a call has no output yet."""

    beside_call: bool


@dataclass(frozen=True, slots=True)
class BrowserLost:
    """The browser's socket is gone for now: what is shown from here on nobody sees or hears."""


@dataclass(frozen=True, slots=True)
class BrowserBack:
    """A browser is there again; `has_sheets` says whether it can show what needs a tap."""

    has_sheets: bool = True


@dataclass(frozen=True, slots=True)
class BrainAsked:
    """The speech service lets the conversation's brain think for the turn that runs, or begins with that."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What the brain says before the caller says anything."""

    text: str


@dataclass(frozen=True, slots=True)
class BrainMoved:
    """Whether the brain waits for a tool or a tap, so that silence has a cause."""

    at_work: bool


@dataclass(frozen=True, slots=True)
class BrainEnded:
    """The brain has answered; with a `code` it could not, which `message` tells the caller under `ref`."""

    code: str = ""
    ref: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """The call ends here: `cause` is `disconnect`, `superseded`, or a close reason."""

    cause: str


Event = (
    SpeechStarted
    | SpeechStopped
    | Committed
    | Heard
    | ResponseStarted
    | TextDelta
    | TextDone
    | AudioDelta
    | Structure
    | FunctionCall
    | ResponseDone
    | ItemEcho
    | ServiceError
    | Truncated
    | Passing
    | Typed
    | BrowserOutput
    | CommitAsked
    | CreateAsked
    | CancelAsked
    | TruncateAsked
    | RetrieveAsked
    | Played
    | ConfirmAnswered
    | ToolEnded
    | ToolProgressed
    | ToolsOffered
    | TimerFired
    | UpstreamLost
    | ServiceKnown
    | BrowserLost
    | BrowserBack
    | BrainAsked
    | Greeting
    | BrainMoved
    | BrainEnded
    | Ended
)
