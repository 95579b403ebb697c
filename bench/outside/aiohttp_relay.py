"""A WebSocket relay with aiohttp on both sides that does nothing, or that only parses each frame."""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import Any

import aiohttp
import uvloop
from aiohttp import web

MAX_FRAME = 16 * 1024 * 1024


async def pump(source: Any, target: Any, parse: bool) -> None:
    """Every text frame of one socket to the other."""
    async for message in source:
        if message.type is not aiohttp.WSMsgType.TEXT:
            break
        if parse:
            json.loads(message.data)
        await target.send_str(message.data)


async def relay(request: web.Request, service: str, parse: bool) -> web.WebSocketResponse:
    """One call, until one side of it is gone."""
    front = web.WebSocketResponse(compress=False, max_msg_size=MAX_FRAME)
    await front.prepare(request)
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(service, compress=0, max_msg_size=MAX_FRAME) as back,
    ):
        pumps = {
            asyncio.create_task(pump(front, back, parse)),
            asyncio.create_task(pump(back, front, parse)),
        }
        _, left = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
    return front


async def serve(port: int, service: int, parse: bool) -> None:
    """Relays until it is told to stop."""

    async def answer(request: web.Request) -> web.WebSocketResponse:
        return await relay(request, f"ws://127.0.0.1:{service}/v1/realtime", parse)

    application = web.Application()
    application.router.add_get("/v1/realtime", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser(prog="bench.outside.aiohttp_relay", description="An aiohttp relay.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--service", type=int, required=True, help="the speech service's port")
    parser.add_argument("--parse", action="store_true", help="parse each frame as JSON")
    asked = parser.parse_args()
    uvloop.run(serve(asked.port, asked.service, asked.parse))


if __name__ == "__main__":
    main()
