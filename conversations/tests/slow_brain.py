"""A brain for servers in processes of their own: its tools wait, for a minute or for a tap."""

import asyncio
import json
import secrets

from conversations.brains import Action
from conversations.brains.loop import Picked, TextDelta
from conversations.brains.tooled import ToolBrain


class AskYesNo(Action):
    nonce: str


class SlowBrain(ToolBrain):
    """Answers `hello` at once; for `work` its tool works on and on, for all else it waits for a tap."""

    def __init__(self):
        super().__init__(client=None, system_instruction="You are slow.", model="none")
        self.asked = {}

    @property
    def tools(self):
        return [self.works, self.asks]

    async def works(self):
        """Works for a minute."""
        await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=60)
        return "done"

    async def asks(self):
        """Asks the caller for a tap."""
        nonce = secrets.token_hex(8)
        tapped = self.asked[nonce] = asyncio.get_running_loop().create_future()
        self.session.dispatch(AskYesNo(nonce=nonce))
        return await tapped

    async def on_rtvi(self, session, msg):
        waiting = self.asked.pop(msg.data["d"].get("nonce"), None)
        if waiting is not None:
            waiting.set_result(msg.data["d"]["answer"])

    async def stream(self, request):
        if request.text == "hello":
            yield TextDelta("Hello.")
        elif not request.hops:
            yield TextDelta("One moment.")
            yield Picked("c", "works" if request.text == "work" else "asks", json.dumps({}))
        else:
            yield TextDelta(f"They said {request.hops[0].outputs[0].splitlines()[-1]}.")
