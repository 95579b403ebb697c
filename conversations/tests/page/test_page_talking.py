"""The ways to talk and the devices, in a real Chromium with its fake microphones and loudspeakers."""

import base64
import re

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import (
    OXYGEN,
    QUESTION,
    ask,
    expect_phase,
    expect_text,
    opened,
    talking,
    until,
)

pytestmark = pytest.mark.browser

WATCHED = """
const ask = MediaDevices.prototype.getUserMedia;
window.streams = [];
window.wanted = [];
MediaDevices.prototype.getUserMedia = async function (asked) {
  wanted.push(asked.audio);
  if (window.prompt_) await window.prompt_;
  const stream = await ask.call(this, asked);
  streams.push(stream);
  return stream;
};
"""
LIVE = "() => streams.filter((stream) => stream.active).length"
PUSH = """localStorage.setItem("vocero.talking", JSON.stringify({ way: "push" }))"""


@pytest.fixture(scope="module")
def chromium_flags():
    """Without an answer to every prompt: a permission can be given and taken away."""
    return ["--use-fake-device-for-media-stream"]


@pytest.fixture
def page(page):
    page.context.grant_permissions(["microphone"])
    page.add_init_script(WATCHED)
    return page


@pytest.fixture
def pushing(page, server, line):
    """A page on which one holds to talk."""
    page.add_init_script(PUSH)
    opened(page, server)
    expect_text(page, "#hint", "Hold the microphone")
    return page


def settings(page):
    page.get_by_role("button", name="How you talk").click()
    return page.get_by_role("dialog", name="How you talk")


def sounds(line):
    return len(line.of("input_audio_buffer.append"))


def kinds(line):
    """What the page sent, the sound aside."""
    return [event["type"] for event in line.received if event["type"] != "input_audio_buffer.append"]


def hold_with(page, how, line):
    if how == "space":
        page.locator("#log").evaluate("() => document.activeElement.blur()")
        page.keyboard.down(" ")
    else:
        page.locator("#microphone").hover()
        page.mouse.down()
    expect_phase(page, "hearing")
    until(page, lambda: sounds(line) > 25)


def let_go(page, how, line):
    before = len(line.of("input_audio_buffer.commit"))
    if how == "space":
        page.keyboard.up(" ")
    else:
        page.mouse.up()
    until(page, lambda: len(line.of("input_audio_buffer.commit")) > before)
    assert not line.of("response.create")
    line.send("input_audio_buffer.committed", item_id="user_1", previous_item_id=None)
    until(page, lambda: line.of("response.create"))


@pytest.mark.parametrize("how", ["mouse", "space"])
def test_what_is_said_while_holding_is_one_question(pushing, line, how):
    hold_with(pushing, how, line)
    expect_text(pushing, "#hint", "Let go")
    let_go(pushing, how, line)
    expected = ["session.update", "input_audio_buffer.clear", "input_audio_buffer.commit", "response.create"]
    assert kinds(line) == expected
    (update,) = line.of("session.update")
    assert update["session"] == {"type": "realtime", "audio": {"input": {"turn_detection": None}}}
    expect_phase(pushing, "thinking")
    item = {"id": "user_1", "type": "message", "role": "user", "content": [{"type": "input_audio"}]}
    line.send("conversation.item.added", item=item, previous_item_id=None)
    kind = "conversation.item.input_audio_transcription.completed"
    line.send(kind, item_id="user_1", content_index=0, transcript=QUESTION)
    line.speaks(OXYGEN)
    expect(pushing.locator("#log .line")).to_have_text(
        [re.compile(re.escape(QUESTION)), re.compile("Oxygen")]
    )
    heard = sounds(line)
    pushing.evaluate("() => new Promise((done) => setTimeout(done, 200))")
    assert sounds(line) == heard


def test_holding_silences_the_answer_and_says_how_much_was_heard(pushing, line):
    hold_with(pushing, "mouse", line)
    let_go(pushing, "mouse", line)
    line.speaks(OXYGEN, ms=20_000, done=False)
    expect_phase(pushing, "speaking")
    expect_text(pushing, "#hint", "Hold the microphone to interrupt")
    until(pushing, lambda: line.of("vocero.client.played"))
    hold_with(pushing, "space", line)
    cut = until(pushing, lambda: line.of("conversation.item.truncate"))
    assert 0 < cut[0]["audio_end_ms"] < 20_000
    assert line.of("response.cancel")
    expect(pushing.locator(".answer .cut")).to_have_text("interrupted")
    pushing.keyboard.up(" ")


def test_the_space_bar_writes_where_one_writes_and_presses_what_has_the_keyboard(pushing, server, line):
    pushing.focus("#draft")
    pushing.keyboard.type("Cage four")
    assert pushing.input_value("#draft") == "Cage four"
    pushing.focus("#settings-open")
    pushing.keyboard.press(" ")
    expect(pushing.get_by_role("dialog")).to_be_visible()
    pushing.locator("#way-push").focus()
    pushing.keyboard.press(" ")
    assert pushing.evaluate("streams.length") == 0


def test_one_press_of_the_keyboard_begins_and_one_ends(pushing, line):
    pushing.focus("#microphone")
    pushing.keyboard.press("Enter")
    expect_phase(pushing, "hearing")
    expect(pushing.locator("#microphone")).to_have_attribute("aria-pressed", "true")
    until(pushing, lambda: sounds(line) > 25)
    pushing.keyboard.press("Enter")
    until(pushing, lambda: line.of("input_audio_buffer.commit"))
    assert kinds(line).count("input_audio_buffer.commit") == 1


def test_an_answer_is_spoken_over_with_the_keyboard_alone(pushing, line):
    pushing.focus("#microphone")
    pushing.keyboard.press("Enter")
    until(pushing, lambda: sounds(line) > 25)
    pushing.keyboard.press("Enter")
    until(pushing, lambda: line.of("input_audio_buffer.commit"))
    line.speaks(OXYGEN, ms=20_000, done=False)
    expect_phase(pushing, "speaking")
    until(pushing, lambda: line.of("vocero.client.played"))
    heard = sounds(line)
    pushing.keyboard.press("Enter")
    expect_phase(pushing, "hearing")
    assert until(pushing, lambda: line.of("conversation.item.truncate"))[0]["item_id"] == "item_1"
    assert line.of("response.cancel")
    until(pushing, lambda: sounds(line) > heard + 25)
    pushing.keyboard.press("Enter")
    until(pushing, lambda: len(line.of("input_audio_buffer.commit")) == 2)
    expect(pushing.locator("#microphone")).to_be_focused()


def test_a_finger_that_slides_away_asks_nothing(pushing, line):
    hold_with(pushing, "mouse", line)
    pushing.dispatch_event("#microphone", "pointercancel", {"pointerId": 1})
    expect_phase(pushing, "ready")
    assert kinds(line)[-1] == "input_audio_buffer.clear"
    pushing.mouse.up()
    assert not line.of("input_audio_buffer.commit")


def test_let_go_before_the_prompt_is_answered_nothing_stays_open_case_157(pushing, server, line):
    pushing.evaluate("() => { window.prompt_ = new Promise((resolve) => { window.answer = resolve; }); }")
    pushing.locator("#microphone").hover()
    pushing.mouse.down()
    expect_text(pushing, "#word", "Allow the microphone")
    pushing.mouse.up()
    expect_text(pushing, "#hint", "Choose Allow")
    line.close(1011)
    expect_phase(pushing, "awaiting_microphone")
    until(pushing, lambda: len(line.sockets) == 2)
    pushing.evaluate("() => { answer(); window.prompt_ = null; }")
    expect_phase(pushing, "ready")
    expect_text(pushing, "#notice-text", "Hold it again and speak")
    assert pushing.evaluate(LIVE) == 0
    hold_with(pushing, "mouse", line)
    let_go(pushing, "mouse", line)


def test_the_way_is_chosen_on_the_sheet_and_remembered(page, server, line):
    talking(page, server)
    sheet = settings(page)
    sheet.get_by_label("Hold to talk").check()
    until(page, lambda: line.of("session.update"))
    sheet.get_by_role("button", name="Done").click()
    expect_text(page, "#hint", "Hold the microphone")
    expect(page.locator("#mute")).to_be_hidden()
    assert page.evaluate(LIVE) == 0
    page.reload()
    expect_text(page, "#hint", "Hold the microphone")
    expect(page.locator("#microphone-label")).to_have_text("Hold to talk")
    settings(page).get_by_label("Hands-free").check()
    until(page, lambda: len(line.of("session.update")) == 3)
    told = [event["session"]["audio"]["input"]["turn_detection"] for event in line.of("session.update")]
    assert told == [None, None, {"type": "server_vad"}]


def test_the_chosen_microphone_is_taken_at_once_and_next_time(page, server, line):
    talking(page, server)
    sheet = settings(page)
    sheet.get_by_label("Microphone", exact=True).select_option(label="Fake Audio Input 2")
    page.wait_for_function("() => wanted.length === 2")
    second = page.evaluate("wanted[1]")
    assert second["echoCancellation"] is True
    assert page.evaluate("streams[1].getAudioTracks()[0].label") == "Fake Audio Input 2"
    assert page.evaluate(LIVE) == 1
    heard = sounds(line)
    until(page, lambda: sounds(line) > heard + 10)
    page.reload()
    expect_phase(page, "ready")
    page.click("#microphone")
    expect_phase(page, "listening")
    assert page.evaluate("wanted[0].deviceId") == second["deviceId"]


def test_a_microphone_that_is_not_there_any_more_is_said_and_the_default_hears(page, server, line):
    gone = """localStorage.setItem("vocero.talking", JSON.stringify({ input: "gone" }))"""
    page.add_init_script(gone)
    talking(page, server)
    expect_text(page, "#notice-text", "not connected. Vocero hears you through another one")
    assert [wish.get("deviceId") for wish in page.evaluate("wanted")] == [{"exact": "gone"}, None]


def test_the_bar_follows_the_voice_before_and_during_a_talk_and_a_trial_sends_nothing(page, server, line):
    opened(page, server)
    sheet = settings(page)
    loud = "() => document.getElementById('input-level').value > 0.3"
    sheet.get_by_role("button", name="Try the microphone").click()
    page.wait_for_function(loud)
    expect(sheet).to_contain_text("Say something")
    assert sounds(line) == 0
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.wait_for_function("() => streams.every((stream) => !stream.active)")
    page.click("#microphone")
    expect_phase(page, "listening")
    settings(page)
    page.wait_for_function(loud)
    assert page.evaluate("streams.length") == 2


def test_the_loudspeaker_is_chosen_heard_and_remembered(page, server, line):
    opened(page, server)
    sheet = settings(page)
    sheet.get_by_label("Loudspeaker", exact=True).select_option(label="Fake Audio Output 1")
    page.wait_for_function("() => document.getElementById('voice').sinkId")
    chosen = page.evaluate("document.getElementById('voice').sinkId")
    sheet.get_by_role("button", name="Play a sound").click()
    page.wait_for_function("() => !document.getElementById('voice').paused")
    page.reload()
    expect_phase(page, "ready")
    page.wait_for_function("(id) => document.getElementById('voice').sinkId === id", arg=chosen)
    gone = """async () => {
      const all = await navigator.mediaDevices.enumerateDevices();
      const left = all.filter(({ label }) => label !== "Fake Audio Output 1");
      navigator.mediaDevices.enumerateDevices = async () => left;
      navigator.mediaDevices.dispatchEvent(new Event("devicechange"));
    }"""
    page.evaluate(gone)
    expect_text(page, "#notice-text", "The sound comes from the default one")
    assert page.evaluate("document.getElementById('voice').sinkId") == ""


def test_a_sheet_that_asks_goes_before_the_settings(page, server, line):
    opened(page, server)
    ask(page, QUESTION)
    sheet = settings(page)
    payload = {"nonce": "n", "call_id": "c", "label": "Ordering feed", "summary": [], "expires_in": 90}
    line.send("ui-command", label="rtvi-ai", id="1", data={"command": "open_confirm", "payload": payload})
    expect(page.get_by_role("dialog", name="May I do this")).to_be_visible()
    expect(sheet).to_be_hidden()


def test_a_microphone_that_the_browser_takes_away_in_mid_call_says_so_and_typing_goes_on(page, server, line):
    talking(page, server)
    page.context.clear_permissions()
    expect_text(page, "#notice-text", "does not let this page use the microphone")
    expect_phase(page, "ready")
    tail = base64.b64decode(line.of("input_audio_buffer.append")[-1]["audio"])
    assert (len(tail), any(tail)) == (2 * 24_000 * 8 // 10, False)
    ask(page, QUESTION)
    until(page, lambda: line.of("response.create"))


def test_a_microphone_that_is_unplugged_is_replaced_by_the_default_one(page, server, line):
    talking(page, server)
    page.evaluate("streams[0].getAudioTracks()[0].dispatchEvent(new Event('ended'))")
    expect_text(page, "#notice-text", "Vocero hears you through another one")
    expect_phase(page, "listening")
    heard = sounds(line)
    until(page, lambda: sounds(line) > heard + 10)
    assert page.evaluate(LIVE) == 1
