"""A session's items read as turns: what was asked, which tools were called and what they answered."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from demo.speech.planner.results import Outcome, parsed
from demo.speech.planner.tools import Call
from demo.speech.planner.words import Question

Item = Mapping[str, Any]
_MARKER = re.compile(r"<<<[A-Z_]+:NAME=([^,\s]+),ARGUMENTS=")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answered call; `call` is None where only the answer was kept."""

    call: Call | None
    outcome: Outcome

    @property
    def tool_name(self) -> str:
        """Which tool answered, or an empty string where nothing says so."""
        return self.outcome.name or (self.call.name if self.call else "")


@dataclass(slots=True)
class Turn:
    """One question and all that it caused so far."""

    question: Question
    exchanges: list[Exchange] = field(default_factory=list)
    pending: dict[str, Call] = field(default_factory=dict)
    said: str = ""

    @property
    def outcomes(self) -> list[Outcome]:
        """The answers, latest first."""
        return [exchange.outcome for exchange in reversed(self.exchanges)]


def text_of(item: Item) -> str:
    """The words of a message item, typed or transcribed."""
    parts = (part.get("text") or part.get("transcript") or "" for part in item.get("content") or ())
    return " ".join(part for part in parts if part).strip()


def turns(items: Iterable[Item]) -> list[Turn]:
    """The turns of a conversation in order; what came before the first question is left out."""
    found: list[Turn] = []
    for item in items:
        if item.get("type") == "message" and item.get("role") == "user":
            _caller(found, text_of(item))
        elif item.get("type") == "function_call_output":
            _output(found, item)
        elif found:
            _other(found[-1], item)
    return found


def _caller(found: list[Turn], text: str) -> None:
    outcome = parsed(text)
    if outcome is None or not found:
        found.append(Turn(Question(text)))
    else:
        _answered(found[-1], next(iter(found[-1].pending), ""), outcome)


def _output(found: list[Turn], item: Item) -> None:
    """A late answer belongs to the question that its call was for, not to a newer one."""
    call_id = str(item.get("call_id"))
    turn = next((turn for turn in reversed(found) if call_id in turn.pending), None)
    outcome = parsed(str(item.get("output") or ""), turn.pending[call_id].name if turn else "tool")
    if turn is not None and outcome:
        _answered(turn, call_id, outcome)


def _other(turn: Turn, item: Item) -> None:
    kind = item.get("type")
    if kind == "function_call":
        turn.pending[str(item.get("call_id"))] = Call(
            str(item.get("name")), _arguments(str(item.get("arguments")))
        )
    elif item.get("role") == "assistant":
        _assistant(turn, text_of(item))
    elif item.get("role") == "system" and (outcome := parsed(text_of(item))):
        _answered(turn, next(iter(turn.pending), ""), outcome)


def _assistant(turn: Turn, text: str) -> None:
    marker = _MARKER.search(text)
    if marker is None:
        turn.said = text or turn.said
        return
    try:
        arguments, _ = json.JSONDecoder().raw_decode(text, marker.end())
    except ValueError:
        return
    if isinstance(arguments, dict):
        turn.pending[f"marker-{len(turn.exchanges)}-{len(turn.pending)}"] = Call(marker[1], arguments)


def _answered(turn: Turn, call_id: str, outcome: Outcome) -> None:
    turn.exchanges.append(Exchange(turn.pending.pop(call_id, None), outcome))


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
