"""The speech service with its models, without recordings: its own voice asks, and its answer is heard."""

import json
import random
from array import array
from datetime import date

import pytest

from demo.aquaportal.data.farm import CALLERS
from demo.aquaportal.tools import answer
from demo.speech import pcm
from demo.speech.testing import PROMPT, hear, say, write_wav
from demo.tests.speech_caller import DECLARED, called, calling, kinds, labelled, quiet, said, sound_of

pytestmark = pytest.mark.speech

TODAY = date(2026, 8, 5)
ADMINISTRATOR = CALLERS[0]
MARKER_PROMPT = (
    "To use a tool, write exactly this and nothing after it:\n"
    '<<<VOCERO_MCP_CALL:NAME=tool_name,ARGUMENTS={"parameter":"value"}>>>\n'
    "Tools, one JSON object a line:\n"
)
OXYGEN = ("get_metric_history", {"request": {"metric": "oxygen", "cage_number": 4}})
# What is asked, what must be called, and words of the data set that must be heard in the answer.
QUESTIONS = [
    ("List the latest reports.", ("list_reports", {}), "reports"),
    ("What is the oxygen level in cage four?", OXYGEN, "milligrams per liter"),
    ("Give me my briefing.", ("get_my_briefing", {}), "briefing"),
    ("List my podcasts.", ("list_podcasts", {}), "healthy waters"),
    (
        "Read the transcript of the latest episode.",
        ("read_podcast_transcript", {"request": {"latest": True}}),
        "lice under control",
    ),
    (
        "Tell me more about the north center report.",
        ("get_report", {"request": {"center": "north center"}}),
        "which one do you mean",
    ),
]


async def listening(caller, **session):
    transcription = {"model": "whisper-1", "prompt": PROMPT}
    await caller.update(**session, audio={"input": {"transcription": transcription}})


async def ask_aloud(caller, question):
    await caller.append(say(question) + quiet(900))
    return await caller.until("response.done")


@pytest.mark.parametrize(("question", "call", "heard"), QUESTIONS)
async def test_a_question_of_the_demo_is_heard_picked_answered_and_understood(speech, question, call, heard):
    async with calling(speech) as caller:
        await listening(caller, tools=DECLARED)
        events = await ask_aloud(caller, question)
        assert called(events) == [call]
        found = answer(*call, ADMINISTRATOR, TODAY)
        spoken = await caller.output(events, labelled(call[0], found))
        assert said(spoken).startswith(found["speech"])
        assert heard in hear(sound_of(spoken)).lower()


async def test_the_figure_that_is_heard_is_the_one_that_the_tool_returned(speech):
    async with calling(speech) as caller:
        await listening(caller, tools=DECLARED)
        found = answer(*OXYGEN, ADMINISTRATOR, TODAY)
        value = found["series"][0]["latest"]["value"]
        events = await ask_aloud(caller, "What is the oxygen level in cage four?")
        spoken = await caller.output(events, labelled(OXYGEN[0], found))
        assert f"{value}" in hear(sound_of(spoken))


async def test_an_ambiguous_question_is_resolved_by_the_spoken_answer(speech):
    async with calling(speech) as caller:
        await listening(caller, tools=DECLARED)
        events = await ask_aloud(caller, "Tell me more about the north center report.")
        found = answer("get_report", {"request": {"center": "north center"}}, ADMINISTRATOR, TODAY)
        await caller.output(events, labelled("get_report", found))
        events = await ask_aloud(caller, "The weekly one, please.")
        weekly = [row for row in found["result"]["candidates"] if row["kind"] == "weekly"]
        assert called(events) == [("get_report", {"request": {"report_id": weekly[0]["report_id"]}})]


async def test_a_marker_is_written_in_pieces_between_pieces_of_sound(speech):
    lines = [{name: tool[name] for name in ("name", "description", "parameters")} for tool in DECLARED]
    catalog = "\n".join(map(json.dumps, lines))
    async with calling(speech) as caller:
        await listening(caller, instructions=MARKER_PROMPT + catalog)
        events = await ask_aloud(caller, "What is the oxygen level in cage four?")
        assert said(events) == (
            "<<<VOCERO_MCP_CALL:NAME=get_metric_history,"
            'ARGUMENTS={"request":{"metric":"oxygen","cage_number":4}}>>>'
        )
        order = [kind for kind in kinds(events) if kind.endswith(".delta") and "input" not in kind]
        assert order.count("response.output_audio_transcript.delta") > 2
        assert order.count("response.output_audio.delta") > 2
        result = labelled("get_metric_history", {"speech": "It is 8.2 milligrams per liter."})
        assert said(await caller.ask(result)) == "It is 8.2 milligrams per liter."


@pytest.mark.parametrize("kind", ["noise", "hum", "clicks"])
async def test_a_noisy_room_gives_no_events(speech, kind):
    async with calling(speech) as caller:
        await listening(caller, tools=DECLARED)
        await caller.append(NOISES[kind](6000))
        await caller.assert_nothing_sent()


async def test_speech_at_16_khz_is_understood_too(speech):
    async with calling(speech) as caller:
        await caller.update(tools=DECLARED, audio={"input": {"format": {"type": "audio/pcm", "rate": 16000}}})
        await caller.append(say("List my podcasts.", 16000) + quiet(900, 16000))
        assert called(await caller.until("response.done")) == [("list_podcasts", {})]


async def test_a_spoken_stop_over_an_answer_ends_it(speech):
    async with calling(speech) as caller:
        await listening(caller, tools=DECLARED)
        # Everything is asked before anything is read: the speech arrives while the answer is being made.
        await caller.send("response.create", response={"instructions": f'Say "{"This goes on. " * 400}"'})
        await caller.until("response.output_audio.delta")
        await caller.append(say("Stop, please.") + quiet(900))
        events = await caller.until("response.done")
        assert events[-1]["response"]["status_details"]["reason"] == "turn_detected"
        assert said(await caller.until("response.done")) == "Okay."


def test_an_utterance_longer_than_the_model_s_window_is_understood_to_its_end(models):
    request = {"request": {"latest": True, "limit": 10}}
    text = answer("read_podcast_transcript", request, ADMINISTRATOR, TODAY)["speech"]
    sound = say(text)
    assert len(sound) > 30 * 24000 * 2
    heard = hear(sound).lower()
    assert "lice under control" in heard[:80]
    assert "i wish you" in heard[-40:]


def test_silence_is_no_words(models):
    assert hear(quiet(2000)) == ""


def test_the_same_sentence_always_sounds_the_same(models):
    assert say("Cage four.") == say("Cage four.")


def test_a_wav_for_a_browser_holds_the_speech_between_silences(models, tmp_path):
    sound = say("Cage four.")
    written = write_wav(tmp_path / "question.wav", sound, before_ms=500, after_ms=1000).read_bytes()
    assert written[:4] == b"RIFF"
    assert written[44:] == quiet(500) + sound + quiet(1000)


def noise(milliseconds):
    dice = random.Random(0)
    return array("h", (int(dice.gauss(0, 600)) for _ in range(milliseconds * 24))).tobytes()


def hum(milliseconds):
    return pcm.tone(100, milliseconds, 24000)


def clicks(milliseconds):
    click = array("h", [12000, -12000, 6000, -6000]).tobytes()
    return b"".join(click + quiet(150)[len(click) :] for _ in range(milliseconds // 150))


NOISES = {"noise": noise, "hum": hum, "clicks": clicks}
