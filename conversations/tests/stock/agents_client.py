"""A stock client: openai-agents' RealtimeSession as it is.

`python agents_client.py URL SECRET`: commands (`say`, `speak`, `interrupt`) come on stdin, what happens goes
to stdout, a line of JSON each.
"""

import asyncio
import json
import sys

from agents import function_tool, set_tracing_disabled
from agents.realtime import RealtimeAgent, RealtimeRunner

TWENTY_MS = bytes(960)


def tell(kind, **fields):
    print(json.dumps({"kind": kind, **fields}), flush=True)


@function_tool
async def show_map(place: str) -> str:
    """Shows a place on the map of the screen."""
    tell("tool", arguments={"place": place})
    return f"The map shows {place}."


async def report(session):
    """What the package makes of the events, in words that all stock clients share."""
    async for event in session:
        match event.type:
            case "audio":
                tell("audio", bytes=len(event.audio.data))
            case "audio_interrupted":
                tell("interrupted")
            case "error":
                tell("error", error=str(event.error))
            case "history_updated":
                tell("history", said=[said(item) for item in event.history if item.type == "message"])
            case "raw_model_event" if event.data.type == "raw_server_event":
                tell("event", frame=event.data.data)
            case "raw_model_event" if event.data.type == "connection_status":
                tell(event.data.status)


def said(item):
    words = [getattr(part, "text", None) or getattr(part, "transcript", None) for part in item.content]
    return {"role": item.role, "text": "".join(filter(None, words))}


async def obey(session):
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        match command["do"]:
            case "say":
                await session.send_message(command["text"])
            case "speak":
                await session.send_audio(TWENTY_MS * (command["ms"] // 20))
            case "interrupt":
                await session.interrupt()


async def main(url, secret):
    set_tracing_disabled(True)
    agent = RealtimeAgent(name="Page", instructions="Be brief.", tools=[show_map])
    runner = RealtimeRunner(agent)
    async with await runner.run(model_config={"api_key": secret, "url": url}) as session:
        reporting = asyncio.create_task(report(session))
        tell("connected")
        await obey(session)
        reporting.cancel()


asyncio.run(main(*sys.argv[1:]))
