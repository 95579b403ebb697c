"""A brain that could not work is told by `manage.py check`, with the name and the mend."""

import re
from dataclasses import replace

import pytest
from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel

from conversations.brains import Brain, ToolBrain
from conversations.brains.checks import brain, refuse_to_start
from vocero.checks import configuration
from vocero.services import Reasoning


class Place(BaseModel):
    name: str


class Tooled(ToolBrain):
    def __init__(self):
        super().__init__(client=None, system_instruction="", model="")


class Good(Tooled):
    @property
    def tools(self):
        return [self.go, self.stay]

    async def go(self, place: Place):
        """Goes."""

    async def stay(self):
        """Stays."""


async def outside(place: Place):
    """Nobody's method."""


class Wrong(Good):
    @property
    def tools(self):
        return [self.go, self.blocks, self.flat, self.asks_session, self.two, outside]

    def blocks(self, place: Place):
        """Blocks."""

    async def flat(self, name: str, size: int):
        """Flat."""

    async def asks_session(self, session):
        """Asks for what it has."""

    async def two(self, place: Place, other: Place):
        """Two models."""


class Twice(Good):
    @property
    def tools(self):
        return [self.go, self.go]


class ByCaller(Good):
    @property
    def tools(self):
        return [self.go] if self.session.caller.startswith("Ada") else []


class Plain(Brain):
    pass


class Unmade(Good):
    def __init__(self):
        raise ValueError("no menu of today")


def not_a_brain():
    return "brain"


A_NAME = "no callable"


def found(configure, name):
    configure(reasoning=Reasoning(brain=f"{__name__}.{name}"))
    return [(message.id, message.msg) for message in brain(None)]


@pytest.mark.parametrize("name", ["Good", "Plain"])
def test_a_good_brain_has_nothing_to_mend(configure, name):
    assert found(configure, name) == []
    refuse_to_start()


def test_each_tool_that_cannot_be_one_is_named_with_the_mend(configure):
    told = found(configure, "Wrong")
    assert {code for code, _ in told} == {"vocero.E011"}
    assert [message for _, message in told] == [
        "Wrong.blocks is not async: write async def blocks.",
        "Wrong.flat takes name, size: gather them as fields of one pydantic model, and take that alone.",
        "Wrong.asks_session asks for session: leave it out and use self.session.",
        "Wrong.two takes place, other: gather them as fields of one pydantic model, and take that alone.",
        "outside is not a bound method: make it a method and list self.outside.",
    ]


def test_one_name_for_two_tools_is_told(configure):
    assert found(configure, "Twice") == [
        ("vocero.E011", "go is declared twice: give one of them another name.")
    ]


def test_tools_that_depend_on_the_caller_are_looked_at_later(configure):
    ((code, message),) = found(configure, "ByCaller")
    assert code == "vocero.W030"
    assert "ByCaller" in message
    refuse_to_start()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("not_a_brain", "makes a str"),
        ("A_NAME", "cannot be called"),
        ("missing", "cannot be imported"),
        ("Unmade", "S2S_BRAIN makes no brain.*ValueError: no menu of today"),
    ],
)
def test_what_makes_no_brain_is_told(configure, name, words):
    ((code, message),) = found(configure, name)
    assert code == "vocero.E010"
    assert re.search(words, message)
    with pytest.raises(ImproperlyConfigured, match=words):
        refuse_to_start()


def test_code_that_is_not_found_is_told_with_where_it_is_looked_for(configure):
    configure(reasoning=Reasoning(brain="nowhere.brains.Good"))
    with pytest.raises(ImproperlyConfigured, match=r"No module named 'nowhere'(.|\n)*beside manage.py"):
        refuse_to_start()


def test_a_server_does_not_start_with_a_tool_that_cannot_be_one(configure):
    configure(reasoning=Reasoning(brain=f"{__name__}.Wrong"))
    with pytest.raises(ImproperlyConfigured, match="write async def blocks"):
        refuse_to_start()


def test_without_a_brain_there_is_nothing_to_check(configure):
    configure(reasoning=Reasoning())
    assert brain(None) == []


def test_a_brain_that_thinks_for_a_speech_service_needs_a_key_for_it(configure):
    thinks = Reasoning(brain=f"{__name__}.Good", as_llm=True)
    configure(reasoning=thinks)
    assert [message.id for message in brain(None)] == ["vocero.W031"]
    refuse_to_start()
    configure(reasoning=replace(thinks, service_keys=("key",)))
    assert brain(None) == []


def test_a_tool_that_waits_for_a_tap_and_that_nothing_has_is_named(configure):
    configure(reasoning=Reasoning(brain=f"{__name__}.Good"), confirm_tools=("go", "stey", "get_report"))
    assert [(one.id, one.msg.partition(": ")[2]) for one in brain(None)] == [
        ("vocero.W006", "get_report, stey.")
    ]
    configure(mcp_url="https://portal.example/mcp")
    assert [one.msg.partition(": ")[2] for one in brain(None)] == ["stey."]
    configure(reasoning=Reasoning(brain=f"{__name__}.Plain"))
    assert [one.msg.partition(": ")[2] for one in brain(None)] == ["go, stey."]
    assert "vocero.W006" not in {one.id for one in configuration(None)}
