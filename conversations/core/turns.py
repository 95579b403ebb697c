"""One turn: a caller's utterance and what it has caused so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conversations.core.policy import Allowance, Setup
from conversations.core.records import TurnClosed, TurnOpened
from conversations.core.transcript import Answer, Key


@dataclass(slots=True)
class Picked:
    """A tool that the model picked in this turn, and what became of it.

    `service_call_id` is empty for a marker. `output` is the exact text for the model once there is one; with
    `sent` the model has it. `code` says why it was refused. With `finishing` it runs on after its turn. One
    that is `carried` was picked in a session of the service that is gone: the present one knows no such call.
    """

    call_id: str
    turn_id: str
    turn_index: int
    sequence: int
    service_call_id: str
    name: str
    selection: str
    generation: int
    picked_at: float
    browser_owned: bool = False
    code: str = ""
    digest: str = ""
    output: str | None = None
    sent: bool = False
    ref: str = ""
    running: bool = False
    finishing: bool = False
    carried: bool = False


@dataclass(slots=True)
class Turn:
    """`batch` holds the calls that the next response waits for; after `last` no tool may be picked.

    `told` are the calls before those, whose outputs the model has. `wished` are the options with which the
    browser asked for the answer to its own calls. With `owed` the caller has nothing yet of the answer that
    is due. A turn that `greets` answers nobody.
    """

    turn_id: str
    index: int
    origin: str
    started_at: float
    allowance: Allowance
    caller_text: str = ""
    caller_done_at: float | None = None
    answered_at: float | None = None
    ref: str = ""
    answer: Answer = field(default_factory=Answer)
    hushed: list[Answer] = field(default_factory=list)
    batch: list[Picked] = field(default_factory=list)
    told: list[Picked] = field(default_factory=list)
    wished: Mapping[str, Any] | None = None
    picks: int = 0
    responded: bool = False
    owed: bool = True
    last: bool = False
    malformed: bool = False
    asked_again: bool = False
    lined: bool = False
    silent_ms: int | None = None
    greets: bool = False

    @property
    def awaits_browser(self) -> bool:
        """Whether the browser has still to answer a call of its own, or to ask for what follows."""
        owned = [picked for picked in self.batch if picked.browser_owned]
        return any(picked.output is None for picked in owned) or (bool(owned) and self.wished is None)

    def answer_with(self, key: Key) -> Answer | None:
        """The part of the turn's answer that holds that content part."""
        return next((one for one in (*self.hushed, self.answer) if one.sent_ms(key) is not None), None)

    def heard(self) -> str:
        """The answer as heard."""
        texts = [one.heard() for one in (*self.hushed, self.answer)]
        return " ".join(text for text in texts if text)

    def unheard(self) -> list[tuple[Key, int]]:
        """What of the answer was not played to its end, with the milliseconds that were."""
        return [part for one in (*self.hushed, self.answer) for part in one.unheard()]

    def cut(self, now: float) -> bool:
        """Whether playback ends here and did not before; infinity is when everything was played."""
        return self.answer.cut(now)

    def begin_again(self) -> None:
        """What was said so far is cut; the turn's answer goes on with what comes."""
        self.hushed.append(self.answer)
        self.answer = Answer()

    def opened(self, setup: Setup, aside: bool = False) -> TurnOpened:
        return TurnOpened(
            self.turn_id, setup.conversation_id, self.index, self.origin, self.started_at, aside
        )

    def closed(self, outcome: str, now: float, code: str = "", ref: str = "") -> TurnClosed:
        return TurnClosed(
            turn_id=self.turn_id,
            outcome=outcome,
            caller_text=self.caller_text,
            heard_text=self.heard(),
            at=now,
            caller_done_at=self.caller_done_at,
            answered_at=self.answered_at,
            code=code,
            ref=ref,
            silent_ms=self.silent_ms,
        )


def open_turn(setup: Setup, index: int, origin: str, started_at: float) -> Turn:
    """A new turn of `origin` `voice` or `text`."""
    return Turn(setup.new_id("turn"), index, origin, started_at, Allowance(setup.limits))
