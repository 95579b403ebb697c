"""System checks of the brain: what could not work is told before a caller meets it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from conversations.brains import making
from conversations.brains.actions import Action
from conversations.brains.brain import Brain
from conversations.brains.loop import TurnTools
from conversations.brains.making import NoBrain
from conversations.brains.tooled import ToolBrain
from conversations.core.transcript import Said
from tools.sources.inprocess import DeclarationRefused, InProcessSource

# What code that expects a caller, a running loop or a database raises where there is none.
_NOT_YET = (AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)


@register("vocero")
def brain(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Whether S2S_BRAIN makes a brain, and whether its tools are declared as they must be."""
    return list(_found())


def refuse_to_start() -> None:
    """Raises ImproperlyConfigured with what `manage.py check` says: a server runs no checks by itself."""
    errors = [str(message) for message in _found() if message.is_serious()]
    if errors:
        raise ImproperlyConfigured("\n".join(errors))


def _found() -> Iterator[CheckMessage]:
    reasoning = settings.VOCERO.reasoning
    if not reasoning.possible:
        return
    try:
        made = making.probe(reasoning)
    except NoBrain as error:
        yield Error(str(error), id="vocero.E010")
    except ImportError as error:
        name = "S2S_BRAIN" if reasoning.brain else "The brain"
        yield Error(f"{name} cannot be imported: {error}", id="vocero.E010")
    else:
        yield from _declarations(made) if made is not None else ()


def _declarations(made: Brain) -> Iterator[CheckMessage]:
    made.session = _Nobody()
    if not isinstance(made, ToolBrain):
        return
    try:
        methods = made.tools
    except _NOT_YET as error:
        yield checks.Warning(
            f"The tools of {type(made).__name__} cannot be read without a caller ({type(error).__name__}).",
            hint="They are looked at in the first turn; a mistake in them fails there.",
            id="vocero.W030",
        )
        return
    for message in _refusals(methods):
        yield Error(message, id="vocero.E011")


def _refusals(methods: Sequence[Callable[..., Any]]) -> Iterator[str]:
    """What is wrong with each method, and with them together where each alone is good."""
    good = True
    for method in methods:
        try:
            InProcessSource([method])
        except DeclarationRefused as refused:
            good = False
            yield str(refused)
    try:
        InProcessSource(methods if good else [])
    except DeclarationRefused as refused:
        yield str(refused)


class _Nobody:
    """The session of a brain that nobody speaks with."""

    id = ""
    caller = None
    history: Sequence[Said] = ()

    def dispatch(self, action: Action) -> str:
        """Goes nowhere."""
        return action.command()

    async def begin(self, methods: Sequence[Callable[..., Any]]) -> TurnTools:
        """Never: there is no turn."""
        raise RuntimeError("A brain's tools can be used in its turns only.")
