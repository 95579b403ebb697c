"""Tools of an MCP server over Streamable HTTP, with the caller's own bearer."""

from tools.sources.mcp.source import McpSource

__all__ = ["McpSource"]
