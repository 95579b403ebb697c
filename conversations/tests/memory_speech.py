"""The scripted speech service without a socket, for code in virtual time."""

import asyncio

from conversations.realtime.connection import SpeechUnavailable
from conversations.tests.speech_script import Line, Script

GONE = object()


class MemoryService(Script):
    """What `dial` reaches."""

    async def dial(self):
        if self.refusals:
            self.refusals -= 1
            raise SpeechUnavailable("refused")
        line = MemoryLine(self)
        self.connected(line)
        return line


class MemoryLine(Line):
    """One connection: the relay's side is `send`, `receive`, `close`; it may stop reading."""

    patience = 1000.0  # of virtual time

    def __init__(self, script):
        super().__init__(script)
        self.reads = asyncio.Event()
        self.reads.set()
        self._out = asyncio.Queue()

    def offer(self, _frame):
        return False

    async def send(self, frame):
        await self.reads.wait()
        if self.closed.is_set():
            raise SpeechUnavailable("gone")
        self.hear(frame)

    async def receive(self):
        frame = await self._out.get()
        if frame is GONE:
            self._out.put_nowait(GONE)
            raise SpeechUnavailable("gone")
        return frame

    async def read(self, take):
        while True:
            take(await self.receive())

    async def close(self):
        self.closed.set()

    def put(self, frame):
        self._out.put_nowait(frame)

    def drop(self):
        self.closed.set()
        self._out.put_nowait(GONE)

    async def quiet(self):
        """Once everything that is ready to happen has happened."""
        for _ in range(50):
            await asyncio.sleep(0)
