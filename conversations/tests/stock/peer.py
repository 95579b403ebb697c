"""Stock clients under test: one in a process of its own, one in a page; both obey and tell the same way."""

import asyncio
import json
import shutil
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import async_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PYTHON = ROOT / ".venvs" / "peers" / "bin" / "python"
BUNDLE = ROOT / "node_modules" / "@openai" / "agents-realtime" / "dist" / "bundle"
# A page of somebody's own site; its files are handed over by the test.
SITE = "http://localhost:1/"
PAGE = """<!doctype html><title>Somebody's own page</title><script type="module">
import * as realtime from './openai-realtime-agents.mjs';
import { hold } from './agents_talk.mjs';
window.begin = async (url, secret) => { window.obey = await hold(realtime, url, secret, window.tell); };
window.loaded();
</script>"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# The browser counts a page that the test hands over as one of the internet, and Vocero here is on loopback.
FLAGS.append("--disable-features=LocalNetworkAccessChecks")


class Peer:
    """What a stock client has told so far; `seen` waits for more."""

    patience = 30.0

    def __init__(self, send):
        self.happened = []
        self._send = send
        self._news = asyncio.Event()

    def hear(self, happening):
        self.happened.append(happening)
        self._news.set()

    def of(self, kind):
        return [one for one in self.happened if one["kind"] == kind]

    def frames(self, kind):
        return [one["frame"] for one in self.of("event") if one["frame"].get("type") == kind]

    async def do(self, what, **fields):
        await self._send({"do": what, **fields})

    async def until(self, holds):
        async with asyncio.timeout(self.patience):
            while not (found := holds()):
                self._news.clear()
                await self._news.wait()
        return found

    async def seen(self, kind, count=1):
        """The so manieth happening of this kind, once it is there."""
        return (await self.until(lambda: len(self.of(kind)) >= count and self.of(kind)))[count - 1]

    async def event(self, kind, count=1):
        """The so manieth event of this type."""
        return (await self.until(lambda: len(self.frames(kind)) >= count and self.frames(kind)))[count - 1]


@asynccontextmanager
async def process(*command):
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 22
    )

    async def send(what):
        running.stdin.write(json.dumps(what).encode() + b"\n")
        await running.stdin.drain()

    peer = Peer(send)

    async def listen():
        async for line in running.stdout:
            peer.hear(json.loads(line))

    listening = asyncio.create_task(listen())
    problems = asyncio.create_task(running.stderr.read())
    try:
        yield peer
        running.stdin.close()
        async with asyncio.timeout(peer.patience):
            await running.wait()
        assert running.returncode == 0, (await problems).decode()
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
        await asyncio.gather(listening, problems)


def python_client(url, secret):
    """openai-agents in Python."""
    return process(PYTHON, HERE / "agents_client.py", url, secret)


def openai_client(url, secret):
    """openai in Python."""
    return process(PYTHON, HERE / "openai_voice.py", url, secret)


def node_client(url, secret):
    """@openai/agents-realtime in Node."""
    return process("node", HERE / "agents_node.mjs", url, secret)


@asynccontextmanager
async def page_client(url, secret):
    """@openai/agents-realtime in Chromium, in a page of another site."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = await browser.new_page()

        async def send(what):
            await page.evaluate("(what) => { window.obey(what); }", what)

        peer, faults, loaded = Peer(send), [], asyncio.Event()
        page.on("pageerror", lambda error: faults.append(str(error)))
        await page.expose_function("tell", peer.hear)
        await page.expose_function("loaded", loaded.set)
        await page.route(f"{SITE}**", hand_over)
        await page.goto(SITE)
        async with asyncio.timeout(peer.patience):
            await loaded.wait()
        await page.evaluate("([url, secret]) => window.begin(url, secret)", [url, secret])
        yield peer
        await browser.close()
        assert faults == []


def chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))


async def hand_over(route):
    name = route.request.url.removeprefix(SITE)
    if not name:
        await route.fulfill(body=PAGE, content_type="text/html")
        return
    for folder in (HERE, BUNDLE):
        if (folder / name).exists():
            await route.fulfill(path=folder / name, content_type="text/javascript")
            return
    await route.fulfill(status=404)
