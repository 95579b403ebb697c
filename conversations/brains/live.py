"""The session of a brain that lives: what it knows of its conversation, where its actions go, who taps."""

from __future__ import annotations

import asyncio
import traceback
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog

from conversations.brains import apart
from conversations.brains.actions import Action
from conversations.brains.brain import Brain
from conversations.brains.outlet import Event
from conversations.brains.rtvi import RTVIMessage, ui_command
from conversations.brains.turns import Workbench
from conversations.core.transcript import Said

log = structlog.get_logger(__name__)

Method = Callable[..., Any]
Begin = Callable[[Sequence[Method]], Awaitable[Workbench]]
Screen = Callable[[Event], object]

# Actions without a screen wait for the next one, so many of them.
MOST_WAITING = 64
MOST_MESSAGES = 16
# Results of tools that ran on after their turn.
MOST_NOTES = 6


class LiveSession:
    """The BrainSession of one conversation and its brain in this process; it lives as long as the brain."""

    def __init__(self, conversation_id: str, caller: str | None) -> None:
        self._id, self._caller = conversation_id, caller
        self._heard: tuple[Said, ...] = ()
        self._notes: deque[Said] = deque(maxlen=MOST_NOTES)
        self._screens: list[Screen] = []
        self._waiting: deque[Event] = deque(maxlen=MOST_WAITING)
        self._begin: Begin | None = None
        self._messages: set[asyncio.Task[None]] = set()

    @property
    def id(self) -> str:
        return self._id

    @property
    def caller(self) -> str | None:
        return self._caller

    @property
    def history(self) -> Sequence[Said]:
        """What was said and heard before this turn; then what tools brought that ran on after theirs."""
        return (*self._heard, *self._notes)

    def dispatch(self, action: Action) -> str:
        """Sends the action to the newest screen, or keeps it for the next; returns the command's id."""
        command_id = str(uuid.uuid4())
        event = ui_command(action, command_id)
        if self._screens:
            self._screens[-1](event)
        else:
            self._waiting.append(event)
        return command_id

    async def begin(self, methods: Sequence[Method]) -> Workbench:
        """What the running turn may use. RuntimeError where no turn runs."""
        if self._begin is None:
            raise RuntimeError("A brain's tools can be used in its turns only.")
        return await self._begin(methods)

    # ---- what the host tells it

    def remember(self, heard: Sequence[Said]) -> None:
        """What was said and heard so far, voice turns too."""
        self._heard = tuple(heard)

    def note(self, text: str) -> None:
        """A result that came after its turn, as a text for the model."""
        self._notes.append(Said("caller", text))

    def turn_begins(self, begin: Begin) -> None:
        self._begin = begin

    def turn_ends(self) -> None:
        self._begin = None

    def show_on(self, screen: Screen) -> None:
        """A screen that takes events without waiting; what waited for one goes there."""
        self._screens.append(screen)
        while self._waiting:
            screen(self._waiting.popleft())

    def hide_from(self, screen: Screen) -> None:
        """That screen is gone."""
        if screen in self._screens:
            self._screens.remove(screen)

    def receive(self, brain: Brain, message: RTVIMessage) -> bool:
        """Gives the brain a message in a task of its own; False where too many are still at work."""
        if len(self._messages) >= MOST_MESSAGES:
            return False

        async def given() -> None:
            await brain.on_rtvi(self, message)

        task = apart.begin(given(), self._id)
        self._messages.add(task)
        task.add_done_callback(self._received)
        return True

    async def aclose(self) -> None:
        """Ends what is still at work on messages."""
        tasks = list(self._messages)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5.0)

    def _received(self, task: asyncio.Task[None]) -> None:
        self._messages.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("brain: message failed", error=type(error).__name__, place=place_of(error))


def place_of(error: BaseException) -> str:
    """Where it was raised. Its text may hold what callers said, arguments or results, and is not logged."""
    return "".join(traceback.format_tb(error.__traceback__))
