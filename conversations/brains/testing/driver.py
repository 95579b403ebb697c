"""The driver that integrators test their brains with: a caller who speaks, barges in, taps and looks."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import ModuleType, TracebackType
from typing import Any, Literal, Self

from channels.db import database_sync_to_async
from channels.routing import get_default_application
from django.conf import settings
from django.test import override_settings
from django.utils import timezone
from django.utils.module_loading import import_string

from conversations import journal, lifecycle
from conversations.brains.brain import Brain
from conversations.brains.testing.model import ScriptedModel
from conversations.brains.testing.reasoning import HttpTalk
from conversations.brains.testing.stage import Command, Stage
from conversations.brains.testing.turns import Turn
from conversations.brains.testing.voice import VoiceCall
from conversations.brains.tooled import ToolBrain
from conversations.identity import binding
from conversations.identity.login import Identity
from conversations.models import Turn as TurnRow

PATIENCE = 20.0
GLANCE = 0.02
MANY = 1_000_000
LIFE = timedelta(hours=1)

Makes = Callable[[], Brain]
Over = Literal["voice", "http"]

_numbers = itertools.count(1)


class VoiceDriver:
    """A conversation with a brain, over a voice call or over HTTP reasoning; `async with` opens and ends it.

    `brain` is a brain, or a callable that makes one; without it the setting S2S_BRAIN decides. A `model`
    answers in place of the one that the brain has. `caller` is the name of whoever is logged in, empty for
    nobody. `patience` in seconds bounds every wait. It needs a database whose writes other threads see: with
    pytest-django, `transactional_db`.
    """

    def __init__(
        self,
        brain: Brain | Makes | None = None,
        *,
        over: Over = "voice",
        model: ScriptedModel | None = None,
        caller: str = "",
        patience: float = PATIENCE,
    ) -> None:
        self.conversation_id = ""
        self.brain: Brain | None = None
        self._made, self._over, self._model = brain, over, model
        self._caller, self._patience = caller, patience
        self._service_key = secrets.token_urlsafe(16)
        self._stack = ExitStack()
        self._stage = Stage(patience)
        self._told: set[int] = set()
        self._flying: list[Turn] = []
        self._way: VoiceCall | HttpTalk | None = None

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.timeout(self._patience):
                await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    @property
    def in_flight(self) -> Turn | None:
        """The turn that runs, filling; None between turns."""
        return self._flying[-1] if self._flying else None

    async def user_says(self, text: str) -> Turn:
        """The caller says this; the turn once it has ended, however it did."""
        turn = Turn(text)
        self._flying.append(turn)
        self._stage.look()
        try:
            async with asyncio.timeout(self._patience):
                await self._open().say(turn)
                await self._ended(turn)
                await self._open().shown(turn)
        except TimeoutError as error:
            raise TimeoutError(f"{self._patience:g} s went by, and {text!r} is not answered") from error
        finally:
            self._flying.remove(turn)
        return turn

    async def barge_in(self, text: str) -> Turn:
        """The caller says this over the turn in flight, once they have heard or seen anything of it.

        The new turn, when it has ended; the other one is `interrupted`, and whoever waits for it gets it.
        """
        stage = self._stage
        await stage.until(lambda: bool(self._flying), "a turn in flight")
        earlier = self._flying[-1]
        await stage.until(lambda: stage.has_begun(earlier) or bool(earlier.outcome), "a sign of the answer")
        await self._open().hush(earlier)
        return await self.user_says(text)

    @property
    def greeting(self) -> str:
        """What was said before the caller said anything."""
        return self._stage.greeting

    async def hears(self, words: str) -> None:
        """Returns once the caller has heard these words, of the turn in flight or of the greeting."""

        def said() -> bool:
            return any(words in text for text in (self.greeting, *(turn.text for turn in self._flying)))

        await self._stage.until(said, repr(words))

    async def send_client_message(self, t: str, d: Any = None) -> None:
        """The app sends the brain a message: `t` says what it is about, `d` is its JSON."""
        await self._open().message(t, {} if d is None else d)

    async def collect_ui_commands(self, min_count: int = 1) -> list[Command]:
        """All commands since the last call, `{"command", "payload"}`, once there are so many."""
        stage = self._stage
        await stage.until(lambda: len(stage.commands) >= min_count, f"{min_count} ui commands")
        collected, stage.commands = stage.commands, []
        return collected

    # ---- its beginning and its end

    async def _start(self) -> None:
        app = get_default_application()
        changes: dict[str, Any] = {}
        if self._over == "voice":
            call = VoiceCall(app, self._stage, self._service_key)
            self._way, changes = call, {"speech_url": await call.prepare()}
        self._configure(**changes)
        secret = await database_sync_to_async(self._open_conversation)()
        if isinstance(self._way, VoiceCall):
            await self._way.connect(secret)
        else:
            talk = HttpTalk(app, self._stage)
            talk.connect(secret, self.conversation_id)
            self._way = talk

    async def _stop(self) -> None:
        try:
            if self._way is not None:
                await self._way.close()
            if self.conversation_id:
                await database_sync_to_async(lifecycle.close)(self.conversation_id, "caller_cleanup")
            await journal.get_journal().flush()
        finally:
            self._stack.close()

    def _configure(self, **changes: Any) -> None:
        """The deployment under test: its own settings, but for who is asked and how often they may."""
        now = settings.VOCERO
        as_llm, keys = self._over == "voice", (self._service_key,)
        reasoning = replace(now.reasoning, as_llm=as_llm, service_keys=keys)
        maker = self._maker(reasoning.brain)
        if maker is not None:
            reasoning = replace(reasoning, brain=self._published(maker))
        elif self._model is not None:
            raise TypeError("a scripted model needs a brain: name one, or set S2S_BRAIN")
        limits = dict.fromkeys(("rate_sockets", "rate_reasoning", "max_conversations"), MANY)
        values = {"reasoning": reasoning, "allowed_origins": (), "reconnect_grace": 0.0, **limits, **changes}
        self._stack.enter_context(override_settings(VOCERO=replace(now, **values)))

    def _published(self, maker: Makes) -> str:
        """The dotted path at which the host finds the brain of this driver and no other."""
        module = ModuleType(f"brain_under_test_{next(_numbers)}")
        module.make = partial(self._make, maker)  # type: ignore[attr-defined]
        sys.modules[module.__name__] = module
        self._stack.callback(sys.modules.pop, module.__name__)
        return f"{module.__name__}.make"

    def _make(self, maker: Makes) -> Brain:
        brain = maker()
        if self._model is not None and isinstance(brain, ToolBrain):
            brain.stream = self._model.stream  # type: ignore[method-assign]
        elif self._model is not None:
            raise TypeError(f"{type(brain).__name__} asks no model: leave the driver's model out")
        self.brain = brain
        return brain

    def _maker(self, configured: str) -> Makes | None:
        """What makes the brain; None where that is one of Vocero's own, over the model that is set."""
        made = self._made
        if isinstance(made, Brain):
            return lambda: made
        return made or (import_string(configured) if configured else None)

    def _open_conversation(self) -> str:
        secret = binding.new_value(binding.CLIENT_SECRET)
        token = secrets.token_urlsafe(16)
        opening = lifecycle.Opening(
            mode=settings.VOCERO.mode,
            identity=Identity(f"user-{self._caller}", self._caller, token) if self._caller else None,
            secret_hash=binding.digest(secret),
            secret_expires_at=timezone.now() + LIFE,
            browser_tools=settings.VOCERO.browser_tools,
        )
        self.conversation_id = str(lifecycle.open_conversation(opening).pk)
        return secret

    # ---- the end of a turn

    def _open(self) -> VoiceCall | HttpTalk:
        if self._way is None:
            raise RuntimeError("the driver is not open: use `async with`")
        return self._way

    async def _ended(self, turn: Turn) -> None:
        """Once the record has it with its outcome; it takes from there what the turn's events do not tell."""
        recorded = database_sync_to_async(self._recorded)
        while not (row := await recorded(turn)):  # noqa: ASYNC110  (the database tells nobody)
            await asyncio.sleep(GLANCE)
        self._told.add(row.index)
        turn.index, turn.outcome, turn.code, turn.heard = row.index, row.outcome, row.code, row.heard_text
        self._stage.look()

    def _recorded(self, turn: Turn) -> TurnRow | None:
        said = (turn.said, turn.said.strip())
        rows = TurnRow.objects.filter(conversation_id=self.conversation_id, caller_text__in=said)
        ended = rows.exclude(outcome=TurnRow.Outcome.RUNNING).exclude(index__in=self._told)
        return ended.order_by("index").first()
