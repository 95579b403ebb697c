"""A browser whose connection breaks has a while to come back to the call as it is."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from conversations import lifecycle
from conversations.core.records import UpstreamClosed
from conversations.models import Conversation, ToolCall, Turn, UpstreamSession
from conversations.realtime import calls, endings
from conversations.tests import speech_events as ga
from conversations.tests.live_call import ANSWER, PICKS, QUESTION, LiveCall, SlowTool, assert_nothing_leaked
from conversations.tests.memory_speech import MemoryService
from conversations.tests.serving import in_thread
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import change, rows
from conversations.tests.talking import ADMINISTRATOR, MANAGER, Person, eventually
from conversations.tests.virtual_time import in_virtual_time, seconds_pass

pytestmark = pytest.mark.every_dialect

pytest_plugins = ("conversations.tests.deployment",)

REPORTS = Calls.one("list_reports", {"request": {}})
SPOKEN = {"item_id": "item_1", "content_index": 0, "response_id": "resp_1"}


@pytest.fixture
def grace(configure, deployed):
    configure(reconnect_grace=30.0)


@pytest.fixture
def short_grace(configure, deployed):
    configure(reconnect_grace=0.3)


async def slow_tool(talk, speech, aquaportal):
    """The caller asks, and the tool works until it is let go."""
    aquaportal.faults.add("slow", tool="list_reports", seconds=60)
    speech.replies += [REPORTS, Says("There are three.")]
    await talk.types("List the latest reports.")
    await aquaportal.seen(lambda entry: entry.tool == "list_reports" and entry.started)


async def is_held(person):
    """Once the call has noticed that its socket is gone; its row is still owned."""

    async def noticed():
        return not person.vocero.ask(lambda: any(relay._seat for relay in calls_here()))

    await eventually(noticed)


def calls_here():
    return list(calls._here().values())


@pytest.fixture
async def server(transactional_db, deployed):
    async with in_thread() as running:
        yield running


@pytest.fixture
async def person(server):
    person = Person(server.address)
    person.vocero = server
    await person.bootstrap(phone=ADMINISTRATOR)
    return person


# ---- within the grace time


async def test_a_browser_that_comes_back_finds_its_tool_and_hears_the_answer(
    person, speech, aquaportal, grace
):
    async with person.talks() as first:
        await first.ready()
        await slow_tool(first, speech, aquaportal)
        first.reset()
    await is_held(person)
    assert (await person.record())["state"] == "open"
    async with person.talks() as second:
        ready = await second.shown("vocero.conversation.ready")
        assert ready["conversation"]["id"] == person.conversation
        assert (await second.shown("vocero.tool.started"))["name"] == "list_reports"
        aquaportal.faults.release()
        await second.shown("vocero.tool.completed")
        await second.shown("response.output_audio_transcript.done")
        await second.shown("response.done")
        assert second.text() == "There are three."
        assert len(speech.lines) == 1
        assert len(speech.lines[0].sent_of("response.create")) == 2
    (turn,) = await person.turns()
    assert (turn["outcome"], turn["heard_text"]) == ("done", "There are three.")
    assert [call.status for call in await rows(ToolCall)] == ["completed"]


async def test_an_answer_waits_for_the_browser_and_is_not_said_to_nobody(person, speech, aquaportal, grace):
    async with person.talks() as first:
        await first.ready()
        await slow_tool(first, speech, aquaportal)
        first.reset()
    await is_held(person)

    async def completed():
        # The tool may not have begun to wait when it is let go.
        aquaportal.faults.release()
        return await rows(ToolCall, status="completed")

    await eventually(completed)
    line = speech.lines[0]
    assert len(line.sent_of("response.create")) == 1
    async with person.talks() as second:
        assert (await second.shown("vocero.tool.completed"))["name"] == "list_reports"
        await second.shown("response.done")
        assert second.text() == "There are three."


async def test_nobody_else_finds_the_held_call(person, speech, aquaportal, grace):
    other, stranger = Person(person.address), Person(person.address)
    await other.bootstrap(phone=MANAGER)
    async with person.talks() as first:
        await first.ready()
        first.reset()
    await is_held(person)
    for somebody in (other, stranger):
        somebody.conversation = person.conversation
        async with somebody.talks() as talk:
            assert (await talk.error())[1] in (4401, 4404)
    async with person.talks() as talk:
        await talk.ready()
        assert len(speech.lines) == 1


async def test_a_half_open_socket_is_told_and_its_call_goes_on_in_the_new_one(
    person, speech, aquaportal, grace
):
    """A phone that changes its network knows it before the server does."""
    async with person.talks() as first:
        await first.ready()
        await slow_tool(first, speech, aquaportal)
        async with person.talks() as second:
            await second.ready()
            error, code = await first.error()
            assert (error["code"], code) == ("taken_over", 4409)
            aquaportal.faults.release()
            await second.shown("vocero.tool.completed")
            await second.shown("response.done")
            assert second.text() == "There are three."
            assert first.text() == ""


async def test_a_browser_that_is_too_slow_loses_its_socket_and_not_its_call(person, speech, grace):
    async with person.talks() as first:
        await first.ready()
        first.stops_reading()
        line = speech.lines[0]
        hearing = "conversation.item.input_audio_transcription.delta"
        line.say(*[{"type": hearing, "item_id": "item_1", "delta": "x" * 500_000}] * 40)
        await is_held(person)
        async with person.talks() as second:
            await second.ready()
            speech.replies.append(Says("Here I am."))
            await second.types("Are you there?")
            await second.shown("response.done")
            assert second.text() == "Here I am."
            assert len(speech.lines) == 1
        first.reads_again()
        assert await first.closed() == 1011


# ---- how it ends all the same


@pytest.mark.parametrize("code", [1000, 1001])
async def test_a_socket_that_is_closed_on_purpose_ends_its_call_at_once_case_102_case_116(
    person, speech, aquaportal, grace, code
):
    async with person.talks() as talk:
        await talk.ready()
        await slow_tool(talk, speech, aquaportal)
        await talk._connection.close(code)
        await speech.lines[0].gone()
        await aquaportal.seen(lambda entry: entry.tool == "list_reports" and entry.cancelled)
    await eventually(lambda: rows(ToolCall, status="failed", code="cancelled"))
    await eventually(lambda: rows(Conversation, owner="", state="open"))


async def test_the_grace_time_ends_and_everything_with_it_case_104(person, speech, aquaportal, short_grace):
    async with person.talks() as talk:
        await talk.ready()
        await slow_tool(talk, speech, aquaportal)
        talk.reset()
    await speech.lines[0].gone()
    await eventually(lambda: rows(Conversation, owner="", state="open", lease_expires_at=None))
    assert [(call.status, call.code) for call in await rows(ToolCall)] == [("failed", "cancelled")]
    assert [turn.outcome for turn in await rows(Turn)] == ["cancelled"]
    assert [session.close_reason for session in await rows(UpstreamSession)] == ["closed"]

    async def gone():
        return person.vocero.ask(calls_here) == []

    await eventually(gone)
    async with person.talks() as again:
        await again.ready()
        assert len(speech.lines) == 2


@pytest.mark.parametrize("reason", ["cleanup", "operator", "expired"])
async def test_a_held_call_ends_when_its_conversation_does(person, speech, grace, quick_heartbeat, reason):
    async with person.talks() as talk:
        await talk.ready()
        talk.reset()
    await is_held(person)
    if reason == "cleanup":
        await person.cleans_up()
    elif reason == "operator":
        await database_sync_to_async(lifecycle.close)(person.conversation, "operator")
    else:
        await change(Conversation, expires_at=timezone.now())
        await database_sync_to_async(lifecycle.sweep)(timezone.now())
    await speech.lines[0].gone()


async def test_a_held_call_keeps_its_lease(person, speech, grace, quick_heartbeat):
    async with person.talks() as talk:
        await talk.ready()
        talk.reset()
    await is_held(person)
    (before,) = await rows(Conversation)
    later = await eventually(lambda: rows(Conversation, lease_expires_at__gt=before.lease_expires_at))
    assert later[0].owner == before.owner != ""


async def test_a_process_that_ends_closes_the_calls_that_it_holds(person, speech, aquaportal, grace):
    async with person.talks() as talk:
        await talk.ready()
        await slow_tool(talk, speech, aquaportal)
        talk.reset()
    await is_held(person)
    stopped = asyncio.run_coroutine_threadsafe(calls.stop(), person.vocero.event_loop)
    await asyncio.wrap_future(stopped)
    assert [(call.status, call.code) for call in await rows(ToolCall)] == [("failed", "cancelled")]
    assert [row.owner for row in await rows(Conversation)] == [""]


# ---- inside the session


@in_virtual_time
async def test_what_was_said_to_nobody_is_not_shown_later_and_not_in_the_record():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        call.speaks(line, QUESTION)
        line.say(ga.created("resp_1"))
        line.say({"type": "response.output_audio_transcript.delta", **SPOKEN, "delta": "Eight."})
        await call.shown("response.output_audio_transcript.delta")
        call.session.browser_left()
        line.say({"type": "response.output_audio_transcript.delta", **SPOKEN, "delta": " Nobody hears this."})
        line.say({"type": "response.output_audio.delta", **SPOKEN, "delta": ga.sound(500)})
        line.say(ga.done("resp_1"))
        await line.quiet()
        call.session.browser_came(True)
        await line.quiet()
        assert "Nobody" not in call.everything()
        assert call.kinds().count("session.created") == 2
        assert call.kinds().count("vocero.conversation.ready") == 2
    assert [turn.heard_text for turn in call.closed_turns()] == ["Eight."]


@in_virtual_time
async def test_a_stock_client_that_comes_back_is_told_of_its_session_and_nothing_of_ours():
    slow = SlowTool()
    service = MemoryService(PICKS, Says(ANSWER))
    async with LiveCall(service, slow.source) as call:
        await slow.asked_by(call)
        call.session.browser_left()
        call.frames.clear()
        call._taken = 0
        call.session.browser_came(False)
        slow.finish.set()
        await call.shown("session.created")
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert not [kind for kind in call.kinds() if kind.startswith("vocero.")]
        assert_nothing_leaked(call)


@in_virtual_time
async def test_what_vocero_told_meanwhile_is_told_after_ready():
    slow = SlowTool()
    service = MemoryService(PICKS)
    async with LiveCall(service, slow.source) as call:
        line = await slow.asked_by(call)
        call.session.browser_left()
        slow.finish.set()
        await seconds_pass(1)
        line.drop()
        await seconds_pass(5)
        call.frames.clear()
        call.session.browser_came(True)
        await line.quiet()
        assert call.kinds() == [
            "session.created",
            "vocero.conversation.ready",
            "vocero.turn.started",
            "vocero.tool.completed",
            "vocero.speech.lost",
            "vocero.speech.restored",
        ]


@in_virtual_time
async def test_a_browser_that_is_away_costs_no_memory_and_no_tasks():
    service = MemoryService()
    async with LiveCall(service) as call:
        line = await call.ready()
        for _ in range(5):
            call.session.browser_left()
            for _ in range(50):
                line.say({"type": "rate_limits.updated", "rate_limits": ["x" * 400_000]})
            await line.quiet()
            call.session.browser_came(True)
        call.session.browser_left()
        await line.quiet()
        assert not call.running.done()
        call.session.end(endings.LEFT)
        await call.running
    assert [r.reason for r in call.records if isinstance(r, UpstreamClosed)] == ["closed"]
