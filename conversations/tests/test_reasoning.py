"""HTTP reasoning: a typed question, its stream of events, what it leaves in the record."""

import asyncio
import json
from typing import Literal

import pytest
from asgiref.sync import sync_to_async
from pydantic import BaseModel

from conversations.brains import Action
from conversations.models import ToolCall
from conversations.tests.brain_kit import ScriptedBrain, asks, picks, question, scripted, tap
from conversations.tests.serving import in_thread
from conversations.tests.stored import rows
from conversations.tests.talking import Person, eventually

pytestmark = pytest.mark.django_db(transaction=True)


class Meal(BaseModel):
    kind: Literal["breakfast", "dinner"]


class Entry(BaseModel):
    meal: Meal
    grams: int


class ShowDay(Action):
    grams: int


class MealBrain(ScriptedBrain):
    finish = None
    seen = []
    sessions = []
    cancelled = 0

    @property
    def tools(self):
        return [self.log_meal, self.waits]

    async def log_meal(self, entry: Entry):
        """Writes a meal down."""
        MealBrain.seen.append(entry)
        MealBrain.sessions.append(self.session)
        self.session.dispatch(ShowDay(grams=entry.grams))
        return {"saved": entry.grams}

    async def waits(self):
        """Waits."""
        MealBrain.finish = asyncio.get_running_loop().create_future()
        try:
            await MealBrain.finish
        except asyncio.CancelledError:
            # It does not end at once.
            await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=0.4)
            MealBrain.cancelled += 1
            raise
        return "done"


@pytest.fixture
def brain(configure):
    """Makes the deployment's brain say this."""
    MealBrain.seen, MealBrain.sessions, MealBrain.cancelled, MealBrain.finish = [], [], 0, None

    def say(*answers, **settings):
        configure(reasoning=scripted(MealBrain, *answers), rate_reasoning=1000, **settings)

    return say


@pytest.fixture
async def ada():
    """Somebody with an open conversation at a server in this process."""
    async with in_thread() as server:
        person = Person(server.address)
        await person.bootstrap()
        yield person


async def waiting():
    """The tool that waits does."""

    async def begun():
        return MealBrain.finish

    await eventually(begun)


async def lets_go():
    """The tool that waits, in the server's loop, is done."""
    await waiting()
    MealBrain.finish.get_loop().call_soon_threadsafe(MealBrain.finish.set_result, None)


async def test_the_answer_streams_and_becomes_a_turn_of_the_record(brain, ada):
    brain(["Seven ", "point four."])
    async with asks(ada, "What is the oxygen?") as asking:
        await asking.over()
    assert asking.types == ["turn.started", "text.delta", "text.delta", "turn.completed"]
    assert asking.last == {"type": "turn.completed", "turn": 1, "text": "Seven point four.", "tool_calls": []}
    answered = asking.response.headers
    assert answered["content-type"] == "text/event-stream"
    assert answered["x-vocero-conversation"] == ada.conversation
    assert (answered["x-vocero-turn"], answered["x-vocero-mode"]) == ("1", "plain")
    (turn,) = (await ada.record())["turns"]
    assert (turn["origin"], turn["outcome"]) == ("http", "done")
    assert (turn["caller_text"], turn["heard_text"]) == ("What is the oxygen?", "Seven point four.")


async def test_a_character_that_the_model_s_server_cut_in_half_is_said_whole(brain, ada):
    brain(["A trout \ud83d", "\udc1f", " and half a \ud83d"])
    async with asks(ada, "What swims here?") as asking:
        await asking.over()
    assert asking.last["text"] == "A trout 🐟 and half a \ufffd"
    (turn,) = (await ada.record())["turns"]
    assert turn["heard_text"] == "A trout 🐟 and half a \ufffd"


async def test_narrate_call_and_report_are_two_units_and_the_first_is_there_while_the_tool_runs(brain, ada):
    call = picks("log_meal", meal={"kind": "dinner"}, grams=200)
    brain(["I write that down.", call], ["Two hundred grams."])
    async with asks(ada, "I had dinner") as asking:
        await asking.over()
    assert asking.types == [
        "turn.started",
        "text.delta",
        "text.delta",
        "vocero.tool.started",
        "ui-command",
        "vocero.tool.completed",
        "text.delta",
        "turn.completed",
    ]
    assert asking.last["text"] == "I write that down.\nTwo hundred grams."
    assert MealBrain.seen == [Entry(meal=Meal(kind="dinner"), grams=200)]
    (command,) = asking.of("ui-command")
    assert command["data"] == {"command": "show_day", "payload": {"grams": 200}}
    (request, following) = ScriptedBrain.made[0].requests
    (hop,) = following.hops
    assert (hop.spoken, [one.name for one in hop.picked]) == ("I write that down.", ["log_meal"])
    assert hop.outputs[0].startswith("[Reference data")
    assert json.loads(hop.outputs[0].partition("\n")[2]) == {"saved": 200}
    assert [tool.name for tool in request.tools] == ["log_meal", "waits"]
    (row,) = await rows(ToolCall)
    assert (row.source, row.selection, row.status, row.name) == (
        "inprocess",
        "brain",
        "completed",
        "log_meal",
    )


async def test_the_first_unit_is_heard_and_arguments_and_results_stay_here_while_a_tool_runs(brain, ada):
    call = picks("log_meal", meal={"kind": "dinner"}, grams=987654)
    brain(["One moment.", call, picks("waits", "call-2")], ["Here it is."])
    async with asks(ada, "go") as asking:
        await asking.shown("vocero.tool.started", 2)
        assert asking.spoken == "One moment.\n"
        await lets_go()
        await asking.over()
    assert asking.last["text"] == "One moment.\nHere it is."
    told = json.dumps([event for event in asking.events if event["type"].startswith("vocero.tool")])
    assert "987654" not in told
    assert "saved" not in told
    saved, _ = sorted(await rows(ToolCall), key=lambda row: row.sequence)
    assert saved.arguments == {"grams": 987654, "meal": {"kind": "dinner"}}


async def test_a_conversation_has_one_brain_whose_session_is_the_live_one_in_every_tool(brain, ada):
    first = picks("log_meal", meal={"kind": "dinner"}, grams=1)
    second = picks("log_meal", "call-2", meal={"kind": "dinner"}, grams=2)
    brain([first], [second], ["Both."], ["Hello again."])
    async with asks(ada, "two meals") as asking:
        await asking.over()
    async with asks(ada, "and?") as again:
        await again.over()
    (made,) = ScriptedBrain.made
    assert MealBrain.sessions == [made.session] * 2
    shown = [event["data"]["payload"] for event in asking.of("ui-command")]
    assert shown == [{"grams": 1}, {"grams": 2}]
    assert [said.text for said in made.requests[-1].history] == ["two meals", "Both."]


async def test_a_sheet_is_shown_on_the_stream_and_tapped_over_http(brain, ada):
    call = picks("log_meal", meal={"kind": "dinner"}, grams=5)
    brain([call], ["Saved."], confirm_tools=("log_meal",))
    async with asks(ada, "save it") as asking:
        shown = (await asking.shown("ui-command"))["data"]
        assert shown["command"] == "open_confirm"
        assert shown["payload"]["summary"] == [{"label": "Grams", "value": "5"}]
        assert MealBrain.seen == []
        assert (await tap(ada, nonce=shown["payload"]["nonce"], answer="yes")).status_code == 202
        await asking.over()
    assert asking.last["text"] == "Saved."
    assert len(MealBrain.seen) == 1
    (row,) = await rows(ToolCall)
    assert row.approved_at is not None


async def test_the_client_that_goes_cancels_and_may_ask_again_at_once(brain, ada):
    brain(["One moment.", picks("waits")], ["Yes?"])
    async with asks(ada, "go"):
        await waiting()
    async with asks(ada, "stop") as again:
        await again.over()
    assert again.last["text"] == "Yes?"
    assert MealBrain.cancelled == 1
    assert [turn["outcome"] for turn in await ada.turns(2)] == ["cancelled", "done"]


async def test_a_second_question_beside_the_first_is_refused(brain, ada):
    brain(["One moment.", picks("waits")], ["Done."])
    async with asks(ada, "go") as asking:
        await asking.shown("vocero.tool.started")
        refused = await question(ada, "and?")
        assert (refused.status_code, refused.json()["code"]) == (409, "turn_in_progress")
        await lets_go()
        await asking.over()
    assert asking.last["text"] == "One moment.\nDone."


async def test_cleaning_up_ends_the_turn_in_words(brain, ada):
    brain(["One moment.", picks("waits")], ["Never."])
    async with asks(ada, "go") as asking:
        await waiting()
        await ada.cleans_up()
        await asking.over()
    assert (asking.last["type"], asking.last["code"]) == ("turn.failed", "conversation_closed")
    assert MealBrain.cancelled == 1


async def test_operators_see_the_turn_and_its_tool_in_the_waterfall(brain, ada, admin_client):
    call = picks("log_meal", meal={"kind": "dinner"}, grams=5)
    brain(["I save it.", call], ["Saved."])
    async with asks(ada, "save it") as asking:
        await asking.over()
    page = await sync_to_async(admin_client.get)(
        f"/admin/conversations/conversation/{ada.conversation}/change/"
    )
    shown = page.content.decode()
    assert "over HTTP" in shown
    assert "log_meal" in shown
