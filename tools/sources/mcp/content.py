"""What an MCP server says, in Vocero's words: its tools and its results."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import mcp_types as types

from tools.contract import Progress, Tool, ToolResult
from tools.results import MIN_SECRET, clean, describe_blob, shorten
from tools.sources.mcp.listing import DECLARED

MAX_MESSAGE = 200


def tool(listed: types.Tool, source: str) -> Tool:
    """A listed tool with its schemas as the server sent them, odd ones included."""
    declared = (listed.meta or {})[DECLARED]
    return Tool(
        name=listed.name,
        description=listed.description or listed.title or "",
        parameters=declared["parameters"],
        source=source,
        output_schema=declared["output_schema"],
    )


def repeats(tool: Tool, secret: str) -> bool:
    """Whether a tool's declaration holds the secret: it would go to the model and into the catalog."""
    if len(secret) < MIN_SECRET:
        return False
    declared = (tool.name, tool.description, tool.parameters, tool.output_schema)
    return json.dumps(secret)[1:-1] in json.dumps(declared)


def result(answer: types.CallToolResult) -> ToolResult:
    """The structured content where there is some, be it falsy; else the texts in order, files described.

    For the tool's own error it is the text that explains it, when there is one.
    """
    texts = _joined(answer.content)
    structured = "structured_content" in answer.model_fields_set and answer.structured_content is not None
    if structured and not (answer.is_error and texts):
        return ToolResult(answer.structured_content, is_error=answer.is_error)
    return ToolResult(texts, is_error=answer.is_error)


def progress(done: float, total: float | None, message: str | None, secret: str) -> Progress | None:
    """The progress that a server tells, fit to be shown; None for what is no number."""
    if not math.isfinite(done):
        return None
    # First cut roughly: of a message of megabytes only the beginning is worth cleaning.
    words = shorten(clean(message[: 10 * MAX_MESSAGE], secret), MAX_MESSAGE) if message else None
    return Progress(done, total if total is not None and math.isfinite(total) else None, words)


def _joined(blocks: Sequence[types.ContentBlock]) -> str:
    return "\n".join(_text(block) for block in blocks)


def _text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return describe_blob(block.mime_type, len(block.data))
        case types.ResourceLink():
            return f"[link to {block.title or block.name}, not included]"
        case types.EmbeddedResource():
            if isinstance(block.resource, types.TextResourceContents):
                return block.resource.text
            return describe_blob(block.resource.mime_type or "binary data", len(block.resource.blob))
