"""Picks a tool of the session for what the caller asked, fills its arguments, and words what came back."""

from demo.speech.planner.deciding import CallTools, Context, Decision, Say, decide
from demo.speech.planner.tools import Tool, declared, in_instructions

__all__ = ["CallTools", "Context", "Decision", "Say", "Tool", "decide", "declared", "in_instructions"]
