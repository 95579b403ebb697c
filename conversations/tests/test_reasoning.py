"""HTTP reasoning: a typed question, its stream of events, what it leaves in the record."""

import asyncio
import json
from typing import Literal

import pytest
from pydantic import BaseModel

from conversations.brains import Action
from conversations.models import ToolCall
from conversations.tests.brain_kit import ScriptedBrain, asks, picks, scripted
from conversations.tests.serving import in_thread
from conversations.tests.stored import rows
from conversations.tests.talking import Person

pytestmark = pytest.mark.django_db(transaction=True)


class Meal(BaseModel):
    kind: Literal["breakfast", "dinner"]


class Entry(BaseModel):
    meal: Meal
    grams: int


class ShowDay(Action):
    grams: int


class MealBrain(ScriptedBrain):
    started = None
    finish = None
    seen = []
    cancelled = 0

    @property
    def tools(self):
        return [self.log_meal, self.count_meals, self.breaks, self.waits]

    async def log_meal(self, entry: Entry):
        """Writes a meal down."""
        MealBrain.seen.append(entry)
        self.session.dispatch(ShowDay(grams=entry.grams))
        return {"saved": entry.grams}

    async def count_meals(self):
        """How many meals there are."""
        return 3

    async def breaks(self):
        """Breaks."""
        raise ValueError("SECRET-OF-THE-TOOL")

    async def waits(self):
        """Waits."""
        MealBrain.started.set()
        try:
            await MealBrain.finish.wait()
        except asyncio.CancelledError:
            MealBrain.cancelled += 1
            raise
        return "done"


@pytest.fixture
def brain(configure):
    """Makes the deployment's brain say this."""
    MealBrain.seen, MealBrain.cancelled = [], 0

    def say(*answers, **settings):
        configure(reasoning=scripted(MealBrain, *answers), rate_reasoning=1000, **settings)

    return say


@pytest.fixture
async def ada():
    """Somebody with an open conversation at a server in this process."""
    MealBrain.started, MealBrain.finish = asyncio.Event(), asyncio.Event()
    async with in_thread() as server:
        person = Person(server.address)
        await person.bootstrap()
        yield person


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
    assert [tool.name for tool in request.tools] == ["log_meal", "count_meals", "breaks", "waits"]
    (row,) = await rows(ToolCall)
    assert (row.source, row.selection, row.status, row.name) == (
        "inprocess",
        "brain",
        "completed",
        "log_meal",
    )


async def test_the_tool_runs_while_the_first_unit_is_heard(brain, ada):
    brain(["One moment.", picks("waits")], ["Here it is."])
    async with asks(ada, "go") as asking:
        await asking.shown("vocero.tool.started")
        assert asking.spoken == "One moment.\n"
        ada_loop_free = MealBrain.finish
        ada_loop_free._loop.call_soon_threadsafe(MealBrain.finish.set)
        await asking.over()
    assert asking.last["text"] == "One moment.\nHere it is."
