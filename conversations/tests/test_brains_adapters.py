"""A brain with tools moves between the three adapters by its base class alone: whole turns over HTTP."""

import asyncio
import json
from enum import StrEnum
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from conversations.brains import Action
from conversations.models import ToolCall
from conversations.tests.brain_kit import asks
from conversations.tests.fake_models import CUT, HOLDS, PROVIDER_WORDS, Fails, Thinks, calls, says
from conversations.tests.providers import KINDS, provider_of, wired_into
from conversations.tests.serving import in_thread
from conversations.tests.stored import rows
from conversations.tests.talking import Person

pytestmark = pytest.mark.django_db(transaction=True)


class Portion(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Meal(BaseModel):
    kind: Literal["breakfast", "dinner"]
    portion: Portion = Portion.SMALL


class Entry(BaseModel):
    meal: Meal
    grams: int = Field(gt=0)


class ShowDay(Action):
    grams: int


class Tools:
    """What every adapter is given, unchanged."""

    def __init__(self, **more):
        super().__init__(system_instruction="You keep a diary.", **more)
        self.entries, self.selves = [], []
        self.running, self.cancelled = asyncio.Event(), asyncio.Event()

    def __deepcopy__(self, memo):
        raise AssertionError("the brain was copied")

    __copy__ = None

    @property
    def tools(self):
        return [self.log_meal, self.count_meals, self.breaks, self.waits]

    def grounding(self):
        return f"There are {len(self.entries)} meals."

    async def log_meal(self, entry: Entry):
        """Writes a meal down."""
        self.selves.append(self)
        self.entries.append(entry)
        self.session.dispatch(ShowDay(grams=entry.grams))
        return {"saved": entry.grams}

    async def count_meals(self):
        """How many meals there are."""
        self.selves.append(self)
        return len(self.entries)

    async def breaks(self):
        """Breaks."""
        raise ValueError("SECRET-OF-THE-TOOL")

    async def waits(self):
        """Waits."""
        self.running.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


@pytest.fixture(params=KINDS)
async def diary(request, configure):
    """Somebody with an open conversation whose brain keeps a diary with this adapter."""
    async with (
        provider_of(request.param) as provider,
        in_thread() as server,
        wired_into(configure, provider, Tools, server) as wired,
    ):
        wired.person = Person(server.address)
        await wired.person.bootstrap()
        yield wired


def meal(grams=200, kind="dinner", **more):
    return {"meal": {"kind": kind, **more}, "grams": grams}


async def asked(diary, text="What did I eat?"):
    async with asks(diary.person, text) as asking:
        await asking.over()
    return asking


def outputs(diary):
    """The results that the model read last, without their label."""
    return [(name, text.rpartition("\n")[2]) for name, text in diary.fake.last.results]


async def test_the_answer_streams(diary):
    diary.fake.script((Thinks("They are hungry."), says("Seven ", "meals.")))
    asking = await asked(diary)
    assert [event["delta"] for event in asking.of("text.delta")] == ["Seven ", "meals."]
    assert asking.last["text"] == "Seven meals."


async def test_a_tool_with_a_literal_and_an_enum_in_a_nested_model_runs(diary):
    diary.fake.script((says("I write that down."), calls("log_meal", meal(portion="large"))), says("Done."))
    asking = await asked(diary)
    assert asking.last["text"] == "I write that down.\nDone."
    assert diary.brain.entries == [Entry(meal=Meal(kind="dinner", portion=Portion.LARGE), grams=200)]
    assert outputs(diary) == [("log_meal", '{"saved":200}')]
    told = json.dumps(diary.fake.last.tools["log_meal"])
    assert '["breakfast", "dinner"]' in told
    assert '["small", "large"]' in told


async def test_a_tool_without_parameters_declares_none_and_runs(diary):
    diary.fake.script(calls("count_meals"), says("None."))
    await asked(diary)
    assert diary.fake.last.tools["count_meals"] is None
    assert outputs(diary) == [("count_meals", "0")]


async def test_parallel_calls_each_have_their_own_result_case_135(diary):
    both = (calls("log_meal", meal(100)), calls("log_meal", meal(300, "breakfast")))
    diary.fake.script(both, says("Done."))
    await asked(diary)
    assert outputs(diary) == [("log_meal", '{"saved":100}'), ("log_meal", '{"saved":300}')]
    assert {entry.meal.kind for entry in diary.brain.entries} == {"breakfast", "dinner"}


async def test_the_brain_is_never_copied_and_its_session_is_the_live_one_across_hops(diary):
    hops = [calls("log_meal", meal(grams)) for grams in (1, 2)]
    diary.fake.script(*hops, calls("count_meals"), says("Two."))
    asking = await asked(diary)
    assert asking.last["text"] == "Two."
    assert [one is diary.brain for one in diary.brain.selves] == [True, True, True]
    assert [one["data"]["payload"] for one in asking.of("ui-command")] == [{"grams": 1}, {"grams": 2}]
    assert diary.brain.session.id == diary.person.conversation


async def test_grounding_and_history_reach_the_model_in_every_turn(diary):
    diary.fake.script(calls("log_meal", meal()), says("Noted."), says("One."))
    await asked(diary, "I had dinner.")
    await asked(diary, "How many?")
    assert diary.fake.last.instructions == "You keep a diary.\n\nThere are 1 meals."
    assert diary.fake.last.said == [
        ("user", "I had dinner."),
        ("assistant", "Noted."),
        ("user", "How many?"),
    ]


async def test_a_tool_that_raises_is_a_sentence_for_the_model_and_the_turn_goes_on(diary):
    diary.fake.script(calls("breaks"), says("It broke."))
    asking = await asked(diary)
    assert asking.last["text"] == "It broke."
    assert "SECRET-OF-THE-TOOL" not in str(diary.fake.last.body)
    (row,) = await rows(ToolCall)
    assert (row.status, row.code) == ("failed", "internal")


async def test_a_model_that_never_stops_picking_ends_in_words_case_142(diary):
    grams = iter(range(1, 1000))
    diary.fake.script((lambda _asked: (calls("log_meal", meal(next(grams))),),))
    asking = await asked(diary)
    assert (asking.last["type"], asking.last["code"]) == ("turn.failed", "call_limit")
    assert len(diary.brain.entries) == 6
    assert len(diary.fake.asked) == 7
    assert diary.fake.last.choice == "none"
    assert asking.last["message"]


async def test_the_hop_limit_of_a_brain_lets_it_only_speak_afterwards(diary):
    grams = iter(range(1, 1000))

    def answer(asked):
        return (says("Enough."),) if asked.choice == "none" else (calls("log_meal", meal(next(grams))),)

    diary.fake.script((answer,))
    diary.limits["max_tool_hops"] = 2
    asking = await asked(diary)
    assert (asking.last["text"], len(diary.brain.entries)) == ("Enough.", 2)


async def test_a_call_at_the_token_limit_is_never_run_case_145(diary):
    diary.fake.script((calls("log_meal", meal()), CUT), says("Shorter."))
    asking = await asked(diary)
    assert (asking.last["text"], diary.brain.entries) == ("Shorter.", [])
    assert "cut off" in outputs(diary)[0][1]


async def test_a_model_that_is_cut_off_again_and_again_ends_in_words_case_145(diary):
    diary.fake.script((calls("log_meal", meal()), CUT))
    asking = await asked(diary)
    assert (asking.last["type"], diary.brain.entries) == ("turn.failed", [])
    assert len(diary.fake.asked) <= 4


@pytest.mark.parametrize("answer", [Fails(503), Fails(401)])
async def test_a_model_that_fails_ends_in_words_without_the_provider_s_case_147(diary, answer, caplog):
    diary.fake.script(answer)
    asking = await asked(diary)
    assert asking.last["type"] == "turn.failed"
    assert asking.last["message"]
    assert PROVIDER_WORDS not in json.dumps(asking.events) + caplog.text
    assert "sk-" not in json.dumps(asking.events) + caplog.text


async def test_whoever_hangs_up_in_mid_answer_hangs_up_at_the_model(diary):
    diary.fake.script((says("Well "), HOLDS))
    async with asks(diary.person, "What did I eat?") as asking:
        await asking.shown("text.delta")
    async with asyncio.timeout(5):
        await diary.fake.gone.wait()


async def test_whoever_hangs_up_while_a_tool_runs_ends_it(diary):
    diary.fake.script(calls("waits"), says("Done."))
    async with asks(diary.person, "Wait.") as asking:
        await asking.shown("vocero.tool.started")
        await diary.elsewhere(diary.brain.running.wait)
    await diary.elsewhere(diary.brain.cancelled.wait)
    assert len(diary.fake.asked) == 1
