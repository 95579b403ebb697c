"""The language model of a service that does not plan by itself: any server with chat completions."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field

import httpx2

from demo.speech.engine import EngineFailure
from demo.speech.events import Item
from demo.speech.planner.history import text_of
from demo.speech.sentences import sentences

MODEL = "vocero"
# A brain may wait for a person's tap.
PATIENCE = httpx2.Timeout(10.0, read=200.0)
_PREFIX = "data: "


@dataclass(frozen=True, slots=True)
class Thinker:
    """Where the model is asked, and with which key."""

    base_url: str
    key: str = field(repr=False)

    async def words(self, instructions: str, items: Sequence[Item]) -> AsyncGenerator[str, None]:
        """The answer as it is written; closing it hangs up. Raises EngineFailure."""
        body = {"model": MODEL, "stream": True, "messages": messages(instructions, items)}
        headers = {"Authorization": f"Bearer {self.key}"}
        try:
            async with (
                httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as client,
                client.stream(
                    "POST", f"{self.base_url}/chat/completions", json=body, headers=headers
                ) as answer,
            ):
                if answer.status_code != httpx2.codes.OK:
                    raise EngineFailure(f"the language model answered {answer.status_code}")
                async for line in answer.aiter_lines():
                    if text := _text(line):
                        yield text
        except httpx2.HTTPError as error:
            raise EngineFailure(f"the language model: {type(error).__name__}") from error


def messages(instructions: str, items: Sequence[Item]) -> list[dict[str, str]]:
    """The conversation as a language model is told it."""
    said = [(item["role"], text_of(item)) for item in items if item.get("type") == "message"]
    told = [("system", instructions), *said]
    return [{"role": role, "content": text} for role, text in told if text]


async def units(words: AsyncIterator[str]) -> AsyncIterator[str]:
    """The words as whole sentences, each as soon as it is there; joined, they are the words."""
    waiting = ""
    async for text in words:
        waiting += text
        *whole, waiting = sentences(waiting) or [""]
        if waiting.endswith("\n"):
            whole, waiting = [*whole, waiting], ""
        for sentence in whole:
            yield sentence
    if waiting:
        yield waiting


def _text(line: str) -> str:
    if not line.startswith(_PREFIX) or line == f"{_PREFIX}[DONE]":
        return ""
    choices = json.loads(line.removeprefix(_PREFIX)).get("choices") or [{}]
    return (choices[0].get("delta") or {}).get("content") or ""
