"""Sound in and out of the page in a real Chromium: rates, echo, a tab that nobody sees, sound held back."""

import base64
import math
import struct
import time
import wave
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import (
    LISTEN,
    OXYGEN,
    PATIENCE_S,
    QUESTION,
    ask,
    expect_phase,
    expect_text,
    opened,
    until,
)
from conversations.tests.page.server import sound

pytestmark = pytest.mark.browser

DEVICE_RATE, RATE = 48_000, 24_000
TONE_HZ, BURST_MS, GAP_MS = 1000, 400, 200
RATES = [8_000, 16_000, 44_100, 48_000, 96_000]

# The device gives what it has; a context of each rate in turn takes it, as on a device of that rate.
CAPTURE = """async ([rates, seconds]) => {
  const { Microphone } = await import("/static/conversations/audio/microphone.js");
  const { encodeBase64 } = await import("/static/conversations/audio/pcm.js");
  const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  const plain = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  navigator.mediaDevices.getUserMedia = () => ask({ audio: plain });
  const Context = AudioContext;
  const captured = rates.map(async (rate) => {
    const frames = [];
    let enough;
    const full = new Promise((resolve) => { enough = resolve; });
    const onFrame = (samples) => { if (frames.push(samples) >= seconds * 50) enough(); };
    const microphone = new Microphone("/static/conversations/audio/capture-worklet.js", { onFrame });
    window.AudioContext = class extends Context {
      constructor(options) { super({ ...options, sampleRate: rate }); }
    };
    const opening = microphone.open("");
    await opening;
    await full;
    microphone.close();
    return frames.map((samples) => encodeBase64(new Uint8Array(samples.buffer)));
  });
  return Promise.all(captured);
}"""


@pytest.fixture(scope="module")
def chromium_flags(tmp_path_factory):
    """A microphone that hears a tone of 1 kHz in bursts."""
    path = tmp_path_factory.mktemp("device") / "tone.wav"
    tone = [
        int(16_000 * math.sin(2 * math.pi * TONE_HZ * i / DEVICE_RATE))
        for i in range(DEVICE_RATE * BURST_MS // 1000)
    ]
    samples = tone + [0] * (DEVICE_RATE * GAP_MS // 1000)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(DEVICE_RATE)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return [
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={path}",
    ]


def a_burst(samples):
    """The whole burst nearest its length: each lies between two gaps; a busy device stutters in some."""
    loud = [i for i, sample in enumerate(samples) if abs(sample) > 1500]
    edges = [(end, begin) for end, begin in pairwise(loud) if begin - end > RATE * GAP_MS // 2000]
    bursts = [samples[begin : end + 1] for (_, begin), (end, _) in pairwise(edges)]
    assert bursts, "no whole burst was captured"
    return min(bursts, key=lambda burst: abs(len(burst) - RATE * BURST_MS // 1000))


def test_a_tone_of_1_khz_arrives_as_1_khz_from_a_device_of_any_rate_case_154(page, server, line):
    opened(page, server)
    page.click("h1")
    for rate, frames in zip(RATES, page.evaluate(CAPTURE, [RATES, 3.5]), strict=True):
        pcm = b"".join(map(base64.b64decode, frames))
        samples = struct.unpack(f"<{len(pcm) // 2}h", pcm)
        burst = a_burst(samples)
        seconds = len(burst) / RATE
        assert seconds == pytest.approx(BURST_MS / 1000, rel=0.02), rate
        rises = sum(1 for before, after in pairwise(burst) if before < 0 <= after)
        assert rises / seconds == pytest.approx(TONE_HZ, rel=0.02), rate
        assert max(burst) == pytest.approx(16_000, rel=0.1), rate


# A microphone that hears the page's own loudspeaker, 100 ms later and 20 dB softer.
ECHO = """
window.wanted = [];
navigator.mediaDevices.getUserMedia = async (asked) => {
  wanted.push(asked.audio);
  const voice = document.getElementById("voice");
  while (!voice.srcObject) await new Promise(requestAnimationFrame);
  const context = new AudioContext();
  const delay = new DelayNode(context, { delayTime: 0.1 });
  const softer = new GainNode(context, { gain: 0.1 });
  const room = context.createMediaStreamDestination();
  context.createMediaStreamSource(voice.srcObject).connect(delay).connect(softer).connect(room);
  const [track] = room.stream.getAudioTracks();
  const settings = track.getSettings();
  track.getSettings = () => ({ ...settings, echoCancellation: CANCELS });
  return room.stream;
};
"""


def loudest(line, since=0):
    frames = [base64.b64decode(event["audio"]) for event in line.of("input_audio_buffer.append")[since:]]
    return max((max(map(abs, struct.unpack("<480h", frame))) for frame in frames), default=0)


@pytest.mark.parametrize("cancels", [False, True])
def test_a_page_that_hears_itself_does_not_take_itself_for_the_caller_case_159(page, server, line, cancels):
    page.add_init_script(ECHO.replace("CANCELS", str(cancels).lower()))
    opened(page, server)
    page.click("#microphone")
    expect_phase(page, "listening")
    wanted = page.evaluate("wanted[0]")
    assert wanted["echoCancellation"] is True
    line.speaks(OXYGEN, ms=4000)
    expect_phase(page, "speaking")
    expect_phase(page, "listening")
    heard = len(line.of("input_audio_buffer.append"))
    until(page, lambda: len(line.of("input_audio_buffer.append")) > heard + 25)
    if cancels:
        # The browser says that it cancels, so the page does not; that is how loud the echo is.
        assert loudest(line) > 500
        return
    assert loudest(line) < 50
    assert not line.of("response.cancel")
    expect_text(page, "#notice-text", "cannot tell your voice from its loudspeaker")
    page.get_by_role("button", name="Hold to talk", exact=True).last.click()
    expect_text(page, "#hint", "Hold the microphone")


# Harder than any browser's hidden tab: no timer and no frame comes until it is seen again.
HIDES = """
let hidden = false;
const late = [];
Object.defineProperty(document, "hidden", { get: () => hidden });
for (const name of ["setTimeout", "setInterval", "requestAnimationFrame"]) {
  const own = window[name].bind(window);
  const inTime = (work) => (...given) => (hidden ? late.push(() => work(...given)) : work(...given));
  window[name] = (work, ...more) => own(inTime(work), ...more);
}
window.hide = (hides) => {
  hidden = hides;
  document.dispatchEvent(new Event("visibilitychange"));
  if (!hides) for (const work of late.splice(0)) work();
};
"""


def test_a_tab_that_nobody_sees_plays_on_without_a_gap_and_misses_no_word_case_160(page, server, line):
    page.add_init_script(HIDES)
    opened(page, server)
    ask(page, QUESTION)
    line.speaks("Oxygen in cage four is", ms=2200, done=False)
    expect_phase(page, "speaking")
    page.evaluate(LISTEN)
    page.wait_for_function("() => loudness() > 0.1")
    page.evaluate("hide(true)")
    place = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
    line.send("response.output_audio_transcript.delta", delta=" eight point two.", **place)
    for start in range(2200, 3000, 200):
        line.send("response.output_audio.delta", delta=sound(200, start_ms=start), **place)
    line.send("response.output_audio.done", **place)
    line.send("response.done", response={"id": "resp_1", "status": "completed", "output": []})
    levels, end = [], time.monotonic() + PATIENCE_S
    while not any(event["played_ms"] == 3000 for event in line.of("vocero.client.played")):
        assert time.monotonic() < end, line.of("vocero.client.played")
        levels.append(page.evaluate("loudness()"))
    heard = [level for level in levels[:-3] if level > 0.1]
    assert heard
    assert levels[: len(heard)] == heard, "there was a gap"
    expect(page.locator("body")).to_have_attribute("data-phase", "speaking")
    page.evaluate("hide(false)")
    expect_text(page, "#log .answer", "Oxygen in cage four is eight point two.")
    expect_phase(page, "ready")
    page.wait_for_function("() => loudness() < 0.01")
    assert not line.of("conversation.item.truncate")
    assert len(line.sockets) == 1


# What drives the browser here counts as a press; a person has to press by hand.
HOLDS_BACK = """
let pressed = false;
addEventListener("pointerdown", () => { pressed = true; }, true);
const play = HTMLMediaElement.prototype.play;
HTMLMediaElement.prototype.play = function () {
  if (pressed) return play.call(this);
  return Promise.reject(new DOMException("", "NotAllowedError"));
};
"""


def test_a_browser_that_holds_sound_back_says_so_and_a_press_lets_all_of_it_out(page, server, line):
    page.add_init_script(HOLDS_BACK)
    opened(page, server)
    line.speaks(OXYGEN, ms=1500)
    expect_text(page, "#notice-text", "holds the sound back")
    before = len(line.of("vocero.client.played"))
    page.get_by_role("button", name="Play the sound").click()
    expect_phase(page, "speaking")
    until(page, lambda: [event for event in line.of("vocero.client.played") if event["played_ms"] == 1500])
    assert before == 0
    expect(page.locator("#notice")).to_be_hidden()
