"""The stand-in for tests: a real server on a free port, in a thread of this process."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from queue import SimpleQueue
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from demo.aquaportal.accounts import Accounts
from demo.aquaportal.faults import Faults
from demo.aquaportal.journal import Entry
from demo.aquaportal.portal import Portal
from demo.aquaportal.server import Server, build

TODAY = date(2026, 8, 5)


@dataclass(frozen=True, slots=True)
class RunningPortal:
    """A portal that serves at `url`, with its switches and what was asked of it."""

    url: str
    portal: Portal

    @property
    def login_url(self) -> str:
        """Where phones log in."""
        return f"{self.url}/login"

    @property
    def mcp_url(self) -> str:
        """Where MCP is spoken."""
        return f"{self.url}/mcp"

    @property
    def control_url(self) -> str:
        """Where another process changes faults."""
        return f"{self.url}/control"

    @property
    def faults(self) -> Faults:
        """What goes wrong."""
        return self.portal.faults

    @property
    def accounts(self) -> Accounts:
        """Who is logged in."""
        return self.portal.accounts

    @property
    def requests(self) -> list[Entry]:
        """The requests so far, oldest first."""
        return self.portal.journal.entries

    def change_tools(self, **switches: Any) -> None:
        """Change what is listed, see Switches, and tell every client."""
        self.faults.switch(**switches)
        self.portal.news.announce()

    def calls(self, tool: str | None = None) -> list[Entry]:
        """The tool calls so far, of all tools or of one."""
        return [entry for entry in self.requests if entry.tool is not None and tool in (None, entry.tool)]

    def wait_for(self, wanted: Callable[[Entry], bool], timeout: float = 10.0) -> Entry:
        """Block until a request is as wanted; TimeoutError after so many seconds."""
        return self.portal.journal.wait_for(wanted, timeout)

    async def seen(self, wanted: Callable[[Entry], bool], timeout: float = 10.0) -> Entry:
        """Await a request that is as wanted; TimeoutError after so many seconds."""
        return await asyncio.to_thread(self.wait_for, wanted, timeout)

    def log_in(self, phone: str) -> str:
        """A new token of this caller."""
        answer = httpx2.post(self.login_url, json={"phone": phone}, trust_env=False).raise_for_status()
        token: str = answer.json()["sessionToken"]
        return token

    @asynccontextmanager
    async def client(self, phone: str, mode: str = "auto") -> AsyncIterator[Client]:
        """The SDK's client, connected with a new token of this caller."""
        headers = {"Authorization": f"Bearer {self.log_in(phone)}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, max_redirects=0, timeout=30) as http,
            Client(streamable_http_client(self.mcp_url, http_client=http), mode=mode) as client,
        ):
            yield client

    def reset(self) -> None:
        """Take back all faults and forget all requests; tokens stay good."""
        self.faults.clear()
        self.portal.journal.clear()


@contextmanager
def running_portal(today: date = TODAY) -> Iterator[RunningPortal]:
    """Run a portal whose day is fixed, for as long as the block lasts."""
    portal = Portal(today=lambda: today)
    with in_thread("aquaportal", partial(build, portal, "127.0.0.1", 0)) as url:
        try:
            yield RunningPortal(url, portal)
        finally:
            portal.faults.release()


@contextmanager
def in_thread(name: str, make: Callable[[Callable[[str], None]], Server]) -> Iterator[str]:
    """Run the server that `make` builds in a thread of this process; gives its base URL."""
    ready: SimpleQueue[str | None] = SimpleQueue()
    server = make(ready.put)

    def serve() -> None:
        try:
            asyncio.run(server.serve())
        finally:
            ready.put(None)

    thread = threading.Thread(target=serve, name=name, daemon=True)
    thread.start()
    url = ready.get(timeout=30)
    if url is None:
        raise RuntimeError(f"the demo's {name} did not start")
    try:
        yield url
    finally:
        server.should_exit = True
        thread.join(timeout=10)
