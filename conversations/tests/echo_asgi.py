"""An application that says of each frame which way it came, on the sockets that Vocero has on its servers."""

import asyncio

from vocero import frames
from vocero.daphne_sockets import mended
from vocero.uvicorn_sockets import shortened

FLOOD = "flood"
PIECE = "x" * 12_000
MOST = 5_000


async def echo(scope, receive, send):
    """Answers in order; to FLOOD with as many pieces as can be offered, and their number."""
    if scope["type"] != "websocket":
        return
    await receive()
    direct, answers = frames.of(scope), asyncio.Queue()
    direct.listen(lambda frame: answers.put_nowait(("short", frame)))
    await send({"type": "websocket.accept"})
    answering = asyncio.create_task(_answer(direct, answers, send))
    while (message := await receive())["type"] == "websocket.receive":
        answers.put_nowait(("long", message["text"]))
    answering.cancel()


async def _answer(direct, answers, send):
    while True:
        way, frame = await answers.get()
        if frame == FLOOD:
            taken = 0
            while taken < MOST and direct.offer(PIECE):
                taken += 1
            frame = f"{taken} taken"
        said = f"{way} {frame}"
        if not direct.offer(said):
            await send({"type": "websocket.send", "text": said})


async def nothing_to_stop():
    pass


application = shortened(mended(echo, nothing_to_stop))
