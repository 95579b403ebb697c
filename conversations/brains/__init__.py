"""The HTTP reasoning path: what produces the text is the integrator's own, and so are its tools."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from conversations.brains.actions import Action
from conversations.brains.brain import Brain, BrainSession
from conversations.brains.rtvi import RTVIMessage, RTVIType
from conversations.brains.tooled import ToolBrain

if TYPE_CHECKING:
    from conversations.brains.openai import OpenAIBrain

__all__ = ["Action", "Brain", "BrainSession", "OpenAIBrain", "RTVIMessage", "RTVIType", "ToolBrain"]


def __getattr__(name: str) -> Any:
    # The package that it needs costs a process 40 MB: those without such a brain do not import it.
    if name == "OpenAIBrain":
        return import_module("conversations.brains.openai").OpenAIBrain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
