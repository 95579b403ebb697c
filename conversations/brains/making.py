"""Which brain a conversation gets: the integrator's own, else one of ours over the model that is set."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from django.utils.module_loading import import_string

from conversations.brains.brain import Brain
from conversations.brains.tooled import ToolBrain
from vocero.services import Reasoning

_OPENAI, _GEMINI = "conversations.brains.openai", "conversations.brains.gemini"
# Where S2S_LLM_MODEL names none. Servers with one model take any name.
_MODELS = {"OpenAIBrain": "default", "GeminiBrain": "gemini-2.5-flash"}


class NoBrain(TypeError):
    """What S2S_BRAIN names makes no brain; the text says so, for the integrator."""


def make(reasoning: Reasoning, instructions: str) -> Brain:
    """A brain of its own for one conversation; `instructions` are for one of ours.

    Raises ImportError, NoBrain, and what its maker raises.
    """
    return _theirs(reasoning) if reasoning.brain else _ours(reasoning, instructions)


def probe(reasoning: Reasoning) -> Brain | None:
    """The integrator's brain, without a conversation; None where it is ours, once that can be imported."""
    if reasoning.brain:
        return _theirs(reasoning)
    module, name, _ = _adapter(reasoning)
    import_string(f"{module}.{name}")
    return None


def _theirs(reasoning: Reasoning) -> Brain:
    maker = import_string(reasoning.brain)
    if not callable(maker):
        raise NoBrain(f"{reasoning.brain} cannot be called: name a class or a function that makes a brain.")
    brain = maker()
    if not isinstance(brain, Brain):
        raise NoBrain(f"{reasoning.brain} makes a {type(brain).__name__}: let it make a Brain.")
    return brain


def _ours(reasoning: Reasoning, instructions: str) -> Brain:
    """A brain without tools of its own; it has those of its conversation."""
    module, name, service = _adapter(reasoning)
    # Whoever has a brain of their own needs neither of the packages that these modules import.
    adapter: type[ToolBrain] = import_string(f"{module}.{name}")
    model = reasoning.model or _MODELS[name]
    return adapter(client=_client(module, service), system_instruction=instructions, model=model)


def _adapter(reasoning: Reasoning) -> tuple[str, str, tuple[str, ...]]:
    """The module, the class, and how its service is reached."""
    if reasoning.base_url:
        return _OPENAI, "OpenAIBrain", (reasoning.base_url, reasoning.api_key)
    return _GEMINI, "GeminiBrain", (reasoning.gemini_key,)


def _client(module: str, service: tuple[str, ...]) -> Any:
    """One for all conversations: making it takes long, and it keeps connections open."""
    here = _clients.setdefault(asyncio.get_running_loop(), {})
    if service not in here:
        here[service] = import_string(f"{module}.client")(*service)
    return here[service]


_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, ...], Any]]
_clients = weakref.WeakKeyDictionary()
