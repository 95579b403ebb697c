"""A stand-in for AquaPortal: phone login and an MCP server with eight read-only tools over made-up data."""
