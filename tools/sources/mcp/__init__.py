"""Tools of an MCP server over Streamable HTTP, with the caller's own bearer."""

from tools.sources.mcp.session import Patience, Server
from tools.sources.mcp.source import McpSource

__all__ = ["McpSource", "Patience", "Server"]
