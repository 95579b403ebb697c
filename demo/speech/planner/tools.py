"""The tools of a session, declared natively or written as text into its instructions."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from demo.speech.planner.schema import Shape, Slot, read

_HEADING = "Tools, one JSON object a line:"
_EXAMPLE = re.compile(r"<<<([A-Z_]+):NAME=tool_name,ARGUMENTS=")


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool that may be picked."""

    name: str
    description: str
    shape: Shape

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The scalar arguments of the tool."""
        return self.shape.slots


@dataclass(frozen=True, slots=True)
class Call:
    """A picked tool with its arguments."""

    name: str
    arguments: dict[str, Any]


def declared(tools: Iterable[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """The function tools of `session.tools`; entries of another type or without a name are left out."""
    found = (_tool(tool) for tool in tools if tool.get("type", "function") == "function")
    return tuple(tool for tool in found if tool)


def in_instructions(instructions: str) -> tuple[str | None, tuple[Tool, ...]]:
    """The marker's word (`VOCERO_MCP_CALL`) and the catalog below it; `(None, ())` where there is none."""
    example = _EXAMPLE.search(instructions)
    heading = instructions.find(_HEADING)
    if example is None or heading < 0:
        return None, ()
    return example[1], tuple(_catalog(instructions[heading + len(_HEADING) :]))


def _catalog(text: str) -> Iterable[Tool]:
    for line in text.strip().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            return
        if isinstance(entry, dict) and (tool := _tool(entry)):
            yield tool


def _tool(entry: Mapping[str, Any]) -> Tool | None:
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        return None
    parameters = entry.get("parameters")
    shape = read(parameters) if isinstance(parameters, Mapping) else Shape()
    return Tool(name, str(entry.get("description") or ""), shape)
