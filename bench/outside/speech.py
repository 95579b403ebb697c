"""A speech service that answers each piece of audio with a piece of speech: cheap, and always the same."""

from __future__ import annotations

import argparse
import asyncio
import json

import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, WSUpgradeRequest, ws_create_server

from bench import frames

_BY_SIZE = {load.size: load for load in frames.LOADS}
_AWAKE = frames.flood()
FLOOD_PIECES = 64


class Answering(WSListener):
    """One connection."""

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        self._number = 0
        self._left = 0
        self._load = frames.LOADS[0]
        self._piece = b""
        self._writable = True
        self._flooding = False
        self._say(frames.created())

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type != WSMsgType.TEXT:
            if frame.msg_type == WSMsgType.CLOSE:
                transport.disconnect()
            return
        load = _BY_SIZE.get(frame.payload_size)
        payload = frame.get_payload_as_bytes()
        if payload == _AWAKE:
            self._flooding = True
            self._flood()
        elif load is not None and payload.startswith(b'{"type":"input_audio_buffer.append"'):
            self._answer(load)
        elif b'"session.update"' in payload[:64]:
            self._say(frames.updated(json.loads(payload)["session"]))

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self._flooding = False

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        if self._flooding:
            self._flood()

    def _flood(self) -> None:
        """Speech without end, as fast as it is taken."""
        loop = asyncio.get_running_loop()
        for _ in range(FLOOD_PIECES):
            if not self._writable or not self._flooding:
                return
            self._answer(frames.LOADS[-1])
        loop.call_soon(self._flood)

    def _answer(self, load: frames.Load) -> None:
        if self._left == 0 or load is not self._load:
            self._turn_over(load)
        self._left -= 1
        self._say(self._piece)

    def _turn_over(self, load: frames.Load) -> None:
        """One answer ends, and the next begins."""
        if self._number:
            spoken = frames.text_of(self._load, frames.PIECES - self._left)
            for event in frames.ending(self._number, spoken):
                self._say(event)
        self._number += 1
        self._load, self._left = load, frames.PIECES
        self._piece = frames.answered(load, self._number)
        for event in frames.opening(self._number):
            self._say(event)

    def _say(self, event: bytes) -> None:
        self._transport.send(WSMsgType.TEXT, event)


async def serve(port: int) -> None:
    """Answers until it is told to stop."""

    def listener(_request: WSUpgradeRequest) -> WSListener:
        return Answering()

    server = await ws_create_server(listener, "127.0.0.1", port)
    await server.serve_forever()


def main() -> None:
    """Runs it."""
    parser = argparse.ArgumentParser(prog="bench.outside.speech", description="The bench's speech service.")
    parser.add_argument("--port", type=int, required=True)
    uvloop.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
