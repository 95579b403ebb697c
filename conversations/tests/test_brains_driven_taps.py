"""What a brain's turn waits for: sheets of Vocero's own, and tools that finish after the caller went on."""

import asyncio

import pytest

from conversations.brains import OpenAIBrain
from conversations.brains.testing import Picks, Says, ScriptedModel, VoiceDriver
from conversations.models import ToolCall, Turn
from conversations.tests.diary import Diary
from conversations.tests.stored import rows
from conversations.tests.talking import eventually

RICE = {"dish": "rice", "portion": {"size": "small", "eaten": "evening"}}


class DiaryBrain(Diary, OpenAIBrain):
    def __init__(self):
        super().__init__(client=None, system_instruction="You keep a diary.", model="none")


@pytest.fixture(params=["voice", "http"])
def over(request):
    return request.param


@pytest.fixture
def model():
    return ScriptedModel(Picks("log_meal", RICE, saying="One moment."), Says("That is that."))


@pytest.fixture
def confirmed(configure):
    configure(confirm_tools=("log_meal",), tool_labels={"en": {"log_meal": "Log a meal"}})


@pytest.fixture
async def driver(transactional_db, over, model):
    async with VoiceDriver(DiaryBrain, over=over, model=model) as one:
        yield one


async def sheet_of(driver):
    [sheet] = await driver.collect_ui_commands()
    assert sheet["command"] == "open_confirm"
    return sheet["payload"]


@pytest.mark.parametrize(("answer", "code", "meals"), [("yes", "", 1), ("no", "confirmation_declined", 0)])
async def test_a_tap_on_the_sheet_decides_and_the_turn_ends_in_words(
    confirmed, driver, model, answer, code, meals
):
    asking = asyncio.create_task(driver.user_says("I had rice"))
    sheet = await sheet_of(driver)
    assert (sheet["label"], sheet["summary"]) == ("Log a meal", [{"label": "Dish", "value": "rice"}])
    await driver.send_client_message("confirm_answer", {"nonce": sheet["nonce"], "answer": answer})
    turn = await asking
    assert turn.completed
    assert turn.heard.split() == ["One", "moment.", "That", "is", "that."]
    assert [tool.code for tool in turn.tools] == [code]
    assert len(driver.brain.meals) == meals
    assert code in model.results[0]


async def test_a_sheet_that_nobody_answers_ends_the_turn_in_words(confirmed, configure, driver, model):
    configure(confirm_timeout=0.05)
    turn = await driver.user_says("I had rice")
    assert turn.completed
    assert turn.heard.endswith("That is that.")
    assert turn.codes == ["confirmation_timeout"]
    assert driver.brain.meals == []
    commands = [command["command"] for command in await driver.collect_ui_commands(min_count=2)]
    assert commands == ["open_confirm", "close_confirm"]


async def test_a_voice_call_leaves_one_row_for_the_turn_and_one_for_its_tool(driver, over):
    await driver.user_says("I had rice")
    [turn] = await rows(Turn, conversation=driver.conversation_id)
    [call] = await rows(ToolCall, conversation=driver.conversation_id)
    assert (turn.origin, turn.outcome) == (over, "done")
    assert (call.turn_id, call.name, call.source, call.status) == (
        turn.pk,
        "log_meal",
        "inprocess",
        "completed",
    )


async def test_a_tool_that_may_finish_runs_on_and_is_remembered_in_the_next_turn(driver, model):
    assert (await driver.user_says("I had rice")).completed
    model.script(Picks("weigh", saying="I am weighing."), Says("Go on."), Says("It weighs 320 grams."))
    weighing = asyncio.create_task(driver.user_says("weigh it"))
    await driver.hears("I am weighing.")
    await driver.brain.weighing.wait()
    assert (await driver.barge_in("wait, another thing")).completed
    assert (await weighing).interrupted
    driver.brain.weighed.set()
    await eventually(lambda: rows(ToolCall, name="weigh", status="completed"))
    assert (await driver.user_says("and?")).completed
    assert any("320 grams" in said.text for said in model.requests[-1].history)
