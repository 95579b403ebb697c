"""No dead air in a live call: one sentence is asked for, and record and log tell of silence."""

import json

import pytest
from structlog.testing import capture_logs

from conversations.core.policy import Limits
from conversations.realtime import consumers
from conversations.realtime.words import FOR_CALLER, SPOKEN
from conversations.tests.live_call import ANSWER, PICKS, QUESTION, LiveCall, SlowTool, assert_nothing_leaked
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_dialects import PIPELINES
from conversations.tests.speech_events import Fails, Says
from conversations.tests.virtual_time import in_virtual_time, seconds_pass

pytestmark = pytest.mark.every_dialect

LIMITS = Limits(slow_tool=4.0)
WORDS = SPOKEN["en"]


def orders(line):
    """What the service was told to say word by word."""
    asked = [event["response"] for event in line.sent_of("response.create")]
    return [one for one in asked if one.get("instructions", "").startswith("Say exactly")]


@pytest.mark.except_in(*PIPELINES, because="these services do not answer beside a call")
@in_virtual_time
async def test_a_slow_tool_gets_one_spoken_line_and_then_its_answer():
    slow = SlowTool()
    service = MemoryService(PICKS, Says("One moment."), Says(ANSWER))
    async with LiveCall(service, slow.source, limits=LIMITS, spoken=WORDS) as call:
        line = await slow.asked_by(call)
        await seconds_pass(20)
        assert call.text() == "One moment."
        slow.finish.set()
        await call.shown("vocero.tool.completed")
        await line.quiet()
        assert call.text() == "One moment." + ANSWER
        (order,) = orders(line)
        assert order["tool_choice"] == "none"
        assert order["input"] == []
        assert '"One moment."' in order["instructions"]
        assert call.shown_of("vocero.tool.progress") == []
        assert_nothing_leaked(call)
    assert [turn.outcome for turn in call.closed_turns()] == ["done"]


@in_virtual_time
async def test_a_silent_service_is_measured_logged_and_apologised_for():
    service = MemoryService(None, Says(WORDS["no_answer"]))
    with capture_logs() as logs:
        async with LiveCall(service, spoken=WORDS) as call:
            line = await call.ready()
            call.types(QUESTION)
            error = (await call.shown("error"))["error"]
            await call.shown("response.done")
            assert error["message"] == FOR_CALLER["no_answer"]
            assert call.text() == WORDS["no_answer"]
            assert len(orders(line)) == 1
    (turn,) = call.closed_turns()
    assert (turn.outcome, turn.code) == ("failed", "no_answer")
    assert 20_000 <= turn.silent_ms < 20_100
    (told,) = [entry for entry in logs if entry["event"] == "turn.silent"]
    assert (told["silent_ms"], told["ref"]) == (turn.silent_ms, turn.ref)
    assert QUESTION not in json.dumps(logs)


@in_virtual_time
async def test_a_failed_answer_is_told_with_its_code_and_said_once():
    service = MemoryService(Fails("rate_limit_exceeded"), Says(WORDS["response_failed"]))
    async with LiveCall(service, spoken=WORDS) as call:
        line = await call.ready()
        call.types(QUESTION)
        assert (await call.shown("error"))["error"]["code"] == "response_failed"
        await seconds_pass(60)
        assert call.text() == WORDS["response_failed"]
        assert len(call.shown_of("error")) == 1
    code = line.voice.failure("rate_limit_exceeded")
    assert [(turn.outcome, turn.code) for turn in call.closed_turns()] == [("failed", code)]


def test_every_language_has_every_sentence():
    assert {frozenset(sentences) for sentences in SPOKEN.values()} == {frozenset(WORDS)}
    assert set(WORDS) <= set(FOR_CALLER)


def test_the_language_is_the_one_that_the_client_likes_best():
    assert consumers._language("es-ES,es;q=0.9,en;q=0.8") == "es"
    assert consumers._language("en;q=0.5, fr") == "fr"
    assert consumers._language("") == consumers._language("nonsense;;;") == ""
    assert consumers._language("es," * 100_000) in ("es", "")
