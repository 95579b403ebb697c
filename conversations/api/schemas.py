"""Bodies as they cross the wire."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from conversations.identity import phones


def _phone(text: str) -> str:
    try:
        return phones.normalised(text)
    except ValueError as error:
        raise PydanticCustomError("phone", "{reason}", {"reason": str(error)}) from error


Phone = Annotated[str, Field(max_length=40), AfterValidator(_phone)]
Seconds = Annotated[int, Field(ge=10, le=7200, strict=True)]
Link = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Printable = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class Strict(Schema):
    """A body whose unknown fields are errors: nobody should believe that they do something."""

    model_config = ConfigDict(extra="forbid")


class Credential(Strict):
    """At most one way to say who is calling."""

    link: Link | None = None
    phone: Phone | None = None

    @model_validator(mode="after")
    def one_at_most(self) -> Credential:
        if self.link and self.phone:
            raise PydanticCustomError("ambiguous", "send either link or phone")
        return self


class BootstrapIn(Credential):
    """`{}` resumes."""

    episode_id: Annotated[Printable, Field(max_length=100)] = ""


class Expiry(Strict):
    """How long a fresh secret is good without being used."""

    anchor: Literal["created_at"] = "created_at"
    seconds: Seconds


class ClientSecretIn(Credential):
    """What an integrator's server asks for a client of its own."""

    expires_after: Expiry | Seconds | None = None
    browser_tools: Annotated[list[ToolName], Field(max_length=32)] | None = None
    session: dict[str, Any] | None = None

    @property
    def lifetime(self) -> timedelta | None:
        """The wish in `expires_after`, if any."""
        after = self.expires_after
        seconds = after.seconds if isinstance(after, Expiry) else after
        return None if seconds is None else timedelta(seconds=seconds)


class ExecuteIn(Strict):
    """A tool of the bridge and what it is asked; a name that does not exist is told in the envelope."""

    name: Annotated[Printable, Field(min_length=1, max_length=200)]
    arguments: dict[str, Any] = {}


class BridgeErrorOut(Schema):
    """`message` is for people; the others are for diagnostics."""

    message: str
    code: str
    status_code: int
    raw: Any = None


class EnvelopeOut(Schema):
    """What the bridge's routes answer: `data` where `success`, else `error`."""

    success: bool
    data: Any = None
    error: BridgeErrorOut | None


class CallerOut(Schema):
    name: str


class ToolsOut(Schema):
    """`count` is null until the caller's tools are discovered; `error` is a code."""

    count: int | None
    error: str | None


class ConversationOut(Schema):
    id: uuid.UUID
    state: Literal["open", "closed"]
    close_reason: str | None
    caller: CallerOut | None
    expires_at: datetime
    realtime_url: str
    tools: ToolsOut


class SourceOut(Schema):
    title: str


class CallOut(Schema):
    name: str
    label: str
    status: Literal["completed", "failed"]
    code: str | None
    duration_ms: int | None
    sources: list[SourceOut]


class TurnOut(Schema):
    index: int
    origin: Literal["voice", "text", "http"]
    caller_text: str
    heard_text: str
    outcome: Literal["done", "interrupted", "failed", "cancelled"]
    started_at: datetime
    rating: Literal["good", "bad"] | None
    tools: list[CallOut]


class ConversationWithTurns(ConversationOut):
    turns: list[TurnOut]


class SuggestionOut(Schema):
    text: str


class SuggestionsOut(Schema):
    """Questions to begin with, and labels of the caller's tools by name, in the language of the request."""

    suggestions: list[SuggestionOut]
    labels: dict[str, str]


class RatingIn(Strict):
    """What the caller thought of an answer; null takes it back."""

    rating: Literal["good", "bad"] | None


class RatingOut(Schema):
    """The rating as it is kept now."""

    turn: int
    rating: Literal["good", "bad"] | None


class ClientSecretOut(Schema):
    """`expires_at` is in epoch seconds, as clients of the realtime API expect it."""

    value: str
    expires_at: int
    conversation: ConversationOut


class SearchIn(Strict):
    """A question for the web, as short as one types it."""

    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


class FoundOut(Schema):
    title: str
    url: str
    snippet: str


class SearchOut(Schema):
    results: list[FoundOut]


class QuestionIn(Strict):
    """What the caller asks the brain."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=8_000)]


class MessageDataIn(Strict):
    """`t` says what the message is about, `d` what it says."""

    t: Annotated[Printable, Field(min_length=1, max_length=100)]
    d: dict[str, Any] = {}


class MessageIn(Strict):
    """An RTVI client-message in its envelope."""

    label: Literal["rtvi-ai"] = "rtvi-ai"
    type: Literal["client-message"]
    id: Annotated[str, Field(max_length=100)] = ""
    data: MessageDataIn


class AttemptOut(Schema):
    """One use of a tool in the turn."""

    call_id: str
    name: str
    status: Literal["completed", "failed"]
    code: str
    duration_ms: int


class CommandOut(Schema):
    command: str
    payload: dict[str, Any]


class TurnAnswerOut(Schema):
    """A whole turn, for clients that take no stream."""

    type: Literal["turn.completed"]
    turn: int
    text: str
    tool_calls: list[AttemptOut]
    actions: list[CommandOut]


class PartIn(Schema):
    """One part of a message; only text counts."""

    type: str = ""
    text: str = ""


class ChatMessageIn(Schema):
    """One message of a language model's conversation."""

    role: str
    content: str | list[PartIn] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class StreamOptionsIn(Schema):
    include_usage: bool = False


class CompletionIn(Schema):
    """What a speech service asks of its language model; fields that mean nothing here are let pass."""

    model: str = ""
    messages: Annotated[list[ChatMessageIn], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptionsIn | None = None

    @property
    def instructions(self) -> str:
        """What the model is told to be; no caller, page or tool writes here without passing the relay."""
        return "\n".join(one.text for one in self.messages if one.role in ("system", "developer"))

    @property
    def words(self) -> str:
        """What the caller said last."""
        return next((one.text for one in reversed(self.messages) if one.role == "user"), "")


class ChoiceOut(Schema):
    index: int
    message: dict[str, Any]
    finish_reason: str


class CompletionOut(Schema):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChoiceOut]
    usage: dict[str, int]


class AudioOut(Schema):
    type: str
    rate: int
    channels: int


class RealtimeOut(Schema):
    path: str
    audio: AudioOut


class ConfigOut(Schema):
    mode: Literal["mcp", "apipilot", "plain"]
    connection: Literal["relay"]
    features: dict[str, bool]
    realtime: RealtimeOut
    limits: dict[str, int]


class FaultOut(Schema):
    pointer: str
    code: str
    detail: str


class ProblemOut(Schema):
    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FaultOut]
