"""Browsers that come, go and come back as another kind of client, at the worst moments of a call."""

import asyncio

import pytest

from conversations.realtime import allowed, endings
from conversations.tests.live_call import ANSWER, PICKS, QUESTION, LiveCall, SlowTool
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Says
from conversations.tests.test_realtime_sheets import asking, feed_source
from conversations.tests.virtual_time import in_virtual_time, seconds_pass

pytestmark = pytest.mark.every_dialect


def opening(call, *replies):
    """The service's session, which is still being opened when this returns."""
    call.service.greets = False
    call.service.replies.extend(replies)
    return call.service.line()


def greet(line):
    line.say({"type": "session.created", "session": {"id": "sess_late", "tools": []}})


@in_virtual_time
async def test_a_question_of_a_browser_that_is_away_when_the_call_begins_is_answered_when_it_is_back():
    async with LiveCall(MemoryService()) as call:
        line = await opening(call, Says(ANSWER))
        call.types(QUESTION)
        call.session.browser_left()
        greet(line)
        await seconds_pass(5)
        assert call.text() == ""
        assert line.sent_of("response.create") == []
        call.session.browser_came(True)
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert call.kinds().count("session.created") == 1
    assert [turn.heard_text for turn in call.closed_turns()] == [ANSWER]


@in_virtual_time
async def test_a_client_without_sheets_that_takes_the_place_before_the_call_begins_is_asked_nothing():
    source = feed_source()
    async with asking(source) as call:
        line = await opening(call)
        call.session.browser_left()
        call.session.browser_came(False)
        greet(line)
        await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        await seconds_pass(1)
        assert ANSWER in call.text()
    assert source.calls == []
    assert [one.code for one in call.closed_calls()] == ["confirmation_declined"]


@in_virtual_time
async def test_a_page_that_takes_the_place_before_the_call_begins_is_shown_its_sheets():
    async with asking(feed_source(), extras=False) as call:
        line = await opening(call)
        call.session.browser_left()
        call.session.browser_came(True)
        greet(line)
        await call.ready()
        call.types(QUESTION)
        assert (await call.shown("ui-command"))["data"]["command"] == "open_confirm"


@in_virtual_time
async def test_a_stock_client_is_not_told_what_vocero_kept_for_a_page():
    slow = SlowTool()
    async with LiveCall(MemoryService(PICKS), slow.source) as call:
        line = await slow.asked_by(call)
        call.session.browser_left()
        call.frames.clear()
        slow.finish.set()
        await seconds_pass(1)
        line.drop()
        await seconds_pass(5)
        call.session.browser_came(False)
        await call.service.lines[-1].quiet()
        assert not [kind for kind in call.kinds() if kind.startswith("vocero.") or kind == "ui-command"]


@in_virtual_time
async def test_a_long_legal_message_while_the_service_is_lost_waits_and_ends_no_call():
    async with LiveCall(MemoryService()) as call:
        line = await call.ready()
        line.drop()
        await call.shown("vocero.speech.lost")
        text = "a" * (allowed.EARLY_FRAME_LIMIT + 1)
        call.types(text, answer=False)
        await call.shown("vocero.speech.restored")
        again = await call.service.lines[-1].asked("conversation.item.create")
        assert again["item"]["content"][0]["text"] == text
        assert not call.session.over


@in_virtual_time
async def test_a_long_message_before_the_call_begins_is_too_large():
    async with LiveCall(MemoryService()) as call:
        await opening(call)
        call.types("a" * allowed.EARLY_FRAME_LIMIT, answer=False)
        assert (await call.running).code == 4413


@in_virtual_time
async def test_a_caller_who_leaves_over_an_open_sheet_leaves_no_row_and_no_line_open_case_102():
    source = feed_source()
    async with asking(source) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("ui-command")
    assert line.closed.is_set()
    assert source.calls == []
    assert [one.code for one in call.closed_calls()] == ["cancelled"]
    assert [turn.outcome for turn in call.closed_turns()] == ["cancelled"]


@in_virtual_time
async def test_what_another_socket_says_of_playback_and_sheets_harms_no_call_that_begins_with_it():
    """A stale page comes back with all that it knows of the call before, in any order."""
    async with LiveCall(MemoryService(Says(ANSWER))) as call:
        await call.ready()
        call.send("vocero.client.played", item_id="item_of_before", played_ms=10**9, content_index=7)
        call.send("conversation.item.truncate", item_id="item_of_before", content_index=0, audio_end_ms=10**9)
        call.send("conversation.item.retrieve", item_id="item_of_before")
        answer = {"t": "confirm_answer", "d": {"nonce": "nonce of before", "answer": "yes"}}
        call.send("client-message", label="rtvi-ai", id="1", data=answer)
        output = {"type": "function_call_output", "call_id": "call_of_before", "output": "{}"}
        call.send("conversation.item.create", item=output)
        call.send("response.cancel")
        call.types(QUESTION)
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert [told["error"]["code"] for told in call.shown_of("error")] == ["too_late", "forbidden_event"]


@in_virtual_time
async def test_a_browser_that_comes_while_its_call_ends_leaves_nothing_running():
    async with LiveCall(MemoryService()) as call:
        line = await call.ready()
        call.session.browser_left()
        call.session.end(endings.LEFT)
        for _ in range(20):
            await asyncio.sleep(0)
            call.session.browser_came(True)
        await line.quiet()
    assert not call.shown_of("vocero.conversation.ready")[1:]
