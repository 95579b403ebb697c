"""Our loop, whichever model: ask, run what it picks, hand in the results, until it only speaks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast

from conversations.core.events import FunctionCall
from conversations.core.markers import Malformed, MarkerParser, Part, Selection, Speech
from conversations.core.toolcalls import Chosen
from conversations.core.transcript import Said
from tools import executor
from tools.contract import Tool

# A model that runs into its own limit inside a call is asked again so often, and then only to speak.
MOST_CUT = 3
UNIT_END = "\n"
# Half an object, whatever was there: a call that was cut off must not run, even where it reads as whole.
_HALF = "{"
_TOLD_CUT = executor.refusal(
    "malformed_selection", "Your answer was cut off inside this call, so it was not run. Write less."
)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """One more piece of the model's own words; what it thinks to itself is none."""

    text: str


@dataclass(frozen=True, slots=True)
class Picked:
    """One whole tool call of the model's: `arguments` is the JSON text as it was written, `id` may be empty.

    `extra` is the provider's own and comes back unchanged in the hop, such as a thought signature. With `cut`
    the answer ended at its token limit, so that the arguments may be a part of what was meant: it is not run.
    """

    id: str
    name: str
    arguments: str
    extra: Any = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Hop:
    """One answer of the model's in which it picked tools, and what came of them, in the order of `picked`.

    Where `picked` is empty, `outputs` is one text: after `spoken`, it goes to the model as a user message.
    """

    spoken: str
    picked: Sequence[Picked]
    outputs: Sequence[str]


@dataclass(slots=True)
class Spent:
    """The tokens of one request, as far as the model's API tells them."""

    input: int | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model: instructions, what was said before, the caller's words, the hops of this turn.

    `tools` carry the names that the model is to use, and whole JSON Schemas. They stay the same in all hops;
    with `tool_choice` `none` the model may pick none of them any more. `history` holds the roles `caller` and
    `assistant`. An adapter notes in `spent` what the request took.
    """

    instructions: str
    history: Sequence[Said]
    text: str
    hops: Sequence[Hop] = ()
    tools: Sequence[Tool] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    spent: Spent = field(default_factory=Spent, compare=False)


Delta = TextDelta | Picked
Stream = Callable[[ModelRequest], AsyncIterator[Delta]]


class ModelFailed(Exception):
    """The model gave no answer: a stable code, and a reason for the log without keys or foreign bodies.

    Codes: `model_unavailable` (not reached, overloaded, out of quota), `model_refused` (it rejects what it is
    asked, or the key), `no_answer` (it said nothing), `call_limit` (it went on picking tools).
    """

    def __init__(self, code: str, reason: str = "") -> None:
        super().__init__(reason or code)
        self.code = code


class TurnTools(Protocol):
    """What one turn may use, fixed for all its hops; the host gives it.

    With `marker` the model picks in its text, by the rules in `rules`, and no tool is declared to it. With
    `thinks_first` its answers are expected to begin with thoughts. `spent`: no attempt is left.
    """

    @property
    def tools(self) -> Sequence[Tool]: ...

    @property
    def marker(self) -> bool: ...

    @property
    def rules(self) -> str: ...

    @property
    def thinks_first(self) -> bool: ...

    @property
    def spent(self) -> bool: ...

    async def run(self, chosen: Sequence[Chosen]) -> Sequence[str]:
        """Runs them side by side; each output is what the model reads, also where it is a refusal."""
        ...


async def answer(
    stream: Stream, opening: ModelRequest, tools: TurnTools, most_hops: int
) -> AsyncGenerator[str, None]:
    """What is to be spoken, piece by piece; each answer of the model's is a unit that ends with a line's end.

    Tools are run after at most `most_hops` answers; then the model may only speak. Raises ModelFailed.
    """
    hops: list[Hop] = []
    cut = 0
    while True:
        last = len(hops) >= most_hops or tools.spent or cut >= MOST_CUT
        reading = _Reading(tools.thinks_first)
        async with aclosing(reading.pieces(stream, _request(opening, tools, hops, last))) as pieces:
            async for piece in pieces:
                yield piece
        chosen = reading.chosen()
        if not chosen:
            if not reading.spoken.strip():
                raise ModelFailed("no_answer")
            return
        if reading.spoken and not reading.spoken[-1].isspace():
            yield UNIT_END
        outputs = await tools.run(chosen)
        if last:
            raise ModelFailed("call_limit")
        cut = cut + 1 if any(one.cut for one in reading.picked) else 0
        hops.append(reading.hop(outputs))


def _request(opening: ModelRequest, tools: TurnTools, hops: Sequence[Hop], last: bool) -> ModelRequest:
    """The next request. The rules of the marker go out with the permission to use it."""
    told = f"{opening.instructions}\n\n{tools.rules}" if tools.rules and not last else opening.instructions
    declared = () if tools.marker else tools.tools
    return replace(
        opening,
        instructions=told,
        hops=tuple(hops),
        tools=declared,
        tool_choice="none" if last else "auto",
        spent=Spent(),
    )


@dataclass(slots=True)
class _Reading:
    """One answer of the model's while it comes."""

    thinks_first: bool
    picked: list[Picked] = field(default_factory=list)
    marked: Selection | Malformed | None = None
    _said: list[str] = field(default_factory=list)
    _written: list[str] = field(default_factory=list)

    @property
    def spoken(self) -> str:
        return "".join(self._said)

    async def pieces(self, stream: Stream, request: ModelRequest) -> AsyncGenerator[str, None]:
        """What of it is for the caller. It ends with a marker: nothing after that counts."""
        parser = MarkerParser(self.thinks_first)
        async with aclosing(cast("AsyncGenerator[Delta, None]", stream(request))) as deltas:
            async for delta in deltas:
                if isinstance(delta, Picked):
                    self._pick(delta)
                    continue
                self._written.append(delta.text)
                for text in self._taken(parser.feed(delta.text)):
                    yield text
                if parser.closed:
                    break
        for text in self._taken(parser.finish()):
            yield text

    def _pick(self, picked: Picked) -> None:
        """A service may tell the same call again at the end."""
        if not picked.id or all(picked.id != other.id for other in self.picked):
            self.picked.append(picked)

    def _taken(self, parts: Sequence[Part]) -> Sequence[str]:
        texts = [part.text for part in parts if isinstance(part, Speech) and part.text]
        self._said += texts
        for part in parts:
            if not isinstance(part, Speech):
                self.marked = part
        return texts

    def chosen(self) -> list[Chosen]:
        """The calls, in the order in which they were picked; one marker at most, after them."""
        calls: list[Chosen] = [
            FunctionCall("", "", one.id, one.name, _HALF if one.cut else one.arguments) for one in self.picked
        ]
        return calls if self.marked is None else [*calls, self.marked]

    def hop(self, outputs: Sequence[str]) -> Hop:
        """The answer with what came of it; a marker's result goes to the model in words."""
        told = [_TOLD_CUT if one.cut else output for one, output in zip(self.picked, outputs, strict=False)]
        if self.marked is None:
            return Hop(self.spoken, tuple(self.picked), tuple(told))
        if not self.picked:
            return Hop("".join(self._written), (), tuple(outputs))
        name, arguments = "", "{}"
        if isinstance(self.marked, Selection):
            name, arguments = self.marked.name, self.marked.arguments
        also = Picked("marker", name or "unknown", arguments)
        return Hop(self.spoken, (*self.picked, also), (*told, outputs[-1]))
