"""The tools of one request as a model API with a narrower dialect of JSON Schema reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import structlog

from tools.contract import Tool
from tools.schema import SchemaRefused
from tools.translation import Dialect, translated

# A schema of nothing but these takes no parameters.
_EMPTY = frozenset({"$schema", "type", "title", "description"})

_log = structlog.get_logger(__name__)


def told(tools: Iterable[Tool], dialect: Dialect | None) -> Iterator[tuple[Tool, Mapping[str, Any] | None]]:
    """Each tool with its parameters, None where it has none; a tool that cannot be told is left out."""
    for tool in tools:
        try:
            yield tool, _parameters(tool, dialect)
        except SchemaRefused as refusal:
            _log.warning("brain.tool_untold", tool=tool.name, reason=str(refusal))


def _parameters(tool: Tool, dialect: Dialect | None) -> Mapping[str, Any] | None:
    given = tool.parameters
    if not {name for name, value in given.items() if value} - _EMPTY:
        return None
    return translated(given, dialect) if dialect else given
