"""The stand-in for tests: a real server on a free port, in a thread of this process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

from demo.aquaportal.portal import Portal
from demo.aquaportal.server import Server, server_of
from demo.aquaportal.testing import TODAY, RunningPortal, in_thread
from demo.model.replies import Reply
from demo.model.server import Model, build_app

KEY = "key-of-the-demo-model"


@dataclass(frozen=True, slots=True)
class RunningModel(RunningPortal):
    """A model that serves at `url`, with its switches, its script, and what was asked of it."""

    model: Model

    @property
    def base_url(self) -> str:
        """What a client library takes as its base."""
        return f"{self.url}/v1"

    def answers(self, *replies: Reply) -> None:
        """The next answers, whatever is asked; afterwards the planner answers again."""
        self.model.script.extend(replies)

    def wait_gone(self, seconds: float = 10.0) -> None:
        """Block until a client has left in the middle of an answer; TimeoutError after so many seconds."""
        if not self.model.left.wait(seconds):
            raise TimeoutError("nobody left")

    def reset(self) -> None:
        """No faults, no script, nothing seen."""
        RunningPortal.reset(self)
        self.model.script.clear()
        self.model.seen.clear()
        self.model.left.clear()


@contextmanager
def running_model(today: date = TODAY) -> Iterator[RunningModel]:
    """Run a model that takes one key and whose day is fixed, for as long as the block lasts."""
    portal = Portal(today=lambda: today)
    model = Model(portal, KEY)

    def make(on_ready: Callable[[str], None]) -> Server:
        return server_of(build_app(model), portal, ("127.0.0.1", 0), on_ready)

    with in_thread("model", make) as url:
        try:
            yield RunningModel(url, portal, model)
        finally:
            portal.faults.release()
