"""Two callers' calls on one clock that jumps: what happens is done here, and every watcher looks after it."""

import asyncio
import logging

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant
from structlog.stdlib import ProcessorFormatter

from conversations.realtime import dialects
from conversations.tests.machine.conversation import Conversation, Plan
from conversations.tests.machine.invariants import INVARIANTS
from conversations.tests.machine.service import Manners
from conversations.tests.machine.story import Logged
from conversations.tests.virtual_time import VirtualLoop, seconds_pass

NAMES = ("ada", "bob")
MANNERS = st.builds(
    Manners,
    dialect=st.sampled_from(["ga", "ga", "ga", *sorted(dialects.ALL)]),
    announces=st.sampled_from([True, True, True, False]),
    acknowledges=st.sampled_from([True, True, True, False]),
    acknowledges_late=st.booleans(),
    confirms=st.sampled_from([True, True, True, False]),
    interrupts=st.sampled_from([True, True, True, False]),
    keeps_tools=st.sampled_from([True, True, False]),
    names_events=st.sampled_from([True, True, False]),
    renames_items=st.sampled_from([False, False, False, True]),
    answers_updates=st.sampled_from([True, True, True, False]),
    takes_at_once=st.booleans(),
    punctual=st.sampled_from([True, True, False]),
)


PLANS = st.builds(
    Plan,
    selection=st.sampled_from(["auto", "auto", "native", "marker"]),
    session_max=st.sampled_from([0.0, 0.0, 7.0]),
    grace=st.booleans(),
)


# In less than the time for which the relay waits for a service to say that it has cancelled something.
PUNCTUAL = 1.5


class Log(logging.Handler):
    """The whole log in place of its usual end, formatted as there, told to whoever watches."""

    def __init__(self, stories):
        super().__init__()
        self._stories = stories
        self._usual = logging.getLogger().handlers
        usual = next(one.formatter for one in self._usual if isinstance(one.formatter, ProcessorFormatter))
        self.setFormatter(usual)

    def open(self):
        for name in ("conversations", "tools"):
            logging.getLogger(name).setLevel(logging.DEBUG)
        logging.getLogger().handlers = [self]

    def close(self):
        logging.getLogger().handlers = self._usual
        for name in ("conversations", "tools"):
            logging.getLogger(name).setLevel(logging.NOTSET)
        super().close()

    def emit(self, record):
        for story in self._stories():
            story.tell(Logged(record.levelno, self.format(record)))


class Stage(RuleBasedStateMachine):
    """Rules are about the caller `who` has the attention."""

    def __init__(self):
        super().__init__()
        self.loop, self.unnoticed = VirtualLoop(), []
        self.loop.set_exception_handler(lambda _loop, context: self.unnoticed.append(context))
        self.conversations, self.watchers = {}, {}
        self.who = NAMES[0]
        self.unsettled, self.holds = False, True
        self.log = Log(lambda: [one.story for one in self.sockets()])
        self.log.open()

    # ---- the machine itself

    @property
    def call(self):
        """The socket that has the attention."""
        return self.conversations[self.who].socket

    @property
    def line(self):
        return self.call.line

    def sockets(self):
        return [socket for one in self.conversations.values() for socket in one.sockets]

    def does(self, deed, turns=None):
        """Something happens inside the loop, which then turns so often."""

        async def happen():
            deed()
            await self._turn(turns)

        self.loop.run_until_complete(happen())

    async def _turn(self, turns):
        left = turns
        while self.loop._ready and (left is None or left > 0):
            await asyncio.sleep(0)
            left = None if left is None else left - 1
        self.unsettled = bool(self.loop._ready)

    def teardown(self):
        """Everybody has time to do what is left; then the calls end, and nothing of them is left."""
        try:
            if self.conversations and self.holds:
                self.come_to_rest()
        finally:
            self._sweep()
            self.loop.close()
            self.log.close()

    def _sweep(self):
        """What a failure leaves behind; a tool may have to be told twice."""
        for _ in range(3):
            if left := asyncio.all_tasks(self.loop):
                for task in left:
                    task.cancel()
                self.loop.run_until_complete(asyncio.wait(left, timeout=60))

    def passes(self, seconds):
        """Time passes; a punctual service reads meanwhile what it was sent."""
        while seconds > 0:
            lines = [one.line for one in self.sockets() if one.line is not None and one.line.inbox]
            late = [line for line in lines if line.manners.punctual]
            step = min(seconds, PUNCTUAL) if late else seconds
            self._wait(step)
            self.does(lambda late=late: [line.do_all() for line in late])
            seconds -= step

    def _wait(self, seconds):

        async def wait():
            await self._turn(None)
            await seconds_pass(seconds)
            await self._turn(None)

        self.loop.run_until_complete(wait())

    def connect(self):
        others = {"ada": "bob", "bob": "ada"}
        conversation = self.conversations[self.who]
        conversation.connect()
        story, other = self.call.story, others[self.who]
        story.tokens = tuple(f"TOKEN-OF-{name}" for name in NAMES)
        story.foreign = (f"-OF-{other}", f"user-of-{other}", f"Name of {other}", f"ONLY-{other}")
        watchers = [invariant(story) for invariant in INVARIANTS]
        for watcher in watchers:
            next(watcher)
        self.watchers[self.call] = watchers

    def look(self, last=False):
        """Every invariant is sent what was seen."""

        async def glance():
            for socket in self.sockets():
                others = [one for one in self.sockets() if one is not socket]
                socket.story.tell(socket.glance(not self.unsettled, others, last))

        self.loop.run_until_complete(glance())
        self.holds = False
        assert not self.unnoticed, f"what failed and nobody noticed: {self.unnoticed}"
        for socket, watchers in list(self.watchers.items()):
            for seen in socket.story.take():
                for watcher in watchers:
                    watcher.send(seen)
            if socket.over:
                del self.watchers[socket]
                socket.conversation.forget(socket)
        self.holds = True

    @initialize(manners=MANNERS, plan=PLANS)
    def begin(self, manners, plan):
        self.begins(manners, plan)

    def begins(self, manners, plan):
        self.does(lambda: self._begin(manners, plan))

    def _begin(self, manners, plan):
        for name in NAMES[::-1]:
            self.who = name
            self.conversations[name] = Conversation(name, manners, plan)
            self.connect()

    @invariant()
    def everything_holds(self):
        self.look()
