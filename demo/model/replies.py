"""One answer of the model: planned, or taken from a test's script."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from demo.model.chat import ChatRequest, arguments_of, items
from demo.model.remembering import decided
from demo.speech.planner import Context, Say, declared, in_instructions
from demo.speech.responding import marker_text

LOOKING = "Let me see."


@dataclass(frozen=True, slots=True)
class Called:
    """One tool call, with its arguments as the JSON text that is sent."""

    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Reply:
    """Words, then calls; `finish` is told as the reason of the end, and one that `hangs` never ends."""

    text: str = ""
    calls: Sequence[Called] = ()
    finish: str = ""
    hangs: bool = False

    @property
    def reason(self) -> str:
        """Why the answer ends."""
        return self.finish or ("tool_calls" if self.calls else "stop")

    @classmethod
    def picking(cls, name: str, text: str = "", **arguments: Any) -> "Reply":
        """A reply that calls one tool."""
        return cls(text, (Called(name, arguments_of(arguments)),))


def planned(request: ChatRequest, today: date) -> Reply:
    """What the planner answers; the same for the same request."""
    native = declared(request.declarations())
    marker, catalog = in_instructions(request.instructions) if not native else (None, ())
    said = items(request.messages)
    context = Context(said, native or catalog, today, may_call=request.may_call, order=request.instructions)
    decision = decided(context)
    if isinstance(decision, Say):
        return Reply(decision.text)
    if marker:
        return Reply(marker_text(marker, decision.calls[0]))
    calls = decision.calls if request.parallel_tool_calls else decision.calls[:1]
    first = bool(said) and said[-1].get("role") == "user"
    called = tuple(Called(call.name, arguments_of(call.arguments)) for call in calls)
    return Reply(LOOKING if first else "", called)
