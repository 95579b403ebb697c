"""The consumer between a server and a call, driven without a server: what no real server does on demand."""

import asyncio
import threading

import pytest

from conversations.models import Turn
from conversations.realtime import consumers, visit
from conversations.realtime.consumers import RelayConsumer
from conversations.tests.screen import Screen
from conversations.tests.speech_events import Says
from conversations.tests.stored import rows
from conversations.tests.talking import eventually
from conversations.tests.virtual_time import in_virtual_time

pytest_plugins = ("conversations.tests.deployment",)


class Wire(Screen):
    """A server's side of one socket: what it receives and sends goes through here."""

    def __init__(self, person):
        super().__init__()
        self.refuses = None
        self.codes = []
        self._in = asyncio.Queue()
        headers = [(b"cookie", f"vocero_browser={person.cookie}".encode())]
        headers += [(b"origin", person.address.origin.encode())]
        headers += [(b"host", f"127.0.0.1:{person.address.port}".encode())]
        query = f"conversation={person.conversation}".encode()
        self.scope = {"type": "websocket", "path": "/v1/realtime", "headers": headers, "query_string": query}
        self.came({"type": "websocket.connect"})
        self.running = asyncio.create_task(RelayConsumer.as_asgi()(self.scope, self._in.get, self._send))

    def came(self, message):
        self._in.put_nowait(message)

    def receives(self, text):
        self.came({"type": "websocket.receive", "text": text})

    async def leaves(self):
        self.came({"type": "websocket.disconnect", "code": 1006})
        await self.running

    async def _send(self, message):
        if message["type"] == "websocket.send":
            if self.refuses is not None:
                raise self.refuses
            self.show(message["text"])
        elif message["type"] == "websocket.close":
            self.codes.append(message["code"])


GONE = [
    ConnectionResetError("the client is gone"),
    # As uvicorn says it once it has ended a socket whose client answers no ping, before it tells of that.
    RuntimeError("Unexpected ASGI message 'websocket.send', after sending 'websocket.close'."),
]


@pytest.mark.parametrize("error", GONE, ids=["gone", "ended"])
async def test_a_client_is_heard_out_although_it_takes_nothing_any_more(vocero, ada, speech, error):
    speech.replies.append(Says("one two three four", audio_ms=1600, pieces=4, ends=False))
    wire = Wire(ada)
    await wire.shown("session.created")
    wire.receives('{"type":"response.create"}')
    delta = await wire.shown("response.output_audio.delta")
    line = await speech.line()
    wire.refuses = error
    line.say({"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "s1"})
    await line.asked("response.cancel")
    wire.receives(f'{{"type":"vocero.client.played","item_id":"{delta["item_id"]}","played_ms":800}}')
    await wire.leaves()
    await eventually(lambda: rows(Turn, outcome="interrupted", heard_text="one two"))


async def test_a_socket_that_leaves_at_the_door_takes_no_call_away(vocero, ada, speech, monkeypatch):
    admitted, held, whole = threading.Event(), threading.Event(), visit.admit_socket

    def slowly(*door):
        found = whole(*door)
        admitted.set()
        held.wait(20)
        return found

    first = Wire(ada)
    await first.shown("session.created")
    monkeypatch.setattr(visit, "admit_socket", slowly)
    second = Wire(ada)
    assert await asyncio.to_thread(admitted.wait, 20)
    leaving = asyncio.create_task(second.leaves())
    await asyncio.wait({leaving}, timeout=0.2)
    held.set()
    await leaving
    assert first.codes == second.codes == []
    speech.replies.append(Says("Still here."))
    first.receives('{"type":"response.create"}')
    await first.shown("response.done")
    await first.leaves()


@in_virtual_time
async def test_a_server_that_stops_waits_for_the_call_but_not_for_ever():
    consumer, over = RelayConsumer(), asyncio.Event()
    consumer.visit = visit.Visit(visit.Knock(None, None, None, "", False), None, None)
    for finishes in (True, False):
        consumer.owner = asyncio.create_task(over.wait())
        loop = asyncio.get_running_loop()
        began = loop.time()
        if finishes:
            loop.call_later(2, over.set)
        await consumer.disconnect(1012)
        assert loop.time() - began == (2 if finishes else consumers.LEAVE_LIMIT)
        assert consumer.owner.done() == finishes
        over.clear()
    consumer.owner.cancel()


def test_no_header_hides_another_of_its_name():
    pairs = [(b"Origin", b"https://a.test"), (b"Cookie", b"a=1")]
    pairs += [(b"origin", b"https://b.test"), (b"cookie", b"b=2")]
    joined = {"origin": "https://a.test, https://b.test", "cookie": "a=1; b=2"}
    assert consumers._headers({"headers": pairs}) == joined
