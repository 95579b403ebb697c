"""A brain whose tools cannot be tools: told by `manage.py check`, and in the first turn of one made later."""

from dataclasses import replace

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from pydantic import BaseModel

from conversations.brains import OpenAIBrain
from conversations.brains.gemini import GeminiBrain
from conversations.brains.gemini_interactions import GeminiInteractionsBrain
from conversations.brains.testing import VoiceDriver

pytest_plugins = ("conversations.brains.testing",)


class Plate(BaseModel):
    dish: str


class Tools:
    """`listed` names the tools of the brain under test."""

    listed = "clear"

    def __init__(self):
        super().__init__(client=None, system_instruction="", model="m")

    @property
    def tools(self):
        return [getattr(self, self.listed)]

    def clear(self) -> str:
        """Not async."""

    async def weigh(self, grams: int) -> str:
        """A flat parameter."""

    async def ask(self, session) -> str:
        """The session as a parameter."""

    async def compare(self, one: Plate, other: Plate) -> str:
        """Two models."""


class OnOpenAI(Tools, OpenAIBrain):
    pass


class OnGemini(Tools, GeminiBrain):
    pass


class OnInteractions(Tools, GeminiInteractionsBrain):
    pass


WRONG = [
    ("clear", "Tools.clear is not async: write async def clear."),
    ("weigh", "Tools.weigh takes grams: gather them"),
    ("ask", "Tools.ask asks for session: leave it out and use self.session."),
    ("compare", "Tools.compare takes one, other: gather them"),
]


@pytest.mark.parametrize(("tool", "told"), WRONG)
@pytest.mark.parametrize("kind", [OnOpenAI, OnGemini, OnInteractions])
def test_check_names_what_cannot_be_a_tool_and_the_mend(configure, settings, monkeypatch, kind, tool, told):
    monkeypatch.setattr(Tools, "listed", tool)
    brain = f"{kind.__module__}.{kind.__qualname__}"
    configure(reasoning=replace(settings.VOCERO.reasoning, brain=brain))
    with pytest.raises(SystemCheckError) as refused:
        call_command("check")
    assert told in str(refused.value)


async def test_the_first_turn_of_a_brain_made_later_says_the_same(transactional_db, caplog):
    async with VoiceDriver(OnOpenAI, over="http") as driver:
        turn = await driver.user_says("hello")
    assert (turn.completed, turn.code) == (False, "internal")
    assert turn.text.startswith("Sorry")
    assert "Tools.clear is not async" in caplog.text
