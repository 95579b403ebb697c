"""A stock client: the openai package as it is, in a spoken conversation, with a function of the page.

`python openai_voice.py URL SECRET`: commands (`say`, `speak`, `push`, `interrupt`) come on stdin, what
happens goes to stdout, a line of JSON each.
"""

import asyncio
import base64
import json
import sys

from openai import AsyncOpenAI

TWENTY_MS = bytes(960)
SHOW_MAP = {
    "type": "function",
    "name": "show_map",
    "description": "Shows a place on the map of the screen.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}
SESSION = {"type": "realtime", "instructions": "Be brief.", "tools": [SHOW_MAP]}
MESSAGE = {"type": "message", "role": "user"}


def tell(kind, **fields):
    print(json.dumps({"kind": kind, **fields}), flush=True)


class Playback:
    """The item that is being heard, and the milliseconds of it that came."""

    item_id, milliseconds = "", 0

    def sounds(self, event):
        sound = base64.b64decode(event.delta)
        if event.item_id != self.item_id:
            self.item_id, self.milliseconds = event.item_id, 0
        self.milliseconds += len(sound) // 48
        tell("audio", bytes=len(sound))


async def report(connection, playback):
    said = []
    async for event in connection:
        tell("event", frame=event.to_dict())
        match event.type:
            case "response.output_audio.delta":
                playback.sounds(event)
            case "input_audio_buffer.speech_started":
                tell("interrupted")
            case "response.output_audio_transcript.done":
                said.append({"role": "assistant", "text": event.transcript})
                tell("history", said=said)
            case "response.output_item.done" if event.item.type == "function_call":
                await answer(connection, event.item)
            case "error":
                tell("error", error=str(event.error))


async def answer(connection, call):
    arguments = json.loads(call.arguments)
    tell("tool", arguments=arguments)
    output = f"The map shows {arguments['place']}."
    item = {"type": "function_call_output", "call_id": call.call_id, "output": output}
    await connection.conversation.item.create(item=item)
    await connection.response.create()


async def obey(connection, playback):
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        match command["do"]:
            case "say":
                content = [{"type": "input_text", "text": command["text"]}]
                await connection.conversation.item.create(item={**MESSAGE, "content": content})
                await connection.response.create()
            case "speak":
                sound = base64.b64encode(TWENTY_MS * (command["ms"] // 20)).decode()
                await connection.input_audio_buffer.append(audio=sound)
            case "push":
                await connection.input_audio_buffer.commit()
                await connection.response.create()
            case "interrupt":
                await connection.response.cancel()
                await connection.conversation.item.truncate(
                    item_id=playback.item_id, content_index=0, audio_end_ms=playback.milliseconds
                )


async def main(url, secret):
    base_url = url.partition("?")[0].removesuffix("/realtime")
    client = AsyncOpenAI(api_key=secret, websocket_base_url=base_url)
    async with client.realtime.connect(model="gpt-realtime") as connection:
        playback = Playback()
        reporting = asyncio.create_task(report(connection, playback))
        tell("connected")
        await connection.session.update(session=SESSION)
        await obey(connection, playback)
        reporting.cancel()


asyncio.run(main(*sys.argv[1:]))
