"""The stock openai package asks Vocero as a speech service asks its language model; it prints what it gets.

`python openai_model.py BASE_URL KEY`, with one JSON object on standard input: `instructions`, `words`,
`stream`, and `leave`, a text after which it hangs up.
"""

import json
import sys

from openai import APIStatusError, OpenAI


def main(base_url, key):
    asked = json.load(sys.stdin)
    messages = [
        {"role": "system", "content": asked["instructions"]},
        {"role": "user", "content": asked["words"]},
    ]
    client = OpenAI(base_url=base_url, api_key=key, max_retries=0)
    try:
        (stream if asked["stream"] else whole)(client, messages, asked["leave"])
    except APIStatusError as error:
        tell(error=type(error).__name__, status=error.status_code)


def whole(client, messages, _leave):
    answer = client.chat.completions.create(model="vocero", messages=messages)
    (choice,) = answer.choices
    usage = answer.usage.total_tokens
    tell(text=choice.message.content, calls=choice.message.tool_calls, end=choice.finish_reason, usage=usage)


def stream(client, messages, leave):
    options = {"include_usage": True}
    text, end, usage, calls = "", "", 0, None
    with client.chat.completions.create(
        model="vocero", messages=messages, stream=True, stream_options=options
    ) as chunks:
        for chunk in chunks:
            usage = chunk.usage.total_tokens if chunk.usage else usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                calls = choice.delta.tool_calls or calls
                end = choice.finish_reason or end
            if leave and leave in text:
                break
    tell(text=text, calls=calls, end=end, usage=usage)


def tell(**what):
    print(json.dumps(what), flush=True)


main(*sys.argv[1:])
