"""The speech service over a real socket, without models: the order of events, turns, and what is refused."""

import asyncio
import json

from demo.tests.speech_caller import (
    DECLARED,
    called,
    calling,
    failed,
    kinds,
    labelled,
    quiet,
    refusal,
    said,
    sound_of,
    tone,
)

SPOKEN_TURN = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.added",
    "conversation.item.done",
    "response.created",
    "conversation.item.input_audio_transcription.delta",
    "conversation.item.input_audio_transcription.completed",
]
SPOKEN_ANSWER = [
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    "response.output_audio_transcript.delta",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
]
FUNCTION_CALL = [
    "response.output_item.added",
    "conversation.item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
]
MANUAL = {"input": {"turn_detection": None, "transcription": {"model": "whisper-1"}}}
LONG = " ".join(f"Sentence number {number} of a long answer." for number in range(60))


def turn():
    return tone(800) + quiet(1000)


async def begin_long_answer(caller):
    """A response that is being spoken and will not end by itself."""
    await caller.send("response.create", response={"instructions": f'Say "{LONG}"'})
    await caller.until("response.output_audio.delta")


async def test_a_spoken_question_without_a_tool_is_answered_in_the_order_of_ga(scripted, recognizer):
    recognizer.text = "Thanks."
    async with calling(scripted) as caller:
        await caller.transcribed()
        await caller.append(turn())
        events = await caller.until("response.done")
        assert kinds(events) == SPOKEN_TURN + SPOKEN_ANSWER
        assert recognizer.heard == 1
        assert len({event["event_id"] for event in events}) == len(events)


async def test_a_spoken_question_with_a_tool_gives_the_call_and_then_the_result_aloud(scripted, recognizer):
    recognizer.text = "What is the oxygen level in cage four?"
    async with calling(scripted) as caller:
        await caller.transcribed(tools=DECLARED)
        await caller.append(turn())
        events = await caller.until("response.done")
        assert kinds(events) == SPOKEN_TURN + FUNCTION_CALL
        assert called(events) == [("get_metric_history", {"request": {"metric": "oxygen", "cage_number": 4}})]
        answer = await caller.output(events, labelled("get_metric_history", {"speech": "It is 8.2."}))
        assert kinds(answer) == ["response.created", *SPOKEN_ANSWER]
        assert said(answer) == "It is 8.2."


async def test_every_done_event_equals_the_deltas_before_it(scripted):
    async with calling(scripted) as caller:
        events = await caller.ask("help")
        deltas = [event["delta"] for event in events if event["type"].endswith("transcript.delta")]
        (done,) = [event for event in events if event["type"].endswith("transcript.done")]
        assert len(deltas) > 3
        assert "".join(deltas) == done["transcript"] == said(events)
        assert len(sound_of(events)) > 48000


async def test_items_stand_in_one_order_that_every_event_agrees_on(scripted):
    async with calling(scripted) as caller:
        await caller.ask("Hello.")
        await caller.type("Thanks.")
        events = await caller.respond()
        (added,) = [event for event in events if event["type"] == "conversation.item.added"]
        (done,) = [event for event in events if event["type"] == "conversation.item.done"]
        assert added["previous_item_id"] == done["previous_item_id"] is not None
        assert added["item"]["status"] == "in_progress"
        assert done["item"]["status"] == "completed"


async def test_text_modality_gives_text_and_no_sound(scripted):
    async with calling(scripted) as caller:
        await caller.update(output_modalities=["text"])
        events = await caller.ask("Hello.")
        assert kinds(events) == [
            "response.created",
            "response.output_item.added",
            "conversation.item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "conversation.item.done",
            "response.output_item.done",
            "response.done",
        ]
        assert said(events).startswith("Hello.")


async def test_speaking_over_an_answer_cancels_it_and_nothing_of_it_follows(unhurried, recognizer):
    recognizer.text = "Stop."
    async with calling(unhurried) as caller:
        await caller.transcribed()
        await begin_long_answer(caller)
        await caller.append(turn())
        events = await caller.until("response.done")
        ended = events[-1]["response"]
        assert ended["status"] == "cancelled"
        assert ended["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        assert ended["output"][0]["status"] == "incomplete"
        started = kinds(events).index("input_audio_buffer.speech_started")
        assert kinds(events)[started:] == ["input_audio_buffer.speech_started", *SPOKEN_ANSWER[5:]]
        answer = await caller.until("response.done")
        assert ended["id"] not in json.dumps(answer)
        assert said(answer) == "Okay."


async def test_nothing_of_a_cancelled_answer_is_made_in_the_background(unhurried):
    async with calling(unhurried) as caller:
        await begin_long_answer(caller)
        await caller.send("response.cancel")
        cancelled = (await caller.until("response.done"))[-1]["response"]["id"]
        await begin_long_answer(caller)
        for _ in range(5):
            assert cancelled not in json.dumps(await caller.until("response.output_audio.delta"))


async def test_sound_runs_no_further_ahead_than_it_may(unhurried):
    clock = asyncio.get_running_loop().time
    async with calling(unhurried) as caller:
        began = clock()
        await begin_long_answer(caller)
        for _ in range(5):
            await caller.until("response.output_audio.delta")
        # Before the sixth piece lies a second of sound, of which 0.2 s may come at once.
        assert clock() - began >= 0.8


async def test_with_interruption_off_an_answer_goes_on_and_no_second_one_begins(unhurried, recognizer):
    recognizer.text = "Hello."
    detection = {"type": "server_vad", "interrupt_response": False}
    async with calling(unhurried) as caller:
        await caller.update(audio={"input": {"turn_detection": detection}})
        await begin_long_answer(caller)
        await caller.append(turn())
        events = await caller.until("error")
        assert events[-1]["error"]["code"] == "conversation_already_has_active_response"
        assert "input_audio_buffer.committed" in kinds(events)
        assert "response.done" not in kinds(events)


async def test_with_answers_off_a_turn_is_committed_and_left_alone(scripted, recognizer):
    recognizer.text = "Hello."
    async with calling(scripted) as caller:
        detection = {"type": "server_vad", "create_response": False}
        transcription = {"model": "whisper-1"}
        await caller.update(audio={"input": {"turn_detection": detection, "transcription": transcription}})
        await caller.append(turn())
        await caller.until("conversation.item.input_audio_transcription.completed")
        await caller.assert_nothing_sent()


async def test_push_to_talk_waits_for_commit_and_create(scripted, recognizer):
    recognizer.text = "Give me my briefing."
    async with calling(scripted) as caller:
        await caller.update(tools=DECLARED, audio=MANUAL)
        await caller.append(turn())
        await caller.assert_nothing_sent()
        await caller.send("input_audio_buffer.commit")
        committed = await caller.until("conversation.item.input_audio_transcription.completed")
        assert kinds(committed) == [kind for kind in SPOKEN_TURN[2:] if kind != "response.created"]
        events = await caller.respond()
        assert called(events) == [("get_my_briefing", {})]


async def test_a_response_that_is_asked_for_at_once_waits_for_what_was_just_said(scripted, recognizer):
    recognizer.text = "List my podcasts."
    async with calling(scripted) as caller:
        await caller.update(tools=DECLARED, audio=MANUAL)
        await caller.append(turn())
        await caller.send("input_audio_buffer.commit")
        assert called(await caller.respond()) == [("list_podcasts", {})]


async def test_a_pause_within_a_sentence_makes_the_service_listen_again(scripted, recognizer):
    recognizer.text = "Hello."
    async with calling(scripted) as caller:
        await caller.transcribed()
        await caller.append(tone(600) + quiet(320) + turn())
        events = await caller.until("response.done")
        assert kinds(events).count("input_audio_buffer.committed") == 1
        assert recognizer.heard >= 1


async def test_no_transcripts_are_sent_where_none_are_wanted_and_the_answer_still_comes(scripted, recognizer):
    recognizer.text = "Thanks."
    async with calling(scripted) as caller:
        await caller.append(turn())
        events = await caller.until("response.done")
        assert not [kind for kind in kinds(events) if "transcription" in kind]
        assert said(events) == "You are welcome."


async def test_speech_without_words_is_answered_by_asking_again(scripted, recognizer):
    recognizer.text = ""
    async with calling(scripted) as caller:
        await caller.transcribed()
        await caller.append(turn())
        events = await caller.until("response.done")
        (completed,) = [event for event in events if event["type"].endswith("transcription.completed")]
        assert completed["transcript"] == ""
        assert said(events) == "Sorry, I did not catch that. Please say it again."


async def test_a_recognizer_that_fails_is_told_and_the_session_goes_on(scripted, recognizer):
    recognizer.text = None
    async with calling(scripted) as caller:
        await caller.transcribed()
        await caller.append(turn())
        events = await caller.until("response.done")
        (event,) = [event for event in events if event["type"].endswith("transcription.failed")]
        assert event["error"]["code"] == "transcription_failed"
        assert said(await caller.ask("Thanks.")) == "You are welcome."


async def test_a_voice_that_fails_ends_the_response_as_failed_and_the_next_one_works(scripted):
    async with calling(scripted) as caller:
        events = await caller.respond(instructions='Say "Fine so far. This is unspeakable."')
        assert events[-1]["response"]["status"] == "failed"
        assert events[-1]["response"]["status_details"]["error"]["code"] == "engine_failed"
        assert said(await caller.ask("Thanks.")) == "You are welcome."


async def test_cancelling_by_id_ends_that_response_only(unhurried):
    async with calling(unhurried) as caller:
        await caller.send("response.create", response={"instructions": f'Say "{LONG}"'})
        created = (await caller.until("response.created"))[-1]["response"]["id"]
        await caller.send("response.cancel", response_id="resp_of_another")
        events = await caller.until("error")
        assert events[-1]["error"]["code"] == "response_cancel_not_active"
        await caller.send("response.cancel", response_id=created)
        ended = (await caller.until("response.done"))[-1]["response"]
        assert (ended["id"], ended["status_details"]["reason"]) == (created, "client_cancelled")


async def test_a_second_response_is_refused_while_one_is_active(unhurried):
    async with calling(unhurried) as caller:
        await begin_long_answer(caller)
        await caller.send("response.create", event_id="second")
        event = (await caller.until("error"))[-1]
        assert event["error"]["code"] == "conversation_already_has_active_response"
        assert event["error"]["event_id"] == "second"


async def test_sound_is_truncated_only_to_what_was_made(scripted):
    async with calling(scripted) as caller:
        item = (await caller.ask("Thanks."))[-1]["response"]["output"][0]
        place = {"item_id": item["id"], "content_index": 0}
        assert (
            await refusal(caller, "conversation.item.truncate", **place, audio_end_ms=60_000)
            == "invalid_value"
        )
        await caller.send("conversation.item.truncate", **place, audio_end_ms=300)
        assert (await caller.next())["audio_end_ms"] == 300
        await caller.send("conversation.item.retrieve", item_id=item["id"])
        kept = (await caller.next())["item"]
        assert kept["content"] == [{"type": "output_audio", "transcript": ""}]


async def test_an_item_can_be_deleted_once(scripted):
    async with calling(scripted) as caller:
        item = (await caller.ask("Thanks."))[-1]["response"]["output"][0]
        await caller.send("conversation.item.delete", item_id=item["id"])
        assert (await caller.next())["type"] == "conversation.item.deleted"
        code = await refusal(caller, "conversation.item.delete", item_id=item["id"])
        assert code == "item_delete_invalid_item_id"


async def test_a_response_out_of_band_leaves_no_item_behind(scripted):
    async with calling(scripted) as caller:
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Thanks."}]}
        events = await caller.respond(conversation="none", input=[message], metadata={"topic": "aside"})
        assert "conversation.item.added" not in kinds(events)
        ended = events[-1]["response"]
        assert (ended["conversation_id"], ended["metadata"]) == (None, {"topic": "aside"})
        item_id = ended["output"][0]["id"]
        code = await refusal(caller, "conversation.item.retrieve", item_id=item_id)
        assert code == "item_retrieve_invalid_item_id"


async def test_a_limit_on_the_answer_makes_it_incomplete(scripted):
    async with calling(scripted) as caller:
        ended = (await caller.ask("help", max_output_tokens=3))[-1]["response"]
        assert (ended["status"], ended["status_details"]["reason"]) == ("incomplete", "max_output_tokens")
        assert len(ended["output"][0]["content"][0]["transcript"].split()) == 3


async def test_a_session_update_changes_what_it_names_and_nothing_else(scripted):
    async with calling(scripted) as caller:
        await caller.update(
            instructions="Be brief.", audio={"input": {"transcription": {"model": "other", "prompt": "cage"}}}
        )
        session = await caller.update(
            unknown=1, audio={"input": {"turn_detection": {"type": "server_vad", "silence_duration_ms": 700}}}
        )
        assert session["instructions"] == "Be brief."
        heard = session["audio"]["input"]
        assert heard["transcription"] == {"model": "whisper-tiny.en", "language": "en", "prompt": "cage"}
        assert heard["turn_detection"]["silence_duration_ms"] == 700
        assert heard["turn_detection"]["prefix_padding_ms"] == 300
        session = await caller.update(audio={"input": {"transcription": None}})
        assert session["audio"]["input"]["transcription"] is None


async def test_sound_goes_out_at_the_rate_that_was_asked_for(scripted):
    async with calling(scripted) as caller:
        lengths = {}
        for rate in (24000, 16000):
            await caller.update(audio={"output": {"format": {"type": "audio/pcm", "rate": rate}}})
            lengths[rate] = len(sound_of(await caller.ask("Thanks.")))
        assert lengths[24000] * 2 == lengths[16000] * 3


async def test_sound_is_heard_at_16_khz(scripted, recognizer):
    recognizer.text = "Thanks."
    async with calling(scripted) as caller:
        await caller.update(audio={"input": {"format": {"type": "audio/pcm", "rate": 16000}}})
        await caller.append(tone(800, 16000) + quiet(1000, 16000))
        events = await caller.until("response.done")
        (stopped,) = [event for event in events if event["type"].endswith("speech_stopped")]
        assert 1200 <= stopped["audio_end_ms"] <= 1500


async def test_a_failed_tool_becomes_a_sentence(scripted):
    async with calling(scripted) as caller:
        await caller.update(tools=DECLARED)
        events = await caller.ask("What is the oxygen level in cage four?")
        answer = await caller.output(events, failed("forbidden", "You do not have access to that"))
        assert said(answer) == "You do not have access to that."
