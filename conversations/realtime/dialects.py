"""What speech services that speak OpenAI Realtime do differently, as data, and how each is recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one kind of service differs from GA as OpenAI speaks it.

    With `flat` it has the names and shapes from before GA. `announces`, `deltas` and `items` say whether it
    tells the beginning of an answer that nobody asked for, its words while they come, and its items and
    parts. `lacks` are the client's events that it rejects or ignores. With `obeys_modalities` the modalities
    of a session hold for its answers. With `beside_call` it answers while a call has no output yet.
    `session_seconds` is how long a session lives at most.
    """

    name: str
    flat: bool = False
    announces: bool = True
    deltas: bool = True
    items: bool = True
    lacks: frozenset[str] = frozenset()
    obeys_modalities: bool = True
    beside_call: bool = True
    session_seconds: float | None = None

    @property
    def truncates(self) -> bool:
        """Whether the service forgets the part of an answer that was not heard."""
        return TRUNCATE not in self.lacks


CLEAR = "input_audio_buffer.clear"
RETRIEVE = "conversation.item.retrieve"
TRUNCATE = "conversation.item.truncate"
_LACKS = frozenset({CLEAR, RETRIEVE, TRUNCATE})

GA = Dialect("ga", session_seconds=3_600.0)
BETA = Dialect("beta", flat=True, session_seconds=1_800.0)
S2S_1 = Dialect("s2s-1.1", lacks=_LACKS, obeys_modalities=False, beside_call=False)
# huggingface/speech-to-speech, newest first; each differs in one more trait.
S2S = (
    S2S_1,
    replace(S2S_1, name="s2s-2026-08b", items=False),
    replace(S2S_1, name="s2s-2026-08a", items=False, announces=False),
    replace(S2S_1, name="s2s-0.2.12", items=False, announces=False, deltas=False),
)
ALL: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (GA, BETA, *S2S)}


@dataclass(slots=True)
class Traits:
    """What a service was seen to do by itself so far; None where it has not been seen yet."""

    announces: bool | None = None
    deltas: bool | None = None
    items: bool | None = None
    flat: bool = False

    def fit(self, dialect: Dialect) -> bool:
        """Whether nothing that was seen speaks against it."""
        seen = (self.announces, self.deltas, self.items)
        told = (dialect.announces, dialect.deltas, dialect.items)
        return all(one in (None, other) for one, other in zip(seen, told, strict=True))


def recognised(session: Mapping[str, Any]) -> tuple[Dialect, bool]:
    """The dialect of a service that tells this session first, and whether that is certain.

    What is uncertain is decided by the first answer: see `refined`.
    """
    if "modalities" in session or "input_audio_format" in session:
        return BETA, True
    if "object" not in session and str(session.get("id") or "").startswith("session_"):
        return S2S_1, False
    return GA, "object" in session or "output_modalities" in session


def refined(dialect: Dialect, traits: Traits) -> Dialect | None:
    """What an uncertain dialect turns out to be; None while more than one is possible."""
    if dialect is GA:
        if traits.flat:
            return BETA
        return GA if traits.items and traits.deltas else None
    # The newest ones tell their items; what they do besides tells nothing.
    fitting = [S2S_1] if traits.items else [one for one in S2S if traits.fit(one)]
    return fitting[0] if len(fitting) == 1 else None
