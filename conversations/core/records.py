"""What a call leaves in the record: frozen values for the journal. Times are epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnOpened:
    """A turn begins; `origin` is `voice`, `text` or `http`. One `aside` never has the floor."""

    turn_id: str
    conversation_id: str
    index: int
    origin: str
    at: float
    aside: bool = False


@dataclass(frozen=True, slots=True)
class TurnTexts:
    """What is known so far of a turn's words; None changes nothing."""

    turn_id: str
    caller_text: str | None = None
    heard_text: str | None = None


@dataclass(frozen=True, slots=True)
class TurnTroubled:
    """The caller was told of trouble under `ref`, which ended no turn; a turn keeps its first one."""

    turn_id: str
    code: str
    ref: str


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """A turn ends, once: `done`, `interrupted`, `cancelled` or `failed`; `code` and `ref` say why.

    `silent_ms` is how long it had been silent when that ended it.
    """

    turn_id: str
    outcome: str
    caller_text: str
    heard_text: str
    at: float
    caller_done_at: float | None = None
    answered_at: float | None = None
    code: str = ""
    ref: str = ""
    silent_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CallOpened:
    """One attempt to use a tool; `arguments` is canonical JSON text, None where none parses."""

    call_id: str
    conversation_id: str
    turn_id: str
    sequence: int
    source: str
    selection: str
    name: str
    arguments: str | None
    argument_digest: str
    generation: int
    at: float


@dataclass(frozen=True, slots=True)
class CallApproved:
    """The caller tapped yes on the sheet of that attempt, which has not ended."""

    call_id: str
    at: float


@dataclass(frozen=True, slots=True)
class CallClosed:
    """The end of that attempt, once: `status` is `completed` or `failed` with a stable `code`.

    `titles` are the sources that the caller is told.
    """

    call_id: str
    status: str
    at: float
    duration_ms: int
    code: str = ""
    result_chars: int = 0
    truncated: bool = False
    excerpt: str = ""
    ref: str = ""
    titles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpstreamOpened:
    """A session at the speech service, as it was declared; `selection` is `native`, `marker` or empty."""

    upstream_id: str
    conversation_id: str
    dialect: str
    selection: str
    tool_names: tuple[str, ...]
    instruction_digest: str
    at: float


@dataclass(frozen=True, slots=True)
class UpstreamRecognised:
    """Which dialect the service turned out to speak in that session."""

    upstream_id: str
    dialect: str


@dataclass(frozen=True, slots=True)
class UpstreamClosed:
    """That session's end and a short reason."""

    upstream_id: str
    reason: str
    at: float


Record = (
    TurnOpened
    | TurnTexts
    | TurnTroubled
    | TurnClosed
    | CallOpened
    | CallApproved
    | CallClosed
    | UpstreamOpened
    | UpstreamRecognised
    | UpstreamClosed
)
