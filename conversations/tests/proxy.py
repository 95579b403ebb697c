"""A proxy before several processes: it balances, passes upgrades on, and leads where a test says."""

import asyncio
import contextlib

from conversations.tests.serving import Address

LARGEST_HEAD = 64 * 1024
BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Proxy:
    """Each connection goes to the next process, past those that are gone, or to the one that was named."""

    def __init__(self, addresses):
        self._ports = [address.port for address in addresses]
        self._only = None
        self._turn = 0
        self._open = set()
        self.address = None

    def leads_to(self, address):
        """From now on every connection goes to this process; None balances again."""
        self._only = address.port if address else None

    def _candidates(self):
        if self._only:
            return [self._only]
        self._turn += 1
        first = self._turn % len(self._ports)
        return self._ports[first:] + self._ports[:first]

    async def serve(self, reader, writer):
        self._open.add(asyncio.current_task())
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            upstream = await self._connect()
            if upstream is None:
                writer.write(BAD_GATEWAY)
            else:
                await _pass_on((reader, writer), upstream, _forwarded(head, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self._open.discard(asyncio.current_task())

    async def _connect(self):
        for port in self._candidates():
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        return None

    async def over(self):
        """Ends what is still open."""
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(set(self._open))


def _forwarded(head, writer):
    """The request's head with what a proxy adds; a plain request is the connection's only one."""
    request, *lines = head[:-4].split(b"\r\n")
    names = [line.partition(b":")[0].lower() for line in lines]
    upgrade = b"upgrade" in names
    dropped = {b"x-forwarded-for", b"x-forwarded-proto"} | (set() if upgrade else {b"connection"})
    lines = [line for line, name in zip(lines, names, strict=True) if name not in dropped]
    client = writer.get_extra_info("peername")[0].encode()
    lines += [b"X-Forwarded-For: " + client, b"X-Forwarded-Proto: http"]
    lines += [] if upgrade else [b"Connection: close"]
    return b"\r\n".join([request, *lines]) + b"\r\n\r\n"


async def _pass_on(client, upstream, head):
    upstream[1].write(head)
    ways = {
        asyncio.create_task(_copy(client[0], upstream[1])),
        asyncio.create_task(_copy(upstream[0], client[1])),
    }
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        upstream[1].close()
        await asyncio.wait(ways)


async def _copy(reader, writer):
    with contextlib.suppress(OSError):
        while piece := await reader.read(64 * 1024):
            writer.write(piece)
            await writer.drain()


@contextlib.asynccontextmanager
async def proxy_before(*addresses):
    """A running proxy before these processes."""
    proxy = Proxy(addresses)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=LARGEST_HEAD)
    proxy.address = Address(server.sockets[0].getsockname()[1])
    try:
        yield proxy
    finally:
        server.close()
        await proxy.over()
