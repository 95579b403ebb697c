"""HTTP reasoning: each thing the caller says is a request, whose events are read as they come."""

from __future__ import annotations

import asyncio
from typing import Any

from conversations.brains.testing.application import Answer, App, asked
from conversations.brains.testing.stage import Stage
from conversations.brains.testing.turns import Turn
from conversations.brains.testing.voice import client_message

BUSY = 409
GLANCE = 0.02


class NotTaken(AssertionError):
    """Vocero refused a request of the driver's; the text is its status and its problem code."""


class HttpTalk:
    """One conversation over `/api/reasoning`; who barges in goes away from the answer and asks anew."""

    def __init__(self, app: App, stage: Stage) -> None:
        self._app, self._stage = app, stage
        self._headers: dict[str, str] = {}
        self._conversation_id = ""
        self._answer: Answer | None = None
        self._reading: dict[int, asyncio.Task[None]] = {}

    def connect(self, secret: str, conversation_id: str) -> None:
        """Whose conversation it is."""
        self._headers = {"authorization": f"Bearer {secret}", "x-vocero-conversation": conversation_id}
        self._conversation_id = conversation_id

    async def say(self, turn: Turn) -> None:
        """The caller asks; returns once the answer has begun."""
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading[id(turn)] = asyncio.create_task(self._read(turn, begun))
        await begun

    async def shown(self, turn: Turn) -> None:
        """Once all events of its answer are read."""
        await self._reading[id(turn)]

    async def hush(self, turn: Turn) -> None:
        """The caller goes away from the answer."""
        if self._answer is not None:
            self._answer.leave()

    async def message(self, kind: str, data: Any) -> None:
        """Posts an RTVI client message. Raises NotTaken where no turn waits for any."""
        path = f"/api/conversations/{self._conversation_id}/messages"
        async with asked(self._app, "POST", path, self._headers, client_message(kind, data)) as answer:
            if answer.status != 202:
                raise await _not_taken(path, answer)

    async def close(self) -> None:
        for task in self._reading.values():
            task.cancel()
        if self._reading:
            await asyncio.wait(self._reading.values())

    async def _read(self, turn: Turn, begun: asyncio.Future[None]) -> None:
        try:
            # The turn before this one may still be on its way out, which nothing tells.
            while not await self._asked(turn, begun):  # noqa: ASYNC110
                await asyncio.sleep(GLANCE)
        except NotTaken as refused:
            begun.set_exception(refused)

    async def _asked(self, turn: Turn, begun: asyncio.Future[None]) -> bool:
        """Whether the question was taken."""
        headers = {**self._headers, "accept": "text/event-stream"}
        async with asked(self._app, "POST", "/api/reasoning", headers, {"text": turn.said}) as answer:
            if answer.status == BUSY:
                return False
            if answer.status != 200:
                raise await _not_taken("/api/reasoning", answer)
            self._answer = answer
            self._stage.begin(turn)
            begun.set_result(None)
            async for event in answer.events():
                self._show(event)
        return True

    def _show(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "text.delta":
                self._stage.say(event["delta"])
            case "turn.failed":
                self._stage.say(event["message"])
            case _:
                self._stage.show(event)


async def _not_taken(path: str, answer: Answer) -> NotTaken:
    problem = await answer.json()
    code = problem.get("code", "") if isinstance(problem, dict) else ""
    return NotTaken(f"{path} answered {answer.status} {code}".rstrip())
