"""A brain's own tools in a voice call for which the speech service's model thinks."""

import asyncio

from pydantic import BaseModel

from conversations.brains import Action
from conversations.models import ToolCall, UpstreamSession
from conversations.tests.brain_kit import ScriptedBrain, scripted
from conversations.tests.serving import in_thread
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import rows
from conversations.tests.talking import Person

pytest_plugins = ("conversations.tests.deployment",)


class Day(BaseModel):
    day: int


class ShowDay(Action):
    day: int


class DiaryBrain(ScriptedBrain):
    answered = None

    @property
    def tools(self):
        return [self.show_day]

    async def show_day(self, day: Day):
        """Shows a day, once the caller has said yes."""
        DiaryBrain.answered = asyncio.get_running_loop().create_future()
        self.session.dispatch(ShowDay(day=day.day))
        return {"shown": day.day, "caller": await DiaryBrain.answered}

    async def on_rtvi(self, session, msg):
        assert session is self.session
        DiaryBrain.answered.set_result(msg.data["d"]["answer"])


async def test_the_service_picks_a_tool_of_the_brain_which_reaches_the_page_and_hears_from_it(
    transactional_db, configure, speech, speech_port
):
    configure(reasoning=scripted(DiaryBrain), speech_url=f"ws://127.0.0.1:{speech_port}/v1/realtime")
    speech.replies += [Calls.one("show_day", {"day": 3}), Says("There it is.")]
    async with in_thread() as server:
        person = Person(server.address)
        await person.bootstrap()
        async with person.talks() as talk:
            await talk.ready()
            await talk.types("Show me the third.")
            command = await talk.shown("ui-command")
            assert command["data"] == {"command": "show_day", "payload": {"day": 3}}
            data = {"t": "seen", "d": {"answer": "yes"}}
            await talk.send("client-message", label="rtvi-ai", id="m-1", data=data)
            await talk.shown("vocero.tool.completed")
            (turn,) = await person.turns(1)
    assert [tool["name"] for tool in turn["tools"]] == ["show_day"]
    (row,) = await rows(ToolCall)
    assert (row.source, row.selection, row.status) == ("inprocess", "native", "completed")
    (session,) = await rows(UpstreamSession)
    assert session.tool_names == ["show_day"]
