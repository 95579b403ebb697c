"""An event loop whose clock jumps: what waits for time waits for nothing, and a deadlock is an error."""

import asyncio
import functools
import selectors


class StuckError(Exception):
    """Everything waits for something that nothing will bring about."""


class JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting so many seconds, moves the clock by them."""

    def __init__(self):
        super().__init__()
        self.now = 1000.0

    def select(self, timeout=None):
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise StuckError("no timer runs, and nothing is left to do")
        self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code without sockets and threads."""

    def __init__(self):
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self):
        return self._jumping.now


def in_virtual_time(test):
    """Runs an async test on a loop of its own, in no time."""

    @functools.wraps(test)
    def run(*args, **values):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(test(*args, **values))

    return run


async def seconds_pass(seconds):
    """Moves the clock on; only a virtual loop does that without waiting."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    moved = loop.create_future()
    loop.call_later(seconds, moved.set_result, None)
    await moved
