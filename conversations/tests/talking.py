"""A browser or another client at the realtime socket: what it sends, and everything it is shown."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from conversations.tests import speech_events as ga
from conversations.tests.people import CSRF
from conversations.tests.screen import Screen

ADMINISTRATOR = "+34600000001"
MANAGER = "+34600000002"
EXPIRING = "+34600000008"


PATIENCE = 60.0
GLANCE = 0.03


async def eventually(holds):
    """What `holds` returns once that is true: for what only the database tells."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await holds()):
            await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=GLANCE)
    return found


class Talk(Screen):
    """An open socket. `closed` waits for its close code."""

    def __init__(self, connection):
        super().__init__()
        self._connection = connection
        self.raw = []
        self._reading = asyncio.create_task(self._read())

    @property
    def ended(self):
        return self._reading.done()

    @property
    def subprotocol(self):
        return self._connection.subprotocol

    async def send(self, kind, **fields):
        await self.send_text(json.dumps({"type": kind, **fields}))

    async def send_text(self, frame):
        await self._connection.send(frame)

    async def types(self, text):
        content = [{"type": "input_text", "text": text}]
        await self.send(
            "conversation.item.create", item={"type": "message", "role": "user", "content": content}
        )
        await self.send("response.create")

    async def speaks(self, milliseconds=20):
        await self.send("input_audio_buffer.append", audio=ga.sound(milliseconds))

    async def ready(self):
        await self.shown("session.created")

    async def closed(self):
        """The close code that the server gave."""
        async with asyncio.timeout(self.patience):
            await asyncio.wait({self._reading})
        return self._connection.close_code

    async def error(self):
        """The last error that was told, and the close code after it."""
        code = await self.closed()
        return self.shown_of("error")[-1]["error"], code

    def reset(self):
        """The client vanishes: no close, no goodbye."""
        self._connection.transport.abort()

    async def leave(self):
        await self._connection.close()
        await asyncio.wait({self._reading})

    def stops_reading(self):
        self._connection.transport.pause_reading()

    def reads_again(self):
        self._connection.transport.resume_reading()

    async def _read(self):
        try:
            async for frame in self._connection:
                self.raw.append(frame)
                self.show(frame)
        except ConnectionClosed:
            pass
        finally:
            self.over()


@asynccontextmanager
async def talk(address, cookie=None, conversation=None, secret=None, events=None, **options):
    """A socket with this cookie or client secret, from the page's own origin unless another is given."""
    query = [f"conversation={conversation}"] if conversation else []
    query += [f"events={events}"] if events else []
    headers = dict(options.pop("headers", {}))
    if cookie:
        headers["Cookie"] = f"vocero_browser={cookie}"
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    origin = options.pop("origin", address.origin)
    url = "?".join([address.socket, "&".join(query)]) if query else address.socket
    connection = await connect(
        url,
        additional_headers=headers,
        origin=origin,
        compression=None,
        proxy=None,
        max_size=None,
        open_timeout=20,
        close_timeout=2,
        **options,
    )
    talking = Talk(connection)
    try:
        yield talking
    finally:
        await talking.leave()


class Person:
    """Somebody at the HTTP interface, with a cookie jar of their own."""

    def __init__(self, address):
        self.address = address
        self.conversation = None
        self.cookie = None

    async def send(self, method, path, body=None, **headers):
        cookies = {"csrftoken": CSRF, **({"vocero_browser": self.cookie} if self.cookie else {})}
        jar = "; ".join(f"{name}={value}" for name, value in cookies.items())
        headers = {"X-CSRFToken": CSRF, "Origin": self.address.origin, "Cookie": jar, **headers}
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
            return await client.request(method, self.address.origin + path, json=body, headers=headers)

    async def bootstrap(self, **body):
        answer = await self.send("POST", "/api/conversations", body)
        assert answer.status_code in (200, 201), answer.text
        self.cookie = answer.cookies.get("vocero_browser") or self.cookie
        self.conversation = answer.json()["id"]
        return answer.json()

    async def cleans_up(self):
        answer = await self.send("DELETE", f"/api/conversations/{self.conversation}")
        assert answer.status_code == 204, answer.text

    async def record(self):
        """The conversation with its turns."""
        return (await self.send("GET", f"/api/conversations/{self.conversation}")).json()

    async def turns(self, count=1):
        """So many finished turns, once they are in the record."""

        async def recorded():
            turns = (await self.record())["turns"]
            return turns if len(turns) >= count else None

        return await eventually(recorded)

    def talks(self, address=None, **options):
        return talk(address or self.address, self.cookie, self.conversation, **options)
