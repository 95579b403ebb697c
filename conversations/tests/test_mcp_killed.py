"""AquaPortal dies in the middle of a call: the caller hears of it at once, whatever the tool's limit."""

import asyncio
import hashlib
import json
import re
import subprocess
import sys

import httpx2
import pytest

from conversations.tests.live_call import QUESTION, LiveCall
from conversations.tests.memory_speech import MemoryService
from conversations.tests.serving import ROOT
from conversations.tests.speech_events import Calls, Says
from conversations.tests.talking import ADMINISTRATOR
from tools import catalog
from tools.contract import Caller
from tools.sources.mcp import McpSource, Server
from tools.testing import NOW, MemoryCache

pytestmark = pytest.mark.every_dialect

APOLOGY = "I lost the connection. Please ask again."


class Portal:
    """The demo AquaPortal in a process of its own."""

    def __init__(self, *options):
        command = [sys.executable, "-m", "demo.aquaportal", *options]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.url = re.search(r"login (http://\S+)/login", self.process.stdout.readline())[1]

    def log_in(self):
        answer = httpx2.post(f"{self.url}/login", json={"phone": ADMINISTRATOR}, trust_env=False)
        token = answer.json()["sessionToken"]
        return Caller(answer.json()["user"]["id"], token, hashlib.sha256(token.encode()).hexdigest())

    def orders(self, **order):
        return httpx2.post(f"{self.url}/control", json=order, trust_env=False).json()

    async def is_working(self):
        """Once a tool call has begun."""
        while not any(entry["started"] for entry in (await asyncio.to_thread(self.orders))["requests"]):
            pass

    def dies(self):
        self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.mark.parametrize(
    "options", [(), ("--legacy",), ("--json",)], ids=["2026-07-28", "2025-11-25", "JSON"]
)
async def test_a_server_that_dies_in_mid_call_is_a_lost_connection_at_once_case_080(options):
    portal = Portal(*options)
    try:
        caller = portal.log_in()
        portal.orders(add=[{"kind": "slow", "seconds": 60}])
        source = McpSource(Server(f"{portal.url}/mcp"))
        offer = await catalog.discover([source], caller, None, MemoryCache(), NOW)
        service = MemoryService(Calls.one("get_my_briefing"), Says(APOLOGY))
        async with LiveCall(service, offer=offer, caller=caller, tool_timeout=60.0) as call:
            call.alone = False
            line = await call.ready()
            call.types(QUESTION)
            await portal.is_working()
            portal.dies()
            async with asyncio.timeout(2):
                failed = await call.shown("vocero.tool.failed")
                await call.shown("response.output_audio_transcript.done")
            output = json.loads(line.sent_of("conversation.item.create")[-1]["item"]["output"])
        assert failed["code"] == output["error"]["code"] == "connection_lost"
        assert call.text() == APOLOGY
        assert [closed.code for closed in call.closed_calls()] == ["connection_lost"]
        await source.aclose()
    finally:
        portal.dies()
