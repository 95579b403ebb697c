"""A model that writes nonsense, through the driver: each call is answered and the turn ends in words."""

import pytest

from conversations.brains import OpenAIBrain
from conversations.brains.testing import Picks, Says, ScriptedModel
from conversations.tests.diary import Diary

pytest_plugins = ("conversations.brains.testing",)

RICE = '{"dish": "rice", "portion": {"size": "small", "eaten": "evening"}}'


class DiaryBrain(Diary, OpenAIBrain):
    def __init__(self):
        super().__init__(client=None, system_instruction="You keep a diary.", model="none")


@pytest.fixture
def voice_brain():
    return DiaryBrain


@pytest.fixture(params=["voice", "http"])
def voice_over(request):
    return request.param


@pytest.fixture
def voice_model():
    return ScriptedModel()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{half", "not one valid JSON object"),
        ("[1, 2]", "not one valid JSON object"),
        ('"rice"', "not one valid JSON object"),
        ('{"dish": "rice", "dish": "fish"}', "not one valid JSON object"),
        ('{"dish": NaN}', "not one valid JSON object"),
        ("[" * 100_000, "not one valid JSON object"),
        ('{"dish": 7}', "dish"),
        (f'{{"meal": {RICE}}}', "meal"),
        ("null", "dish"),
    ],
    ids=["half", "list", "text", "twice", "nan", "deep", "type", "wrapped", "null"],
)
async def test_arguments_that_are_nonsense_are_answered_with_what_is_wrong(
    voice_driver, voice_model, arguments, words
):
    voice_model.script(Picks("log_meal", arguments), Picks("log_meal", RICE), Says("Logged."))
    turn = await voice_driver.user_says("I had rice")
    assert (turn.completed, turn.heard) == (True, "Logged.")
    assert turn.codes == ["invalid_arguments"]
    assert words in voice_model.results[0]
    assert len(voice_driver.brain.meals) == 1


@pytest.mark.parametrize("name", ["fly", "", "log meal!", "__init__", "x" * 400])
async def test_a_tool_that_nobody_has_is_answered_and_the_turn_goes_on(voice_driver, voice_model, name):
    voice_model.script(Picks(name, RICE), Says("I cannot."))
    turn = await voice_driver.user_says("fly")
    assert (turn.completed, turn.heard, turn.codes) == (True, "I cannot.", ["unknown_tool"])
    assert "There is no tool of this name." in voice_model.results[0]


async def test_fifty_calls_at_once_run_as_many_as_a_turn_may_and_all_are_answered(voice_driver, voice_model):
    voice_model.script([Picks("fly") for _ in range(50)], Says("Too many."))
    turn = await voice_driver.user_says("fly fifty times")
    assert (turn.completed, turn.heard) == (True, "Too many.")
    assert sorted(turn.codes) == ["call_limit"] * 44 + ["unknown_tool"] * 6
    assert len(voice_model.results) == 50
