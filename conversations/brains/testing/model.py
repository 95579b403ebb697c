"""A model that answers from a script, in the place of whatever provider the brain is written for."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conversations.brains.loop import Delta, ModelFailed, ModelRequest, Picked, TextDelta


@dataclass(frozen=True, slots=True)
class Says:
    """An answer in words."""

    text: str


@dataclass(frozen=True, slots=True)
class Picks:
    """An answer that picks a tool, and says something first where `saying` is given.

    Arguments that are a text are sent as they are: a model may write what is no JSON.
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    saying: str = ""


ModelAnswer = Says | Picks | Sequence[Picks] | ModelFailed


class ScriptedModel:
    """Each request takes one answer: words, a tool, several tools at once, or a failure.

    `requests` is what it was asked, in order, and `results` what the tools of the last request brought.
    """

    def __init__(self, *answers: ModelAnswer) -> None:
        self.requests: list[ModelRequest] = []
        self._answers: deque[ModelAnswer] = deque(answers)
        self._picked = 0

    @property
    def results(self) -> Sequence[str]:
        """The texts that the model read of its tools in the turn that was asked about last."""
        hops = self.requests[-1].hops if self.requests else ()
        return [output for hop in hops for output in hop.outputs]

    def script(self, *answers: ModelAnswer) -> None:
        """These answers come next, after those that are left."""
        self._answers.extend(answers)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """One request, as an adapter's `stream`. Raises ModelFailed, also where the script is over."""
        self.requests.append(request)
        if not self._answers:
            raise ModelFailed("no_answer", "the script holds no more answers")
        match self._answers.popleft():
            case ModelFailed() as failure:
                raise failure
            case Says(text):
                for word in text.split(" "):
                    yield TextDelta(f"{word} ")
            case Picks() as one:
                if one.saying:
                    yield TextDelta(one.saying)
                yield self._pick(one)
            case several:
                for one in several:
                    yield self._pick(one)

    def _pick(self, one: Picks) -> Picked:
        self._picked += 1
        written = one.arguments if isinstance(one.arguments, str) else json.dumps(one.arguments)
        return Picked(f"call_{self._picked}", one.name, written)
