"""One turn of a scripted brain without a server: what it is asked, what it tells, what it leaves behind."""

import asyncio
from itertools import count

from conversations.brains.answering import Answering, Ask, World
from conversations.brains.live import LiveSession
from conversations.brains.turns import Ports, Terms
from conversations.core.records import CallClosed, CallOpened, TurnClosed
from tools.catalog import Unkept, discover, joined
from tools.sources.inprocess import InProcessSource
from tools.testing import NOW, a_caller, offer_of


class BrainTurn:
    """`async with` it: the turn runs inside, on the loop's own clock."""

    def __init__(self, brain, *sources, session=None, text="go", has_sheets=True, **terms):
        self.brain, self.records, self.events, self.unauthorized = brain, [], [], 0
        self.session = session or LiveSession("c-1", "Ada Admin")
        brain.session = self.session
        self._sources, self._ids = sources, count(1)
        world = World(
            Terms("c-1", **terms), a_caller(), self._offer, self._ports(), self._settle, self._settle
        )
        ask = Ask("turn-1", 7, text, has_sheets=has_sheets)
        self.answering = Answering(brain, self.session, ask, world)
        self._moved = asyncio.Event()

    async def __aenter__(self):
        self.running = asyncio.create_task(self.answering.run())
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_error):
        self.answering.stop("cancelled")
        await self.running
        await self._reading

    async def over(self):
        """How it ended, once it has."""
        ended = await self.running
        await self._reading
        return ended

    async def shown(self, kind):
        while not self.of(kind):
            self._moved.clear()
            await self._moved.wait()
        return self.of(kind)[-1]

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    @property
    def types(self):
        return [event["type"] for event in self.events]

    @property
    def last(self):
        return self.events[-1]

    @property
    def outputs(self):
        """What the model was told of its calls, hop by hop."""
        return [list(hop.outputs) for hop in self.brain.requests[-1].hops]

    @property
    def opened(self):
        return [record for record in self.records if isinstance(record, CallOpened)]

    @property
    def codes(self):
        return [record.code for record in self.records if isinstance(record, CallClosed)]

    @property
    def closed(self):
        (record,) = [record for record in self.records if isinstance(record, TurnClosed)]
        return record

    async def _read(self):
        async for event in self.answering.outlet.events():
            self.events.append(event)
            self._moved.set()

    async def _offer(self, methods):
        own = await discover([InProcessSource(methods)], a_caller(), None, Unkept(), NOW)
        return joined(own, await offer_of(*self._sources))

    async def _settle(self):
        return None

    def _ports(self):
        async def commit(record):
            self.records.append(record)

        def unauthorized():
            self.unauthorized += 1

        return Ports(
            tell=lambda _event: None,
            write=self.records.append,
            commit=commit,
            now=lambda: asyncio.get_running_loop().time(),
            new_id=lambda kind: f"{kind}-{next(self._ids)}",
            unauthorized=unauthorized,
            note=lambda _text: None,
        )
