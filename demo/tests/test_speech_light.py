"""The speech service without models, and the door of either: what it says it is, and whom it lets in."""

import asyncio
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from demo.speech import loading
from demo.speech.engine import EngineFailure
from demo.speech.light import EarconVoice, EspeakVoice, LoudnessEar, light_parts
from demo.speech.loading import load
from demo.speech.responding import DEAF
from demo.speech.server import LARGEST_MESSAGE, Door
from demo.speech.session import Limits
from demo.speech.testing import running
from demo.speech.weights import WeightsMissing, digest, weights
from demo.tests.speech_caller import (
    DECLARED,
    Caller,
    called,
    calling,
    kinds,
    labelled,
    quiet,
    said,
    scripted_engine,
    sound_of,
    tone,
)


@pytest.fixture
def light():
    engine = load(light=True)
    with running(engine) as service:
        yield service
    engine.close()


def asked(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


async def test_speech_moves_the_events_and_is_told_to_be_typed_instead(light):
    async with calling(light) as caller:
        await caller.transcribed(tools=DECLARED)
        await caller.append(tone(800) + quiet(1200))
        events = await caller.until("conversation.item.input_audio_transcription.failed")
        assert kinds(events) == [
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
            "conversation.item.input_audio_transcription.failed",
        ]
        assert events[-1]["error"]["code"] == "stt_unavailable"
        assert "type" in events[-1]["error"]["message"]
        await caller.assert_nothing_sent()


async def test_a_typed_question_uses_the_same_tools_and_is_answered_aloud(light):
    async with calling(light) as caller:
        await caller.update(tools=DECLARED)
        events = await caller.ask("What is the oxygen level in cage four?")
        assert called(events) == [("get_metric_history", {"request": {"metric": "oxygen", "cage_number": 4}})]
        answer = await caller.output(events, labelled("get_metric_history", {"speech": "It is 8.2."}))
        assert said(answer) == "It is 8.2."
        assert len(sound_of(answer)) > 4000


async def test_who_asks_for_an_answer_to_speech_is_told_to_type(light):
    async with calling(light) as caller:
        await caller.update(audio={"input": {"turn_detection": None}})
        await caller.append(tone(500))
        await caller.send("input_audio_buffer.commit")
        assert said(await caller.respond()) == DEAF


def test_it_says_what_it_is_over_http(light):
    about = asked(light.home)
    assert about["service"] == "Vocero demo speech"
    assert about["mode"] == "light"
    assert about["why"] == "asked for"
    assert {"hearing", "voice"} <= set(about)


@pytest.mark.speech
async def test_with_models_it_says_so_over_http_and_in_the_session(speech):
    about = asked(speech.home)
    assert about == {
        "service": "Vocero demo speech",
        "mode": "full",
        "hearing": "Silero VAD and Whisper tiny.en",
        "voice": "hibari heart",
    }
    async with connect(speech.url) as socket:
        created = await Caller(socket).next()
        assert created["session"]["model"] == "vocero-demo-speech"
        assert created["session"]["demo"] == {key: about[key] for key in ("mode", "hearing", "voice")}


def test_missing_packages_or_another_model_give_the_light_parts_with_the_reason(monkeypatch):
    monkeypatch.setattr(loading, "WHISPER", ("no_such_package", "model.bin", "0" * 64))
    engine = load()
    engine.close()
    assert engine.parts.mode == "light"
    assert engine.parts.why == "no_such_package is not installed"


@pytest.mark.speech
def test_a_model_whose_digest_is_not_the_pinned_one_is_not_used():
    package, path, sha256 = loading.SILERO
    assert digest(weights(package, path, sha256)) == sha256
    with pytest.raises(WeightsMissing, match="not the pinned model"):
        weights(package, path, "0" * 64)


def test_the_light_service_needs_none_of_the_speech_packages():
    code = (
        "import sys\n"
        "for name in ('numpy', 'ctranslate2', 'hibari', 'onnxruntime'): sys.modules[name] = None\n"
        "import demo.speech.__main__\n"
        "from demo.speech.loading import load\n"
        "engine = load(light=True)\n"
        "print(len(engine.parts.voice.speak('Hello.', 1.0, 24000)) > 1000)\n"
        "engine.close()\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "True\n"


def test_the_program_says_in_one_line_that_it_is_ready_and_stops_when_told():
    command = [sys.executable, "-m", "demo.speech", "--port", "0", "--light"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        line = program.stdout.readline()
        port = re.search(r"ready on ws://127\.0\.0\.1:(\d+)/v1/realtime \(mode: light", line)[1]
        assert asked(f"http://127.0.0.1:{port}/")["mode"] == "light"
        program.terminate()
        assert program.stdout.read() == ""
    assert program.returncode == 0


def test_the_ear_hears_a_voice_and_gets_used_to_a_room():
    ear = LoudnessEar()
    assert ear.probability(quiet(32)) == 0.0
    assert ear.probability(tone(32)) == 1.0
    fan = tone(320)[4608:6144]
    assert ear.probability(fan) == 1.0
    assert [ear.probability(fan) for _ in range(400)][-1] == 0.0
    ear.reset()
    assert ear.probability(fan) == 1.0


def test_without_espeak_the_voice_is_two_notes_an_answer(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    voice = light_parts("").voice
    assert isinstance(voice, EarconVoice)
    assert list(voice.units("One. Two.")) == ["One. Two."]
    assert len(voice.speak("One. Two.", 1.0, 24000)) == 2 * 2 * 24 * 160


def test_an_espeak_that_fails_is_an_engine_failure():
    for program in ("/bin/false", "/bin/true", "/nowhere/espeak-ng"):
        with pytest.raises(EngineFailure):
            EspeakVoice(program).speak("Hello.", 1.0, 24000)


async def test_a_key_that_is_asked_for_must_be_brought(recognizer):
    engine = scripted_engine(recognizer)
    with running(engine, Door(api_key="secret")) as service:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            with pytest.raises(InvalidStatus) as refused:
                await connect(service.url, additional_headers=headers)
            assert refused.value.response.status_code == 401
        async with calling(service, additional_headers={"Authorization": "Bearer secret"}) as caller:
            await caller.assert_nothing_sent()
        protocols = ["realtime", "openai-insecure-api-key.secret"]
        async with calling(service, subprotocols=protocols) as caller:
            assert caller.socket.subprotocol == "realtime"
    engine.close()


async def test_a_web_page_and_an_unknown_path_are_refused(scripted):
    with pytest.raises(InvalidStatus) as refused:
        await connect(scripted.url, origin="https://example.org")
    assert refused.value.response.status_code == 403
    with pytest.raises(urllib.error.HTTPError) as missing:
        await asyncio.to_thread(asked, scripted.home + "nothing")
    assert missing.value.code == 404
    missing.value.close()


async def test_one_session_too_many_is_refused_and_a_place_comes_free(recognizer):
    engine = scripted_engine(recognizer)
    with running(engine, Door(most_sessions=1)) as service:
        async with calling(service):
            with pytest.raises(InvalidStatus) as refused:
                await connect(service.url)
            assert refused.value.response.status_code == 503
        async with calling(service) as caller:
            await caller.assert_nothing_sent()
    engine.close()


async def test_a_message_over_the_limit_ends_the_session(scripted):
    async with calling(scripted) as caller:
        await caller.socket.send("x" * (LARGEST_MESSAGE + 1))
        with pytest.raises(ConnectionClosed) as closed:
            await caller.next()
        assert closed.value.rcvd.code == 1009


async def test_a_session_ends_when_its_time_is_over(recognizer):
    engine = scripted_engine(recognizer)
    with running(engine, limits=Limits(session_seconds=0.05)) as service:
        async with connect(service.url) as socket:
            caller = Caller(socket)
            events = await caller.until("error")
            assert events[-1]["error"]["code"] == "session_expired"
            with pytest.raises(ConnectionClosed):
                await caller.next()
    engine.close()
