"""What the adapters share: a brain with tools of its own, over one model and our loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from conversations.brains import loop
from conversations.brains.brain import Brain, BrainSession
from conversations.brains.loop import Delta, ModelRequest
from conversations.core.markers import neutralise

Method = Callable[..., Any]


class ToolBrain(Brain):
    """A brain that asks one model and runs the tools that it picks; an adapter implements `stream` only.

    `tools` are bound async methods with one pydantic model or nothing as parameter. The list is read once a
    turn and stays for all its hops, so it may depend on the caller.
    """

    def __init__(self, *, client: Any, system_instruction: str, model: str, max_tool_hops: int = 6) -> None:
        self.client = client
        self.system_instruction = system_instruction
        self.model = model
        self.max_tool_hops = max_tool_hops

    @property
    def tools(self) -> Sequence[Method]:
        """The methods that the model may pick in this turn."""
        return ()

    def grounding(self) -> str:
        """What the model is told in this turn beside the system instruction, such as the day's date."""
        return ""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """One request to the model: its words as they come, each tool call once it is whole.

        No tool is run here and nothing is asked again but what the model's API asks to. Raises ModelFailed.
        """
        raise NotImplementedError

    async def respond(self, session: BrainSession, text: str) -> AsyncIterator[str]:
        """The model's answer; each time it picks tools a unit of speech ends and another begins."""
        turn = await session.begin(self.tools)
        told = [self.system_instruction, self.grounding()]
        opening = ModelRequest(
            instructions="\n\n".join(part for part in told if part),
            history=tuple(session.history),
            text=neutralise(text),
        )
        async with aclosing(loop.answer(self.stream, opening, turn, self.max_tool_hops)) as pieces:
            async for piece in pieces:
                yield piece
