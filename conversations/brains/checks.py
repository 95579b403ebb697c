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

_WHERE = "Code of yours is found beside manage.py, on PYTHONPATH, or installed in this environment."


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
    if reasoning.as_llm and not reasoning.service_keys:
        yield checks.Warning(
            "S2S_BRAIN_AS_LLM is on, but S2S_SERVICE_KEYS is not set: whatever asks is answered 401.",
            hint="Set it, and give the speech service one of the keys as its language model's API key.",
            id="vocero.W031",
        )
    if not reasoning.possible:
        return
    try:
        made = making.probe(reasoning)
    except NoBrain as error:
        yield Error(str(error), id="vocero.E010")
    except ImportError as error:
        name = "S2S_BRAIN" if reasoning.brain else "The brain"
        yield Error(
            f"{name} cannot be imported: {error}", hint=_WHERE if reasoning.brain else None, id="vocero.E010"
        )
    except _NOT_YET as error:
        module, _, maker = reasoning.brain.rpartition(".")
        yield Error(
            f"S2S_BRAIN makes no brain: {reasoning.brain}() raised {type(error).__name__}: {error}",
            hint=f"It is called without arguments, before anybody calls. To see where it fails: "
            f'python manage.py shell -c "from {module} import {maker}; {maker}()"',
            id="vocero.E010",
        )
    else:
        yield from _declarations(made) if made is not None else ()


def _declarations(made: Brain) -> Iterator[CheckMessage]:
    made.session = _Nobody()
    if not isinstance(made, ToolBrain):
        yield from _untapped(())
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
    yield from _untapped(methods)


def _untapped(methods: Sequence[Callable[..., Any]]) -> Iterator[CheckMessage]:
    """Names that wait for a tap and that nothing has; the bridge's tools are not known here."""
    vocero = settings.VOCERO
    known = {getattr(method, "__name__", "") for method in methods}
    known |= set(vocero.mcp_tools if vocero.mode == "mcp" else ())
    unknown = sorted(set(vocero.confirm_tools) - known)
    if unknown and vocero.mode != "apipilot":
        yield checks.Warning(
            f"S2S_CONFIRM_TOOLS names what neither the brain nor S2S_MCP_TOOLS has: {', '.join(unknown)}.",
            hint="Write the tools' exact names: one that is misspelled runs without the caller's tap.",
            id="vocero.W006",
        )


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
