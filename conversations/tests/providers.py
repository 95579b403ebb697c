"""The three adapters, each with a fake of its provider; and requests to them without a conversation."""

import asyncio
import contextlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from google.genai import Client
from openai import AsyncOpenAI

from conversations.brains import OpenAIBrain, gemini, openai
from conversations.brains.gemini import GeminiBrain
from conversations.brains.gemini_interactions import GeminiInteractionsBrain
from conversations.brains.loop import ModelFailed, ModelRequest, Picked, TextDelta
from conversations.tests.fake_gemini import FakeGemini, FakeInteractions
from conversations.tests.fake_openai import FakeOpenAI
from tools.tests.serving import serving
from vocero.services import Reasoning

KEY = "sk-of-the-deployment"


def chat(url, **limits):
    return openai.client(f"{url}/v1", KEY, **limits)


def google(url, **limits):
    return gemini.client(KEY, url, **limits)


KINDS = {
    "openai": (OpenAIBrain, FakeOpenAI, chat),
    "gemini": (GeminiBrain, FakeGemini, google),
    "interactions": (GeminiInteractionsBrain, FakeInteractions, google),
}


# Clients as integrators make them, with the limits that their packages come with.
STOCK = {
    "openai": lambda url: AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY),
    "gemini": lambda url: Client(api_key=KEY, http_options={"base_url": url}),
    "interactions": lambda url: Client(api_key=KEY, http_options={"base_url": url}),
}


@dataclass
class Provider:
    """One adapter: `adapter` is the base class of its brains, `fake` is the model at `url`."""

    name: str
    adapter: Any
    url: str
    client: Any
    fake: Any = None

    def as_new(self):
        """For another test."""
        self.fake.reset()
        return replace(self)

    def brain(self, kind=None, **more):
        """A brain of this adapter, or of a class that derives from it."""
        return (kind or self.adapter)(
            client=self.client, system_instruction="You are a test.", model="m", **more
        )

    async def answer(self, request=None, brain=None):
        """All that one request brings."""
        return [delta async for delta in (brain or self.brain()).stream(request or asking())]

    async def failure(self, request=None, brain=None):
        """What was said before it, and the failure."""
        said = []
        try:
            async for delta in (brain or self.brain()).stream(request or asking()):
                said.append(delta.text)
        except ModelFailed as failed:
            return "".join(said), failed
        raise AssertionError(f"it answered: {said}")


@contextlib.asynccontextmanager
async def provider_of(name):
    """The adapter with a model that answers."""
    fake = KINDS[name][1]()
    async with serving(fake.app) as url, provider_at(name, url) as one:
        one.fake = fake
        yield one


@contextlib.asynccontextmanager
async def provider_at(name, url, **limits):
    """The adapter with whatever is at that address."""
    adapter, _, client = KINDS[name]
    async with with_client(Provider(name, adapter, url, None), client(url, **limits)) as one:
        yield one


@contextlib.asynccontextmanager
async def with_client(provider, client):
    """The same adapter and model, asked by another client."""
    try:
        yield replace(provider, client=client)
    finally:
        await close(client)


async def close(client):
    """Ends the connections of a provider's client."""
    await (client.aio.aclose() if hasattr(client, "aio") else client.close())


def asking(text="What is new?", **more):
    return ModelRequest(**{"instructions": "Be brief.", "history": (), "text": text, **more})


def words(answer):
    return [delta.text for delta in answer if isinstance(delta, TextDelta)]


def picks(answer):
    return [delta for delta in answer if isinstance(delta, Picked)]


class Wired:
    """A brain with tools over a provider's adapter, in the server whose conversations it serves."""

    now = None

    def __init__(self, provider, tools, server):
        self._provider, self._server = provider, server
        self._kind = type("Wired", (tools, provider.adapter), {})
        self._clients, self.limits, self.brain = [], {}, None
        self.fake = provider.fake

    @classmethod
    def up(cls, provider, tools, server):
        """What `wired_brain` makes from now on."""
        cls.now = cls(provider, tools, server)
        return cls.now

    def made(self):
        client = KINDS[self._provider.name][2](self._provider.url)
        self._clients.append(client)
        self.brain = self._kind(client=client, model="m", **self.limits)
        return self.brain

    async def elsewhere(self, waits):
        """Awaits something in the server's own loop."""

        async def awaited():
            async with asyncio.timeout(5):
                return await waits()

        going = asyncio.run_coroutine_threadsafe(awaited(), self._server.event_loop)
        return await asyncio.wrap_future(going)

    async def down(self):
        for client in self._clients:
            await self.elsewhere(partial(close, client))


@contextlib.asynccontextmanager
async def wired_into(configure, provider, tools, server):
    """A deployment whose brains have these tools, over that provider's adapter."""
    wired = Wired.up(provider, tools, server)
    configure(reasoning=Reasoning(brain=f"{__name__}.wired_brain"), rate_reasoning=1_000_000)
    try:
        yield wired
    finally:
        await wired.down()


def wired_brain():
    """What S2S_BRAIN names in these tests."""
    return Wired.now.made()
