"""A session at the speech service is lost, expires, or is replaced in time: the call goes on in the next."""

import json

import pytest

from conversations.core.records import UpstreamClosed, UpstreamOpened
from conversations.realtime import upstream
from conversations.realtime.dialects import ALL
from conversations.realtime.waiting import AUDIO_LIMIT, FRAME_COST, Waiting
from conversations.tests import speech_events as ga
from conversations.tests.live_call import (
    ANSWER,
    OXYGEN,
    PICKS,
    QUESTION,
    LiveCall,
    SlowTool,
    assert_nothing_leaked,
    oxygen_source,
)
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Says
from conversations.tests.virtual_time import in_virtual_time, seconds_pass

LIFE = 3_000.0
EXPIRED = {"type": "error", "error": {"type": "invalid_request_error", "code": "session_expired"}}


def texts_sent(line):
    """What this session was told, as messages."""
    items = [event["item"] for event in line.sent_of("conversation.item.create")]
    return [item["content"][0]["text"] for item in items if item["type"] == "message"]


def ended_upstreams(call):
    return [record.reason for record in call.records if isinstance(record, UpstreamClosed)]


@in_virtual_time
async def test_a_tool_that_runs_through_a_loss_is_answered_in_the_next_session_case_118():
    slow = SlowTool()
    service = MemoryService(PICKS, Says(ANSWER))
    async with LiveCall(service, slow.source) as call:
        line = await slow.asked_by(call)
        line.say(EXPIRED)
        await call.shown("vocero.speech.restored")
        renewed = await service.line(2)
        assert texts_sent(renewed) == [QUESTION]
        assert renewed.sent_of("response.create") == []
        slow.finish.set()
        await call.shown("vocero.tool.completed")
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert len(renewed.sent_of("response.create")) == 1
        _, result = texts_sent(renewed)
        assert result.startswith("[Reference data from tool get_metric_history.")
        assert OXYGEN["oxygen"] in result
        assert [event["type"] for event in renewed.sent if "function_call_output" in json.dumps(event)] == []
        assert renewed.sent[0]["session"] == line.sent[0]["session"]
        assert_nothing_leaked(call)
        assert call.shown_of("error") == []
    assert slow.source.cancelled == []
    assert len(call.opened_calls()) == 1
    assert [record.status for record in call.closed_calls()] == ["completed"]
    assert [(turn.outcome, turn.heard_text) for turn in call.closed_turns()] == [("done", ANSWER)]
    assert ended_upstreams(call)[0] == "lost: session_expired"


@in_virtual_time
async def test_a_result_that_comes_between_two_sessions_is_not_lost_case_118():
    slow = SlowTool()
    service = MemoryService(PICKS, Says(ANSWER))
    async with LiveCall(service, slow.source) as call:
        line = await slow.asked_by(call)
        service.refusals = 2
        line.drop()
        await call.shown("vocero.speech.lost")
        slow.finish.set()
        await call.shown("vocero.tool.completed")
        await call.shown("vocero.speech.restored")
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert len((await service.line(2)).sent_of("response.create")) == 1


@in_virtual_time
async def test_a_stop_is_heeded_while_the_service_is_lost():
    slow = SlowTool()
    service = MemoryService(PICKS)
    async with LiveCall(service, slow.source) as call:
        line = await slow.asked_by(call)
        service.greets = False
        line.drop()
        await call.shown("vocero.speech.lost")
        call.send("response.cancel")
        await call.shown("vocero.tool.failed")
        await line.quiet()
        assert slow.source.cancelled == ["get_metric_history"]
    assert [turn.outcome for turn in call.closed_turns()] == ["cancelled"]


@in_virtual_time
async def test_a_caller_cut_off_in_a_sentence_is_told_so_case_118():
    async with LiveCall(MemoryService()) as call:
        line = await call.ready()
        call.interrupts(line)
        await call.shown("input_audio_buffer.speech_started")
        line.say(EXPIRED)
        assert (await call.shown("error"))["error"]["code"] == "speech_lost"
        await call.shown("vocero.speech.restored")
        assert len(call.shown_of("error")) == 1


@in_virtual_time
async def test_a_service_that_stays_away_leaves_a_row_that_says_why():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        service.refusals = 99
        line.drop()
        assert (await call.running).code == 4502
    assert ended_upstreams(call) == ["lost: gone", "unreachable: refused"]
    opened = [record.upstream_id for record in call.records if isinstance(record, UpstreamOpened)]
    closed = [record.upstream_id for record in call.records if isinstance(record, UpstreamClosed)]
    assert sorted(opened) == sorted(closed)


# ---- before the time limit


@in_virtual_time
async def test_a_session_is_replaced_in_silence_before_its_time_limit_case_118():
    service = MemoryService(Says(ANSWER), Says("You asked about oxygen."))
    async with LiveCall(service, oxygen_source(), speech_session_max=LIFE) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        await seconds_pass(LIFE - 10)
        assert len(service.lines) == 1
        await seconds_pass(15)
        renewed = await service.line(2)
        await renewed.quiet()
        assert line.closed.is_set()
        assert texts_sent(renewed) == [QUESTION, ANSWER]
        assert renewed.sent[0]["session"] == line.sent[0]["session"]
        call.types("What did I ask?")
        await call.shown("response.done")
        assert call.text().endswith("You asked about oxygen.")
        for told in ("vocero.speech.lost", "vocero.speech.restored", "error"):
            assert call.shown_of(told) == []
        assert len(call.shown_of("session.created")) == 1
    assert ended_upstreams(call) == ["rotated", "closed"]


@in_virtual_time
async def test_a_replacement_waits_for_a_quiet_moment():
    slow = SlowTool()
    service = MemoryService(PICKS, Says(ANSWER))
    async with LiveCall(service, slow.source, speech_session_max=LIFE) as call:
        await call.ready()
        await seconds_pass(LIFE - 5)
        call.types(QUESTION)
        await slow.started.wait()
        await seconds_pass(20)
        assert len(service.lines) == 1
        slow.finish.set()
        await call.shown("vocero.tool.completed")
        await call.shown("response.done")
        await seconds_pass(5)
        assert len(service.lines) == 2
        assert [turn.outcome for turn in call.closed_turns()] == ["done"]


@in_virtual_time
async def test_a_replacement_waits_no_longer_than_it_can_and_takes_the_tool_along_case_118():
    slow = SlowTool()
    service = MemoryService(PICKS, Says(ANSWER))
    async with LiveCall(service, slow.source, speech_session_max=LIFE, tool_timeout=600.0) as call:
        await call.ready()
        await seconds_pass(LIFE - 5)
        call.types(QUESTION)
        await slow.started.wait()
        await seconds_pass(upstream.ROTATION_PATIENCE + 10)
        renewed = await service.line(2)
        await renewed.quiet()
        assert texts_sent(renewed) == [QUESTION]
        slow.finish.set()
        await call.shown("vocero.tool.completed")
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert len(renewed.sent_of("response.create")) == 1
    assert [record.status for record in call.closed_calls()] == ["completed"]


@in_virtual_time
async def test_a_successor_that_is_open_waits_for_quiet_too():
    service = MemoryService(Says(ANSWER))
    async with LiveCall(service, speech_session_max=LIFE) as call:
        line = await call.ready()
        service.greets = False
        await seconds_pass(LIFE + 1)
        successor = await service.line(2)
        call.speaks(line, QUESTION)
        successor.say({"type": "session.created", "session": {"id": "s"}})
        await seconds_pass(15)
        assert not line.closed.is_set()
        call.answers(line, Says(ANSWER))
        await call.shown("response.done")
        await seconds_pass(5)
        assert line.closed.is_set()
        assert not successor.closed.is_set()
        assert call.shown_of("error") == []


@in_virtual_time
async def test_a_service_that_takes_no_second_session_keeps_the_first_as_long_as_it_lasts():
    service = MemoryService(Says(ANSWER))
    async with LiveCall(service, speech_session_max=LIFE) as call:
        line = await call.ready()
        service.refusals = 10**6
        await seconds_pass(LIFE + 600)
        call.types(QUESTION)
        await call.shown("response.done")
        assert not line.closed.is_set()
        service.refusals = 0
        line.say(EXPIRED)
        await call.shown("vocero.speech.restored")


@in_virtual_time
async def test_a_call_that_ends_while_a_successor_is_open_closes_both():
    service = MemoryService()
    async with LiveCall(service, speech_session_max=LIFE) as call:
        line = await call.ready()
        call.interrupts(line)
        await line.quiet()
        await seconds_pass(LIFE + upstream.ROTATION_PATIENCE - 1)
        service.greets = False
        await seconds_pass(2)
        await service.line(2)
    assert all(one.closed.is_set() for one in service.lines)


# ---- what the caller says meanwhile


def audio(number, size=100_000):
    return json.dumps({"type": "input_audio_buffer.append", "audio": f"{number:0{size}}"})


def test_of_audio_that_waits_the_newest_is_kept_and_everything_else_in_order():
    waiting = Waiting()
    assert waiting.put("first")
    for number in range(30):
        assert waiting.put(audio(number))
    assert waiting.put("last")
    frames = waiting.take()
    assert (frames[0], frames[-1]) == ("first", "last")
    assert frames[1:-1] == [audio(number) for number in range(20, 30)]
    assert waiting.take() == []


def test_what_waits_is_bounded_and_starts_anew_once_it_is_taken():
    waiting = Waiting()
    for _ in range(2):
        assert all(waiting.put("x" * 100_000) for _ in range(10))
        assert not waiting.put("x" * 100_000)
        assert waiting.put(audio(1))
        waiting.take()
    assert AUDIO_LIMIT > 10 * (100_000 + FRAME_COST)


@in_virtual_time
async def test_what_the_caller_says_while_the_service_is_lost_is_heard_in_the_next_session():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        line.drop()
        await call.shown("vocero.speech.lost")
        call.send("input_audio_buffer.append", audio=ga.sound(20))
        renewed = await service.line(2)
        assert (await renewed.asked("input_audio_buffer.append"))["audio"] == ga.sound(20)


@pytest.mark.parametrize("begun", [True, False])
@in_virtual_time
async def test_half_an_answer_is_not_repeated_by_the_next_session(begun):
    service = MemoryService(Says("It is seven point four.", ends=False), Says(ANSWER))
    async with LiveCall(service) as call:
        line = await call.ready()
        if not begun:
            service.replies.popleft()
            service.replies.appendleft(None)
        call.types(QUESTION)
        await (call.shown("response.output_audio.delta") if begun else line.asked("response.create"))
        line.drop()
        await call.shown("vocero.speech.restored")
        renewed = await service.line(2)
        await renewed.quiet()
        assert len(renewed.sent_of("response.create")) == (0 if begun else 1)
        assert [frame["error"]["code"] for frame in call.shown_of("error")] == ["speech_lost"] * begun


@pytest.mark.every_dialect
@in_virtual_time
async def test_a_service_that_is_known_to_live_shorter_is_replaced_in_time_too(speech_dialect):
    service = MemoryService()
    lives = ALL[speech_dialect].session_seconds or 2 * LIFE + upstream.MARGIN
    async with LiveCall(service, speech_session_max=2 * LIFE) as call:
        await call.ready()
        await seconds_pass(lives - upstream.MARGIN - 10)
        assert len(service.lines) == 1
        await seconds_pass(20)
        assert len(service.lines) == 2
