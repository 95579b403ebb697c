"""A client that listens for itself: it commits what was said and asks for the answer, back to back."""

import pytest

from conversations.tests import speech_events as ga
from conversations.tests.live_call import ANSWER, PICKS, QUESTION, LiveCall, oxygen_source
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_dialects import BARE
from conversations.tests.speech_events import Says
from conversations.tests.test_realtime_sheets import the_sheet
from conversations.tests.virtual_time import in_virtual_time, seconds_pass

COMMIT, CREATE = "input_audio_buffer.commit", "response.create"
STORY = Says("A long story. It goes on", ends=False)
every_dialect = pytest.mark.every_dialect
# They tell of no commit, so that nobody learns of one before its words.
tells_of_commits = pytest.mark.except_in(*BARE)


def service(*replies, spoken=()):
    scripted = MemoryService(*replies)
    scripted.spoken.extend(spoken)
    return scripted


def push(call):
    call.send(COMMIT)
    call.send(CREATE)


def turns(call):
    return [(turn.outcome, turn.caller_text, turn.heard_text) for turn in call.closed_turns()]


@every_dialect
@in_virtual_time
async def test_the_committed_speech_is_the_question_of_the_one_turn():
    async with LiveCall(service(PICKS, Says(ANSWER), spoken=[QUESTION]), oxygen_source()) as call:
        line = await call.ready()
        push(call)
        await call.shown("response.done")
        await call.shown("response.done")
        assert call.text() == ANSWER
        assert not line.sent_of("response.cancel")
        await seconds_pass(60)
        assert call.shown_of("error") == []
    assert turns(call) == [("done", QUESTION, ANSWER)]


@every_dialect
@in_virtual_time
async def test_it_is_also_where_the_service_tells_of_the_commit_after_its_answer():
    async with LiveCall(service(Says(ANSWER))) as call:
        line = await call.ready()
        push(call)
        await line.asked(CREATE)
        line.say(*ga.committed("spoken-1", QUESTION))
        await call.shown("response.done")
        await seconds_pass(60)
        assert (call.text(), call.shown_of("error")) == (ANSWER, [])
    assert [turn[0] for turn in turns(call)] == ["done"]
    assert call.texts()[-1].caller_text == QUESTION


@every_dialect
@tells_of_commits
@in_virtual_time
async def test_pushed_over_an_answer_it_ends_that_and_is_answered_itself():
    async with LiveCall(service(STORY, Says(ANSWER), spoken=[QUESTION])) as call:
        await call.ready()
        call.types("Tell me a story.")
        await call.shown("response.output_audio.delta")
        push(call)
        await call.shown("response.done")
        await call.shown("response.done")
        assert call.text().endswith(ANSWER)
        await seconds_pass(60)
        assert call.shown_of("error") == []
    assert [turn[:2] for turn in turns(call)] == [("interrupted", "Tell me a story."), ("done", QUESTION)]


@every_dialect
@in_virtual_time
async def test_one_after_the_other_each_has_its_own_words():
    spoken = ["The first?", "The second?"]
    async with LiveCall(service(Says("One."), Says("Two."), spoken=spoken)) as call:
        await call.ready()
        for _ in spoken:
            push(call)
            await call.shown("response.done")
    assert turns(call) == [("done", "The first?", "One."), ("done", "The second?", "Two.")]


@every_dialect
@tells_of_commits
@in_virtual_time
async def test_pushed_with_nothing_said_the_next_words_are_still_those_of_their_own_turn():
    async with LiveCall(service(Says("Nothing."), Says(ANSWER), spoken=["", QUESTION])) as call:
        line = await call.ready()
        push(call)
        await call.shown("response.done")
        call.send(COMMIT)
        await line.asked(COMMIT)
        await line.quiet()
        call.send(CREATE)
        await call.shown("response.done")
    assert turns(call) == [("done", "", "Nothing."), ("done", QUESTION, ANSWER)]


@every_dialect
@in_virtual_time
async def test_a_needless_one_where_the_service_listens_itself_ends_no_answer():
    async with LiveCall(service(STORY, spoken=[""])) as call:
        line = await call.ready()
        call.speaks(line, QUESTION)
        call.answers(line, STORY)
        await call.shown("response.output_audio.delta")
        push(call)
        await line.quiet()
        assert not line.sent_of("response.cancel")
        assert not line.sent_of(CREATE)
        assert turns(call) == []


@in_virtual_time
async def test_words_pushed_over_an_open_sheet_decline_it_and_are_answered():
    confirmed = {"confirm_tools": frozenset({"get_metric_history"})}
    scripted = service(PICKS, Says(ANSWER), spoken=["No, something else."])
    async with LiveCall(scripted, oxygen_source(), **confirmed) as call:
        await the_sheet(call)
        push(call)
        await call.shown("response.output_audio_transcript.done")
        await call.shown("response.done")
        assert call.text() == ANSWER
    assert [turn[:2] for turn in turns(call)] == [("interrupted", QUESTION), ("done", "No, something else.")]
    assert [closed.code for closed in call.closed_calls()] == ["confirmation_declined"]
