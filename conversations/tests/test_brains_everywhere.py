"""One brain with its tools over all three adapters, by voice and over HTTP: moved by its base class alone."""

import asyncio
import json

import pytest

from conversations.brains.testing import VoiceDriver
from conversations.tests.diary import SECRET_WORDS, Diary, Time
from conversations.tests.fake_models import calls, says
from conversations.tests.providers import KINDS, provider_of

RICE = {"dish": "rice", "portion": {"size": "small", "eaten": "evening"}}
TALK = "Let us talk about food."


@pytest.fixture(params=KINDS)
async def provider(request):
    async with provider_of(request.param) as one:
        yield one


@pytest.fixture(params=["voice", "http"])
def over(request):
    return request.param


@pytest.fixture
def brain(provider):
    """The diary on that adapter."""
    return provider.brain(type("DiaryBrain", (Diary, provider.adapter), {}))


@pytest.fixture
async def driver(transactional_db, brain, over):
    async with VoiceDriver(brain, over=over) as one:
        yield one


def results(provider):
    """What the model read of its tools, in the request that came last."""
    return [str(output) for _, output in provider.fake.last.results]


async def test_it_shows_logs_and_counts_in_one_conversation_case_071(driver, provider, brain):
    answers = [calls("show", RICE), says("Here ", "it is."), calls("log_meal", RICE), says("Logged.")]
    provider.fake.script(*answers, calls("meals_today"), says("One."))
    shown = await driver.user_says("show me the rice")
    assert shown.completed
    assert shown.text.strip() == shown.heard == "Here it is."
    assert await driver.collect_ui_commands() == [{"command": "show_plate", "payload": {"dish": "rice"}}]
    assert "shown" in results(provider)[0]
    assert (await driver.user_says("log it")).completed
    # A Literal and an Enum in a nested model.
    assert (brain.meals[0].portion.size, brain.meals[0].portion.eaten) == ("small", Time.EVENING)
    assert (await driver.user_says("what did I eat")).heard == "One."
    assert "rice" in results(provider)[0]
    assert provider.fake.last.tools["meals_today"] is None
    assert provider.fake.refused == []


async def test_what_comes_before_a_tool_is_heard_while_it_waits_and_is_one_turn(driver, provider):
    provider.fake.script((says("One moment."), calls("clear_diary")), says("It is empty."))
    asking = asyncio.create_task(driver.user_says("clear it"))
    await driver.hears("One moment.")
    [sheet] = await driver.collect_ui_commands()
    assert driver.in_flight is not None
    await driver.send_client_message("clear_answer", {"nonce": sheet["payload"]["nonce"], "answer": "yes"})
    turn = await asking
    assert turn.completed
    assert turn.heard.split() == ["One", "moment.", "It", "is", "empty."]


@pytest.mark.parametrize(("answer", "told"), [("yes", "cleared"), ("no", "declined")])
async def test_a_tap_decides_and_the_turn_ends_in_words(driver, provider, answer, told):
    provider.fake.script(calls("clear_diary"), says("All right."))
    asking = asyncio.create_task(driver.user_says("clear it"))
    [sheet] = await driver.collect_ui_commands()
    await driver.send_client_message("clear_answer", {"nonce": "another", "answer": "yes"})
    await driver.send_client_message("clear_answer", {"nonce": sheet["payload"]["nonce"], "answer": answer})
    turn = await asking
    assert turn.completed
    assert turn.heard == "All right."
    assert told in results(provider)[0]


async def test_a_sheet_that_nobody_answers_ends_the_turn_in_words(driver, provider, brain):
    brain.tap_seconds = 0.05
    provider.fake.script(calls("clear_diary"), says("Nothing was done."))
    turn = await driver.user_says("clear it")
    assert turn.completed
    assert turn.heard == "Nothing was done."
    assert "nobody answered" in results(provider)[0]


async def test_a_tool_that_breaks_ends_the_turn_in_words_and_tells_nobody_why(driver, provider):
    provider.fake.script(calls("burn"), says("That did not work."))
    turn = await driver.user_says("burn it")
    assert turn.completed
    assert (turn.heard, turn.codes) == ("That did not work.", ["internal"])
    assert SECRET_WORDS not in json.dumps(provider.fake.last.body)


async def test_a_model_that_never_stops_picking_ends_in_words_case_142(driver, provider, brain):
    dishes = [calls("log_meal", {**RICE, "dish": f"dish {number}"}) for number in range(12)]
    provider.fake.script(*dishes)
    turn = await driver.user_says("log everything")
    assert (turn.completed, turn.code) == (False, "call_limit")
    assert "Sorry" in turn.text
    assert len(brain.meals) == 6
    assert len(provider.fake.asked) == 7
    assert provider.fake.last.choice.lower() == "none"


async def test_the_brain_is_the_same_object_in_the_live_session_across_hops(driver, provider, brain):
    shows = [calls("show", {**RICE, "dish": dish}) for dish in ("rice", "beans", "fish")]
    provider.fake.script(*shows, says("Three dishes."))
    turn = await driver.user_says("show me three")
    assert turn.completed
    assert set(brain.ran_in) == {(id(brain), id(brain.session))}
    shown = await driver.collect_ui_commands(min_count=3)
    assert [command["payload"]["dish"] for command in shown] == ["rice", "beans", "fish"]


async def test_speaking_over_a_tool_cancels_it_and_the_next_turn_is_answered(driver, provider):
    provider.fake.script((says("Wait."), calls("clear_diary")), says(TALK))
    asking = asyncio.create_task(driver.user_says("clear it"))
    await driver.collect_ui_commands()
    turn = await driver.barge_in("no, leave it")
    assert turn.completed
    assert turn.heard == TALK
    cut = await asking
    assert cut.interrupted
    assert cut.codes in ([], ["cancelled"])
