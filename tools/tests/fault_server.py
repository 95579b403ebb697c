"""A server that speaks just enough MCP to be asked, and then does everything wrong that a server can do."""

import asyncio
import contextlib
import json
import struct
import weakref

VERSION = "2026-07-28"
# What the other side of a connection still sends.
READERS = weakref.WeakKeyDictionary()
DISCOVERED = {"supportedVersions": [VERSION], "capabilities": {"tools": {}}, "resultType": "complete"}
LISTED = {
    "tools": [{"name": "get_report", "inputSchema": {"type": "object"}}],
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
CALLED = {"content": [], "structuredContent": {"ok": True}, "resultType": "complete"}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "faults", "version": "1"},
}
ANSWERS = {
    "server/discover": DISCOVERED,
    "initialize": INITIALIZED,
    "tools/list": LISTED,
    "tools/call": CALLED,
}


class FaultServer:
    """`fault`, set to one of the functions below, spoils every answer to the `spoiled` method.

    With `legacy` it speaks the older protocol, with a session id from the initialization on.
    `requests` records (path, headers, JSON-RPC body) of every request, `connections` counts the connections.
    """

    def __init__(self, legacy=False):
        self.url = ""
        self.legacy = legacy
        self.fault = None
        self.spoiled = "tools/call"
        self.requests = []
        self.connections = 0
        self._asked = asyncio.Condition()
        self._open = set()

    def methods(self):
        """The JSON-RPC methods that came, in order."""
        return [body.get("method") for _, _, body in self.requests]

    async def seen(self, method):
        """Returns when a request of this JSON-RPC method has come."""
        async with self._asked:
            await self._asked.wait_for(lambda: method in self.methods())

    @property
    def open(self):
        """How many connections are open."""
        return len(self._open)

    async def closed_one(self):
        """Returns when a connection has been closed."""
        before = self.open
        async with self._asked:
            await self._asked.wait_for(lambda: self.open < before)

    def drop_connections(self):
        """Closes every connection, busy or idle."""
        for writer in self._open:
            writer.transport.abort()

    async def serve(self, reader, writer):
        self.connections += 1
        READERS[writer] = reader
        self._open.add(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()
            async with self._asked:
                self._asked.notify_all()

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path, headers = _parsed(head)
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        self.requests.append((path, headers, body))
        async with self._asked:
            self._asked.notify_all()
        method = body.get("method", "")
        if self.fault and method == self.spoiled:
            return await self.fault(writer, body)
        if method.startswith("notifications/"):
            await respond(writer, 406 if "text/event-stream" not in headers["accept"] else 202)
        elif method not in ANSWERS or (self.legacy and method == "server/discover"):
            await respond(writer, 400)
        else:
            extra = {"mcp_session_id": "session-1"} if method == "initialize" else {}
            await answer(writer, body, ANSWERS[method], **extra)
        return True


def _parsed(head):
    lines = head.split("\r\n")
    pairs = (line.split(": ", 1) for line in lines[1:] if line)
    return lines[0].split(" ")[1], {name.lower(): value for name, value in pairs}


async def respond(writer, status, body=b"", **headers):
    """One whole HTTP response."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} Told", f"content-length: {len(body)}", *lines])
    writer.write(head.encode() + b"\r\n\r\n" + body)
    await writer.drain()
    return True


async def answer(writer, request, result, **headers):
    """The JSON-RPC result of a request."""
    body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
    return await respond(writer, 200, body, content_type="application/json", **headers)


def status(code, body=b"no", kind="text/plain", **headers):
    """Answers with this HTTP status."""

    async def fault(writer, _request):
        return await respond(writer, code, body, content_type=kind, **headers)

    return fault


def rpc_error(http_status, code, message):
    """Answers with a JSON-RPC error under this HTTP status."""

    async def fault(writer, request):
        error = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}}
        return await respond(writer, http_status, json.dumps(error).encode(), content_type="application/json")

    return fault


def result(value):
    """Answers with this result, right or wrong."""

    async def fault(writer, request):
        return await answer(writer, request, value)

    return fault


def stream(*chunks):
    """Answers with an event stream of these chunks, and then ends the connection."""

    async def fault(writer, _request):
        writer.write(b"HTTP/1.1 200 Told\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        writer.writelines(chunks)
        await writer.drain()
        return False

    return fault


async def half_a_stream(writer, request):
    """Begins an event stream that never goes on."""
    await stream(b": working\n\n")(writer, request)
    return await hang(writer, request)


async def reset(writer, _request):
    """Resets the connection."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(1, 13, linger)  # SOL_SOCKET, SO_LINGER: close with a reset
    writer.transport.abort()
    return False


async def close(_writer, _request):
    """Closes the connection before an answer."""
    return False


async def cut(writer, _request):
    """Closes the connection in the middle of a JSON body."""
    writer.write(b"HTTP/1.1 200 Told\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n")
    writer.write(b'{"jsonrpc": "2.0"')
    await writer.drain()
    return False


async def hang(writer, _request):
    """Never answers, and closes when the client does."""
    await READERS[writer].read()
    return False


async def drip(writer, _request):
    """Begins an answer that never ends."""
    writer.write(b"HTTP/1.1 200 Told\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
    await writer.drain()
    return await hang(writer, _request)


@contextlib.asynccontextmanager
async def fault_server(**options):
    """A running FaultServer, its `url` set."""
    faulty = FaultServer(**options)
    tasks = set()

    def connected(reader, writer):
        tasks.add(asyncio.create_task(faulty.serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    faulty.url = f"http://127.0.0.1:{port}/mcp"
    try:
        yield faulty
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
