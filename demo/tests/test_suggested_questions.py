"""What the page suggests to a caller is understood by the demo, whoever is calling."""

import pytest

from conversations.suggestions import QUESTIONS, WITHOUT_TOOLS
from demo.aquaportal.data.farm import CALLERS
from demo.tests.planner_talk import calls_of, conversation, spoken, user


@pytest.mark.parametrize("question", QUESTIONS["en"].values())
def test_a_suggested_question_is_answered_with_a_tool(question):
    for caller in CALLERS:
        items, words = conversation(caller, question)
        assert calls_of(items), (caller, words)
        assert words
        assert "no tool" not in words


@pytest.mark.parametrize("question", WITHOUT_TOOLS["en"])
def test_without_tools_a_suggested_question_is_answered_too(question):
    assert not spoken(user(question), tools=[]).startswith("I heard")
