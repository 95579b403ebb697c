"""Async methods in this process are tools like all others; what cannot be one is refused with the mend."""

import asyncio
import datetime
import enum
import json
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from tools import executor
from tools.catalog import discover
from tools.contract import ToolFailure
from tools.sources.inprocess import DeclarationRefused, InProcessSource, declared
from tools.testing import (
    ECHO_PARAMETERS,
    NOW,
    MemoryCache,
    ToolSourceContract,
    Workbench,
    a_caller,
    a_context,
    reference_data,
)


class Kind(enum.Enum):
    FEED = "feed"
    HARVEST = "harvest"


class Amount(BaseModel):
    unit: Literal["kg", "bags"]
    value: float = Field(gt=0)


class Meal(BaseModel):
    """What was fed."""

    cage: int
    kind: Kind = Kind.FEED
    amount: Amount | None = None

    @field_validator("cage")
    @classmethod
    def is_known(cls, cage):
        if cage > 12:
            raise ValueError("there are twelve cages")
        return cage


class Echoed(BaseModel):
    """Whatever it is given, under the contract's own schema."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def model_json_schema(cls, *_args, **_options):
        return ECHO_PARAMETERS


class Farm:
    """Who owns the tools; each call reaches this very object."""

    def __init__(self):
        self.meals = []
        self.started, self.stopped = asyncio.Event(), asyncio.Event()

    async def log_meal(self, meal: Meal):
        """Keeps a meal in the book."""
        self.meals.append(meal)
        return {"meals": len(self.meals)}

    async def nothing(self):
        return {"items": []}

    async def halves(self):
        return {"done": True}

    async def fail(self):
        raise ToolFailure("tool_error", "There is no such report.")

    async def breaks(self):
        raise LookupError("the secret connection string")

    async def odd(self):
        return object()

    async def today(self):
        return datetime.date(2026, 11, 30)

    async def wait(self):
        self.started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.stopped.set()
            raise

    def sync(self, meal: Meal):
        """Not async."""

    async def flat(self, cage: int, amount: float):
        """Flat."""

    async def flat_choice(self, kind: Literal["a", "b"]):
        """Flat, with a choice."""

    async def two(self, meal: Meal, amount: Amount):
        """Two models."""

    async def with_session(self, session, meal: Meal):
        """Wants the session."""

    async def anything(self, **values):
        """Takes anything."""

    async def by_keyword(self, *, meal: Meal):
        """By keyword."""

    async def unknown(self, meal: "NoSuchModel"):  # noqa: F821
        """Cannot be resolved."""


async def plain_function(meal: Meal):
    """No method."""


class TestContract(ToolSourceContract):
    @pytest.fixture
    def bench(self):
        farm = Farm()

        class Echo:
            async def echo(self, given: Echoed):
                return {"arguments": given.model_dump(), "user": "user-1"}

        methods = [Echo().echo, farm.wait, farm.fail, farm.nothing, farm.halves]
        return Workbench(InProcessSource(methods), farm.started, farm.stopped, tells_progress=False)


async def ran(farm, name, arguments):
    source = InProcessSource([farm.log_meal, farm.nothing, farm.fail, farm.breaks, farm.odd, farm.today])
    offer = await discover([source], a_caller(), None, MemoryCache(), NOW)
    return await executor.run(offer, name, arguments, a_context(), 64_000)


def test_the_model_s_fields_are_the_parameters_case_071():
    tool = declared(Farm().log_meal, "inprocess")
    assert (tool.name, tool.description) == ("log_meal", "Keeps a meal in the book.")
    assert tool.parameters["properties"].keys() == {"cage", "kind", "amount"}
    assert tool.parameters["required"] == ["cage"]
    assert tool.parameters["$defs"]["Amount"]["properties"]["unit"]["enum"] == ["kg", "bags"]
    assert declared(Farm().nothing, "inprocess").parameters == {}


@pytest.mark.parametrize("arguments", [{"cage": 4}, {"cage": 4, "amount": {"unit": "kg", "value": 2}}])
async def test_flat_arguments_arrive_as_the_model_in_the_very_object_case_071(arguments):
    farm = Farm()
    outcome = await ran(farm, "log_meal", json.dumps(arguments))
    assert reference_data(outcome.output) == {"meals": 1}
    assert farm.meals == [Meal(**arguments)]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"meal": {"cage": 4}}, "meal"),
        ({}, "cage"),
        ({"cage": 4, "kind": "party"}, "kind"),
        ({"cage": 4, "weather": "fine"}, "weather"),
        ({"cage": 4, "amount": {"unit": "tons", "value": 1}}, "amount"),
        ({"cage": 13}, "there are twelve cages"),
    ],
)
async def test_wrong_arguments_are_named_and_one_correction_succeeds_case_069(arguments, named):
    farm = Farm()
    outcome = await ran(farm, "log_meal", json.dumps(arguments))
    assert outcome.code == "invalid_arguments"
    assert named in outcome.output
    assert not [word for word in ("Traceback", "pydantic", "input_value", "party") if word in outcome.output]
    assert farm.meals == []
    assert (await ran(farm, "log_meal", '{"cage": 4}')).status == "completed"


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        ("sync", "async def sync"),
        ("flat", "one pydantic model"),
        ("flat_choice", "one pydantic model"),
        ("two", "one pydantic model"),
        ("with_session", "use self.session"),
        ("anything", "one pydantic model"),
        ("by_keyword", "leave out the *"),
        ("unknown", "NoSuchModel"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_its_name_and_the_mend(name, mend):
    with pytest.raises(DeclarationRefused) as refused:
        InProcessSource([getattr(Farm(), name)])
    assert f"Farm.{name}" in str(refused.value)
    assert mend in str(refused.value)


@pytest.mark.parametrize("method", [plain_function, lambda: None, 7])
def test_what_is_no_method_is_refused(method):
    with pytest.raises(DeclarationRefused, match="not a bound method"):
        InProcessSource([method])


def test_one_name_is_one_tool():
    with pytest.raises(DeclarationRefused, match="declared twice"):
        InProcessSource([Farm().log_meal, Farm().log_meal])


async def test_a_bug_is_told_to_the_log_only():
    outcome = await ran(Farm(), "breaks", "{}")
    assert outcome.code == "internal"
    assert "secret" not in outcome.output


async def test_what_is_no_json_is_refused_and_what_has_a_text_form_is_told():
    outcome = await ran(Farm(), "odd", "{}")
    assert outcome.code == "internal"
    assert "object at 0x" not in outcome.output
    assert (await ran(Farm(), "today", "{}")).output.endswith("]\n2026-11-30")
