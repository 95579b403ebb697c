"""The contract of tool sources, kept in memory and over MCP against each kind of server."""

import pytest

from tools.sources.mcp import McpSource, Server
from tools.testing import ToolSourceContract, Workbench, a_caller, memory_workbench
from tools.tests.mcp_server import mcp_server

SERVERS = {
    "modern": {},
    "stateful": {"era": "legacy"},
}


class TestMemorySource(ToolSourceContract):
    @pytest.fixture
    def bench(self):
        return memory_workbench()


class TestMcpSource(ToolSourceContract):
    @pytest.fixture(params=SERVERS)
    async def bench(self, request):
        async with mcp_server(**SERVERS[request.param]) as server:
            # The server's own lasting tasks start with its first request, and are not the source's.
            first = McpSource(Server(server.url))
            await first.tools(a_caller())
            await first.aclose()
            source = McpSource(Server(server.url))
            yield Workbench(source, server.started, server.stopped)
            await source.aclose()
