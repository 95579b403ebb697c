"""The stand-in for tests: a real server on a free port, in a thread of this process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from demo.apipilot.bridge import Bridge, build_app
from demo.aquaportal.portal import Portal
from demo.aquaportal.server import Server, server_of
from demo.aquaportal.testing import TODAY, RunningPortal, in_thread

SERVICE_TOKEN = "svc_token_of_the_demo_bridge"  # noqa: S105 (of the stand-in)


@dataclass(frozen=True, slots=True)
class RunningBridge(RunningPortal):
    """A bridge that serves at `url`, with its switches and what was asked of it."""

    bridge: Bridge

    @property
    def tools_url(self) -> str:
        """Where tools are listed."""
        return f"{self.url}/tools"

    @property
    def execute_url(self) -> str:
        """Where tools run."""
        return f"{self.url}/tools/execute"

    @property
    def profile_url(self) -> str:
        """Where a caller's profile is."""
        return f"{self.url}/profile"

    def lists(self) -> int:
        """How often the list was asked for."""
        return sum(entry.path == "/tools" for entry in self.requests)

    def reset(self) -> None:
        """Take back all faults, show every tool and forget all requests; tokens stay good."""
        self.bridge.hidden = frozenset()
        self.faults.clear()
        self.portal.journal.clear()


@contextmanager
def running_bridge() -> Iterator[RunningBridge]:
    """Run a bridge whose day is fixed, for as long as the block lasts."""
    bridge = Bridge(Portal(today=lambda: TODAY), SERVICE_TOKEN)

    def make(on_ready: Callable[[str], None]) -> Server:
        return server_of(build_app(bridge), bridge.portal, ("127.0.0.1", 0), on_ready)

    with in_thread("apipilot", make) as url:
        try:
            yield RunningBridge(url, bridge.portal, bridge)
        finally:
            bridge.portal.faults.release()
