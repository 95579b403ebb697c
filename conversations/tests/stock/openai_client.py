"""A stock client: the openai package as it is, in an environment of its own; it prints what it receives.

`python stock_client.py BASE_URL SECRET QUESTION` holds a text conversation of one question. A line is JSON:
the event's type, the class that the package gave it, whether it is whole, and its frame.
"""

import asyncio
import json
import sys
from typing import get_args

from openai import AsyncOpenAI
from pydantic import ValidationError


async def converse(base_url, secret, question):
    client = AsyncOpenAI(api_key=secret, websocket_base_url=base_url)
    async with client.realtime.connect(model="gpt-realtime") as connection:
        await connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        content = [{"type": "input_text", "text": question}]
        await connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": content}
        )
        await connection.response.create()
        async for event in connection:
            print(json.dumps(seen(event)), flush=True)
            if event.type == "error" or (event.type == "response.done" and event.response.output):
                return


def seen(event):
    kind = type(event)
    return {
        "type": event.type,
        "class": kind.__name__,
        "declared": event.type in get_args(kind.model_fields["type"].annotation),
        "whole": whole(event),
        "frame": event.to_dict(),
    }


def whole(event):
    """Whether the frame is exactly what the class asks for; else what is wrong with it."""
    try:
        type(event).model_validate(event.to_dict(), strict=False)
    except ValidationError as error:
        return str(error)
    return True


asyncio.run(converse(*sys.argv[1:]))
