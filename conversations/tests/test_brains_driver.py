"""The driver that integrators use, over a voice call and over HTTP, with brains that have no model."""

import asyncio
from dataclasses import replace

import pytest

from conversations.brains import Action, Brain, RTVIType
from conversations.brains.testing import NotTaken, Says, ScriptedModel, VoiceDriver

pytest_plugins = ("conversations.brains.testing",)


class OpenCage(Action):
    number: int


class Farmer(Brain):
    """Speaks, shows, waits and fails, as it is told."""

    def __init__(self):
        self.told = asyncio.Queue()
        self.heard_of = []

    async def respond(self, session, text):
        if text == "fail":
            yield "One moment. "
            raise RuntimeError("the barn burns")
        if text == "wait":
            yield "I am waiting. "
            await self.told.get()
            yield "You tapped."
            return
        if text == "show":
            session.dispatch(OpenCage(number=4))
        yield f"You said {text}. "
        yield "That is all."

    async def on_rtvi(self, session, msg):
        if msg.type is RTVIType.CLIENT_MESSAGE:
            self.heard_of.append(msg.data)
            self.told.put_nowait(msg.data)


class Greeter(Brain):
    """Greets, unless it is to fail."""

    words = "Hello,\n{caller}."

    async def greet(self, session):
        return self.words.format(caller=session.caller)

    async def respond(self, session, text):
        yield "Yes."


@pytest.fixture
def voice_brain():
    return Farmer


@pytest.fixture(params=["voice", "http"])
def voice_over(request):
    return request.param


async def test_a_turn_holds_what_was_said_and_heard(voice_driver):
    turn = await voice_driver.user_says("hello")
    assert (turn.completed, turn.interrupted) == (True, False)
    assert turn.text.strip() == turn.heard == "You said hello. That is all."


async def test_one_brain_hears_all_turns_of_its_conversation(voice_driver):
    first = await voice_driver.user_says("one")
    second = await voice_driver.user_says("one")
    assert second.index > first.index
    assert [said.text for said in voice_driver.brain.session.history][:2] == ["one", first.heard]


async def test_commands_are_collected_once_each(voice_driver):
    await voice_driver.user_says("show")
    assert await voice_driver.collect_ui_commands() == [{"command": "open_cage", "payload": {"number": 4}}]
    assert await voice_driver.collect_ui_commands(min_count=0) == []


async def test_a_brain_that_breaks_did_not_complete_although_it_apologised(voice_driver):
    turn = await voice_driver.user_says("fail")
    assert not turn.completed
    assert "Sorry" in turn.text
    assert "burns" not in turn.text


async def test_a_message_reaches_the_brain_while_its_turn_is_in_flight(voice_driver):
    waiting = asyncio.create_task(voice_driver.user_says("wait"))
    await voice_driver.hears("I am waiting.")
    await voice_driver.send_client_message("tap", {"yes": True})
    turn = await waiting
    assert turn.completed
    assert turn.text.split() == ["I", "am", "waiting.", "You", "tapped."]
    assert voice_driver.brain.heard_of == [{"t": "tap", "d": {"yes": True}}]


async def test_who_barges_in_interrupts_and_is_answered(voice_driver):
    waiting = asyncio.create_task(voice_driver.user_says("wait"))
    turn = await voice_driver.barge_in("stop")
    assert turn.completed
    cut = await waiting
    assert (cut.interrupted, cut.completed) == (True, False)
    assert "tapped" not in cut.text


async def test_a_wait_that_is_in_vain_says_for_what(voice_over, transactional_db):
    async with VoiceDriver(Farmer, over=voice_over, patience=0.5) as driver:
        with pytest.raises(TimeoutError, match="2 ui commands"):
            await driver.collect_ui_commands(min_count=2)
        with pytest.raises(TimeoutError, match="'wait' is not answered"):
            await driver.user_says("wait")


async def test_a_message_that_no_turn_waits_for_is_refused_over_http(transactional_db):
    async with VoiceDriver(Farmer, over="http") as driver:
        with pytest.raises(NotTaken, match="409 no_turn"):
            await driver.send_client_message("tap")


async def test_the_brain_of_the_setting_is_driven_and_knows_its_caller(configure, settings, transactional_db):
    named = f"{Farmer.__module__}.{Farmer.__qualname__}"
    configure(reasoning=replace(settings.VOCERO.reasoning, brain=named))
    async with VoiceDriver(over="http", caller="Ada") as driver:
        await driver.user_says("hello")
        assert isinstance(driver.brain, Farmer)
        assert driver.brain.session.caller == "Ada"
        assert driver.brain.session.id == driver.conversation_id
    assert settings.VOCERO.reasoning.brain == named


async def test_a_scripted_model_needs_a_brain_that_asks_one(transactional_db):
    async with VoiceDriver(Farmer, over="http", model=ScriptedModel(Says("Hello."))) as driver:
        with pytest.raises(NotTaken, match="500"):
            await driver.user_says("hello")


async def test_two_callers_hear_their_own_brains(transactional_db):
    async with VoiceDriver(Farmer, over="http") as one, VoiceDriver(Farmer, over="http") as other:
        both = await asyncio.gather(one.user_says("first"), other.user_says("second"))
        assert [turn.heard.split()[2] for turn in both] == ["first.", "second."]
        assert one.brain is not other.brain


async def test_a_brain_greets_aloud_before_the_caller_says_anything(transactional_db):
    async with VoiceDriver(Greeter, over="voice", caller="Ada") as driver:
        await driver.hears("Hello, Ada.")
        turn = await driver.user_says("Who is there?")
        assert (turn.heard, driver.greeting.strip()) == ("Yes.", "Hello, Ada.")
        said = [one.text for one in driver.brain.session.history]
        assert said == ["Hello, Ada."]


async def test_who_writes_first_is_not_greeted(transactional_db):
    async with VoiceDriver(Greeter, over="http", caller="Ada") as driver:
        turn = await driver.user_says("Who is there?")
        assert (turn.text.strip(), driver.greeting) == ("Yes.", "")


async def test_a_greeting_that_fails_leaves_a_call_that_works(transactional_db, caplog):
    class Rude(Greeter):
        words = "{nobody}"

    async with VoiceDriver(Rude, over="voice") as driver:
        assert (await driver.user_says("Who is there?")).completed
    assert "brain: greeting failed" in caplog.text
