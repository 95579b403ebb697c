"""The HTTP reasoning path: what produces the text is the integrator's own, and so are its tools."""

from conversations.brains.actions import Action
from conversations.brains.brain import Brain, BrainSession
from conversations.brains.rtvi import RTVIMessage, RTVIType
from conversations.brains.tooled import ToolBrain

__all__ = ["Action", "Brain", "BrainSession", "RTVIMessage", "RTVIType", "ToolBrain"]
