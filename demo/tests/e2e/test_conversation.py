"""A spoken conversation in real Chromium: question, tap, answer, a word over it, and the next answer."""

import base64

import pytest

from demo.speech import testing as speech
from demo.tests.e2e.heard import events
from demo.tests.e2e.stack import browser_page, running_stack, wait_until
from demo.tests.e2e.test_asked_first import log_shows, the_sheet
from demo.tests.e2e.test_spoken import QUESTION, WAIT, ask_aloud

pytestmark = [pytest.mark.browser, pytest.mark.speech]

NEXT = "Give me my briefing."

# The device's own sound, and `say` speaks into the same microphone at a moment that the test chooses.
MICROPHONE = """
const ask = MediaDevices.prototype.getUserMedia;
MediaDevices.prototype.getUserMedia = async function (wanted) {
  const context = new AudioContext({ sampleRate: 24000 });
  const ears = context.createMediaStreamDestination();
  context.createMediaStreamSource(await ask.call(this, wanted)).connect(ears);
  window.say = (base64) => {
    const samples = new Int16Array(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer);
    const buffer = context.createBuffer(1, samples.length, 24000);
    buffer.getChannelData(0).set(Float32Array.from(samples, (sample) => sample / 32768));
    const mouth = context.createBufferSource();
    mouth.buffer = buffer;
    mouth.connect(ears);
    mouth.start();
  };
  return ears.stream;
};
const parse = JSON.parse;
JSON.parse = (text, ...more) => {
  if (String(text).includes('"input_audio_buffer.speech_started"')) window.spokenAt = performance.now();
  return parse(text, ...more);
};
"""
# All that the page's audio element plays, as frames of 20 ms, and when the last loud one was.
LISTEN = """async () => {
  const { encodeBase64 } = await import("/static/conversations/audio/pcm.js");
  const { worklets } = JSON.parse(document.getElementById("boot").textContent);
  const context = new AudioContext();
  await context.audioWorklet.addModule(worklets.capture);
  const ear = new AudioWorkletNode(context, "vocero-capture");
  const frames = [];
  window.loudAt = window.loud = 0;
  ear.port.onmessage = ({ data }) => {
    frames.push(data.samples);
    if (data.level < 0.002) return;
    window.loudAt = performance.now();
    window.loud += 1;
  };
  context.createMediaStreamSource(document.getElementById("voice").srcObject).connect(ear);
  window.played = (from) => frames.slice(from).map((frame) => encodeBase64(new Uint8Array(frame.buffer)));
}"""


@pytest.fixture(scope="module")
def confirming(tmp_path_factory):
    """A running demo in which reading a metric needs a tap."""
    settings = {"S2S_CONFIRM_TOOLS": "get_metric_history"}
    with running_stack(tmp_path_factory.mktemp("confirming"), **settings) as stack:
        yield stack


def turns(stack):
    """The audit of turns, oldest first."""
    return stack.rows("SELECT origin, caller_text, heard_text FROM conversations_turn ORDER BY started_at")


def understood(page, begin=0):
    """What a listener at the loudspeaker understood, in lower case, and how many frames there were."""
    frames = page.evaluate("(from) => played(from)", begin)
    return speech.hear(b"".join(map(base64.b64decode, frames))).lower(), begin + len(frames)


def test_a_spoken_conversation_with_a_tap_and_a_word_over_the_answer(confirming, tmp_path):
    with browser_page(confirming, tmp_path, speech.say(QUESTION)) as page:
        page.add_init_script(MICROPHONE)
        ask_aloud(page, confirming)
        sheet = the_sheet(page)
        assert confirming.portal.calls("get_metric_history") == []
        page.evaluate(LISTEN)
        sheet.get_by_role("button", name="Yes, do it").click()
        page.wait_for_function("() => loud > 40", timeout=WAIT)
        page.evaluate("(sound) => { spokenAt = 0; say(sound); }", base64.b64encode(speech.say(NEXT)).decode())
        page.wait_for_function("() => spokenAt > 0", timeout=WAIT)
        # That it was the word, and not the answer's end, is told by how much of it counts as heard.
        page.wait_for_function("() => performance.now() - Math.max(spokenAt, loudAt) > 400", timeout=WAIT)
        (first, frames), before = understood(page), page.evaluate("loud")
        assert "oxygen" in first
        log_shows(page, "interrupted")
        log_shows(page, "Here is your briefing")
        page.wait_for_function("(before) => loud > before + 40", arg=before, timeout=WAIT)
        page.wait_for_function("() => performance.now() - loudAt > 1500", timeout=WAIT)
        assert "briefing" in understood(page, frames)[0]
        assert page.complaints == []
    wait_until(lambda: all(row["ended_at"] for row in confirming.calls()), 60)
    (approved,) = confirming.rows(
        "SELECT name, approved_at FROM conversations_toolcall WHERE approved_at NOT NULL"
    )
    assert approved["name"] == "get_metric_history"
    assert [call["status"] for call in confirming.calls()] == ["completed", "completed"]
    first, second = turns(confirming)
    assert [first["origin"], second["origin"]] == ["voice", "voice"]
    answers = [
        done["transcript"] for done in events(confirming.frames, "response.output_audio_transcript.done")
    ]
    whole = next(answer for answer in answers if "oxygen" in answer.lower())
    assert whole.startswith(first["heard_text"])
    assert 0 < len(first["heard_text"]) < len(whole)
    assert events(confirming.frames, "vocero.tool.failed") == []
