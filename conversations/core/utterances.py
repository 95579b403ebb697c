"""What the caller said aloud, one utterance after the other, and which turn each belongs to.

A transcript may come long after the answer to it has begun, has ended, or was talked over; a service may not
tell an utterance's beginning, or its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conversations.core.recent import Recent
from conversations.core.turns import Turn

REMEMBERED = 64
# So many in a row without an answer set the clock of silence back; a noisy room must not do so forever.
MOST_IGNORED = 3


@dataclass(slots=True)
class Utterance:
    """From `began_at` to `ended_at`; `outcome` says how it ended without a turn of its own.

    One that began `over_sheet` may be noise until its words are known; `wished` are then the options of the
    answer that waits for them.
    """

    began_at: float
    ended_at: float | None = None
    committed: bool = False
    heard: bool = False
    turn: Turn | None = None
    outcome: str = ""
    over_sheet: bool = False
    wished: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Push:
    """A commit by hand that the service has not told of: whose question it is, once an answer is asked for.

    While another answer is due `wished` are the options of the one that waits for it.
    """

    turn: Turn | None = None
    wished: Mapping[str, Any] | None = None


class Utterances:
    """The caller's latest utterance, and those before it whose transcripts may still come.

    `announced` says that the service ended an answer for the caller's sake, and has not said why so far.
    `ignored` counts those in a row of which nothing came before the next.
    """

    def __init__(self) -> None:
        self._known: Recent[Utterance] = Recent(REMEMBERED)
        self._latest: Utterance | None = None
        self.announced = False
        self.ignored = 0
        self.push: Push | None = None

    @property
    def open(self) -> Utterance | None:
        """The latest utterance where it has no turn yet and may still get one."""
        latest = self._latest
        return latest if latest is not None and latest.turn is None and not latest.outcome else None

    @property
    def unanswered(self) -> bool:
        """Whether the caller has finished an utterance that has no turn yet."""
        return self.open is not None and self.open.ended_at is not None

    @property
    def waiting(self) -> bool:
        """Whether the caller has said something, or seems to, and nothing came of it so far."""
        return self.announced or self.unanswered

    @property
    def speaking(self) -> bool:
        """Whether the caller has begun to speak and not been heard to stop."""
        return self._latest is not None and self._latest.ended_at is None

    def is_speaking(self, item_id: str) -> bool:
        """Whether the end of that utterance is still to come, or was told before."""
        return item_id in self._known or (self._latest is not None and self._latest.ended_at is None)

    def is_uncommitted(self, item_id: str) -> bool:
        """Whether an utterance is known that this commit can be about."""
        return item_id in self._known or (self._latest is not None and not self._latest.committed)

    def began(self, item_id: str, now: float) -> Utterance:
        """The caller begins to speak."""
        self.give_up("interrupted")
        self.announced, self._latest = False, Utterance(now)
        self._name(self._latest, item_id)
        return self._latest

    def ended(self, item_id: str, now: float) -> Utterance:
        """The caller has stopped speaking."""
        utterance = self._known.get(item_id) or self._latest or self.began(item_id, now)
        utterance.ended_at = utterance.ended_at or now
        self._name(utterance, item_id)
        return utterance

    def committed(self, item_id: str, now: float) -> None:
        """What the caller said is an item now."""
        self.ended(item_id, now).committed = True

    def give_up(self, outcome: str) -> None:
        """The caller did something else before the latest utterance had a turn."""
        if self.open is not None:
            self.ignored += self.unanswered
            self.open.outcome = outcome

    def heard(self, item_id: str) -> Utterance | None:
        """The utterance that a transcript belongs to; None where nothing else is known of it."""
        found = self._known.get(item_id) if item_id else None
        latest = self._latest
        if found is None and latest is not None and not latest.heard:
            found = latest
        if found is not None:
            found.heard = True
            self._name(found, item_id)
        return found

    def _name(self, utterance: Utterance, item_id: str) -> None:
        if item_id:
            self._known.put(item_id, utterance)
