"""What a live call leaves in the database, also when it ends in the middle of something."""

import threading

from conversations import rows
from conversations.core.records import CallClosed, TurnClosed
from conversations.models import Conversation, ToolCall, Turn
from conversations.tests import stored
from conversations.tests.speech_events import Calls, Says
from conversations.tests.talking import MANAGER, eventually

pytest_plugins = ("conversations.tests.deployment",)

BRIEFING = Calls.one("get_my_briefing", {})


async def test_a_turn_that_was_running_when_the_client_left_is_closed_in_the_record(
    vocero, ada, speech, aquaportal
):
    aquaportal.faults.add("slow", tool="get_my_briefing", seconds=60)
    speech.replies.append(BRIEFING)
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("Give me my briefing.")
        await aquaportal.seen(lambda entry: entry.tool == "get_my_briefing" and entry.started)
        talk.reset()
        await aquaportal.seen(lambda entry: entry.tool == "get_my_briefing" and entry.cancelled)
    await eventually(lambda: stored.rows(ToolCall, status="failed", code="cancelled"))
    await eventually(lambda: stored.rows(Turn, outcome="cancelled"))


async def test_a_cut_answer_is_kept_as_far_as_it_was_heard(vocero, ada, speech):
    words = "one two three four five six seven eight nine ten"
    speech.replies.append(Says(words, pieces=5, audio_ms=4000, ends=False))
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("Count to ten.")
        for _ in range(5):
            delta = await talk.shown("response.output_audio.delta")
        line = await speech.line()
        line.say({"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "s1"})
        await line.asked("response.cancel")
        await talk.send(
            "conversation.item.truncate", item_id=delta["item_id"], content_index=0, audio_end_ms=9999
        )
        await talk.send("vocero.client.played", item_id=delta["item_id"], content_index=0, played_ms=2000)
        assert (await line.asked("conversation.item.truncate"))["audio_end_ms"] <= 4000
    (turn,) = await eventually(
        lambda: stored.rows(Turn, outcome="interrupted", heard_text="one two three four five")
    )
    assert turn.caller_text == "Count to ten."


async def test_a_slow_database_loses_nothing_when_the_client_leaves_at_once_case_121(
    vocero, ada, speech, monkeypatch
):
    held = threading.Event()

    def slowly(write):
        def written(record):
            held.wait(0.3)
            write(record)

        return written

    for kind in (CallClosed, TurnClosed):
        monkeypatch.setitem(rows.WRITERS, kind, slowly(rows.WRITERS[kind]))
    speech.replies += [BRIEFING, Says("Here it is.", ends=False)]
    async with ada.talks() as talk:
        await talk.ready()
        await talk.types("Give me my briefing.")
        await talk.shown("vocero.tool.completed")
        talk.reset()
    (call,) = await eventually(lambda: stored.rows(ToolCall, status="completed"))
    assert call.duration_ms is not None
    await eventually(lambda: stored.rows(Turn, outcome="cancelled"))


async def test_another_caller_in_the_same_browser_ends_the_call_before_case_183(vocero, ada, speech):
    first = ada.conversation
    async with ada.talks() as talk:
        await talk.ready()
        await ada.bootstrap(phone=MANAGER)
        error, code = await talk.error()
    assert (error["code"], code) == ("superseded", 4410)
    assert ada.conversation != first
    async with ada.talks() as talk:
        ready = await talk.shown("vocero.conversation.ready")
    assert ready["conversation"]["caller"]["name"] != ""
    closed = await stored.rows(Conversation, state="closed")
    assert [str(conversation.pk) for conversation in closed] == [first]
