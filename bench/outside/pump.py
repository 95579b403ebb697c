"""A TCP pump: bytes from one socket to the other, which is the least that any relay can cost."""

from __future__ import annotations

import argparse
import asyncio
from typing import cast

import uvloop


class End(asyncio.Protocol):
    """One end of a pair; what it receives the other end writes."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: End | None = None
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.other is None or self.other.transport is None:
            self._early.append(data)
        else:
            self.other.transport.write(data)

    def join(self, other: End) -> None:
        """From now on the two are a pair."""
        self.other, other.other = other, self
        if other.transport is not None:
            other.transport.writelines(self._early)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class Front(End):
    """The client's end, which dials the service."""

    def __init__(self, service: int) -> None:
        super().__init__()
        self._service = service
        self._dialling: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._dialling = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        _, back = await asyncio.get_running_loop().create_connection(End, "127.0.0.1", self._service)
        self.join(back)


async def serve(port: int, service: int) -> None:
    """Pumps until it is told to stop."""
    server = await asyncio.get_running_loop().create_server(lambda: Front(service), "127.0.0.1", port)
    await server.serve_forever()


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser(prog="bench.outside.pump", description="A TCP pump.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--service", type=int, required=True, help="the speech service's port")
    asked = parser.parse_args()
    uvloop.run(serve(asked.port, asked.service))


if __name__ == "__main__":
    main()
