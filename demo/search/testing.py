"""The stand-in for tests: a real server on a free port, in a thread of this process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from demo.aquaportal.portal import Portal
from demo.aquaportal.server import Server, server_of
from demo.aquaportal.testing import RunningPortal, in_thread
from demo.search.server import build_app

KEY = "key-of-the-demo-search"


@dataclass(frozen=True, slots=True)
class RunningSearch(RunningPortal):
    """A provider that serves at `url`, with its switches and what was asked of it."""

    @property
    def search_url(self) -> str:
        """Where it is asked."""
        return f"{self.url}/search"


@contextmanager
def running_search() -> Iterator[RunningSearch]:
    """Run a provider that takes one key, for as long as the block lasts."""
    portal = Portal()

    def make(on_ready: Callable[[str], None]) -> Server:
        return server_of(build_app(portal, KEY), portal, ("127.0.0.1", 0), on_ready)

    with in_thread("search", make) as url:
        try:
            yield RunningSearch(url, portal)
        finally:
            portal.faults.release()
