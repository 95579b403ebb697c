"""The voice client page in a real Chromium: talking, typing, hearing, reading."""

import base64
import re

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import (
    LISTEN,
    OXYGEN,
    QUESTION,
    ask,
    expect_phase,
    expect_text,
    opened,
    talking,
    until,
)
from conversations.tests.page.server import CONVERSATION, sound

pytestmark = pytest.mark.browser


def test_the_address_keeps_neither_link_nor_phone_and_the_bootstrap_names_the_link(page, server, line):
    server.boot["link"] = "signed-link"
    opened(page, server, "/?link=signed-link&phone=%2B34600000001&theme=x#here")
    assert page.url == server.address + "/?theme=x#here"
    assert server.bootstraps == [{"link": "signed-link"}]
    assert [socket.url for socket in line.sockets] == [
        f"{server.address.replace('http', 'ws')}/v1/realtime?conversation={CONVERSATION['id']}"
    ]


def test_a_typed_question_goes_out_once_and_its_answer_ends_in_the_log(page, server, line):
    server.suggestions = [QUESTION]
    opened(page, server)
    page.get_by_role("button", name=QUESTION).click()
    created = until(page, lambda: line.of("response.create") and line.of("conversation.item.create"))
    assert [event["item"]["content"] for event in created] == [[{"type": "input_text", "text": QUESTION}]]
    expect_phase(page, "thinking")
    line.speaks(OXYGEN)
    expect_text(page, "[role=log]", OXYGEN)
    expect(page.locator("[role=log] .line")).to_have_count(2)
    expect(page.locator("#draft")).to_be_focused()
    expect(page.locator(".delivery")).to_have_count(0)


def test_the_microphone_is_heard_at_24_khz_in_frames_of_20_ms(page, server, line):
    talking(page, server)
    until(page, lambda: len(line.of("input_audio_buffer.append")) > 50)
    frames = [base64.b64decode(event["audio"]) for event in line.of("input_audio_buffer.append")]
    assert {len(frame) for frame in frames} == {960}
    assert any(any(frame) for frame in frames)
    page.click("#microphone")
    expect_phase(page, "ready")
    expect(page.locator("#microphone")).to_have_attribute("aria-pressed", "false")


def test_muted_is_silence_not_a_closed_microphone(page, server, line):
    talking(page, server)
    page.click("#mute")
    expect_phase(page, "muted")
    heard = len(line.of("input_audio_buffer.append"))
    until(page, lambda: len(line.of("input_audio_buffer.append")) > heard + 30)
    assert not any(base64.b64decode(line.of("input_audio_buffer.append")[-1]["audio"]))


def test_both_sides_are_read_while_they_speak_and_stand_in_order(page, server, line):
    talking(page, server)
    line.hears("user_1", "What is the oxy", final=False)
    expect_text(page, "#live .caller", "What is the oxy")
    line.speaks("It is eight", done=False)
    expect_text(page, "#live .answer", "It is eight")
    line.send("conversation.item.input_audio_transcription.completed", item_id="user_1", transcript=QUESTION)
    expect(page.locator("#log .line")).to_have_text([re.compile(re.escape(QUESTION))])
    line.speaks("It is eight point two.")
    expect(page.locator("#log .line")).to_have_count(2)


def test_a_reader_at_the_end_stays_there_when_the_window_shrinks_and_one_further_up_too(page, server, line):
    opened(page, server)
    for number in range(6):
        line.speaks("word " * 120, response=f"resp_{number}", item=f"item_{number}")
    expect(page.locator("[role=log] .line")).to_have_count(6)
    below = "e => Math.round(e.scrollHeight - e.scrollTop - e.clientHeight)"
    box = page.locator("#scroll")
    page.set_viewport_size({"width": 390, "height": 700})
    until(page, lambda: box.evaluate(below) < 4)
    line.speaks("The last word.", response="resp_last", item="item_last")
    expect(page.get_by_text("The last word.")).to_be_in_viewport()
    box.evaluate("e => { e.scrollTop = 0; }")
    page.set_viewport_size({"width": 390, "height": 600})
    line.speaks("Another word.", response="resp_end", item="item_end")
    expect(page.get_by_text("Another word.")).not_to_be_in_viewport()


# How loud it was at most while so many frames were drawn.
LOUDEST = """async (frames) => {
  let loudest = 0;
  while (frames--) {
    loudest = Math.max(loudest, loudness());
    await new Promise(requestAnimationFrame);
  }
  return loudest;
}"""


def test_20_buffered_seconds_fall_silent_when_the_caller_speaks_case_163(page, server, line):
    talking(page, server)
    line.speaks(OXYGEN, ms=20_000, done=False)
    expect_phase(page, "speaking")
    page.evaluate(LISTEN)
    page.wait_for_function("() => loudness() > 0.1")
    line.send("input_audio_buffer.speech_started", item_id="user_2", audio_start_ms=0)
    expect_phase(page, "hearing")
    page.wait_for_function("() => loudness() < 0.001")
    assert page.evaluate(LOUDEST, 30) < 0.001
    truncate = until(page, lambda: line.of("conversation.item.truncate"))
    played = [event for event in line.of("vocero.client.played") if event["item_id"] == "item_1"]
    assert truncate[0] == {
        "type": "conversation.item.truncate",
        "item_id": "item_1",
        "content_index": 0,
        "audio_end_ms": played[-1]["played_ms"],
    }
    assert 0 < played[-1]["played_ms"] < 20_000
    expect(page.locator(".answer .cut")).to_have_text("interrupted")
    place = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
    line.send("response.output_audio.delta", delta=sound(400), **place)
    assert page.evaluate(LOUDEST, 30) < 0.001


def test_an_answer_heard_to_its_end_is_reported_whole_and_not_cut(page, server, line):
    opened(page, server)
    ask(page, QUESTION)
    line.speaks(OXYGEN, ms=400)
    whole = until(page, lambda: [e for e in line.of("vocero.client.played") if e["played_ms"] == 400])
    assert whole[0]["item_id"] == "item_1"
    expect_phase(page, "ready")
    line.send("input_audio_buffer.speech_started", item_id="user_2", audio_start_ms=0)
    expect_phase(page, "hearing")
    assert line.of("conversation.item.truncate") == []
    expect(page.locator(".cut")).to_have_count(0)


def test_stop_cancels_the_answer_and_silences_it(page, server, line):
    opened(page, server)
    ask(page, QUESTION)
    line.speaks(OXYGEN, ms=20_000, done=False)
    page.get_by_role("button", name="Stop", exact=True).click()
    until(page, lambda: line.of("response.cancel") and line.of("conversation.item.truncate"))
    expect_phase(page, "ready")


def test_a_tool_shows_its_label_its_time_and_its_outcome(page, server, line):
    opened(page, server)
    ask(page, QUESTION)
    call = {"call_id": "call_1", "name": "get_metric_history", "turn": 1}
    line.send("vocero.tool.started", label="Reading the metric history", **call)
    expect_text(page, "#word", "Looking it up")
    expect_text(page, ".chip[data-tone=running]", "Reading the metric history")
    expect(page.locator(".chip-time")).to_have_text(re.compile(r"\d s"))
    line.send("vocero.tool.completed", duration_ms=1234, sources=[{"title": "Oxygen, cage four"}], **call)
    expect_text(page, ".chip[data-tone=completed]", "1.2 s")
    line.send(
        "vocero.tool.failed",
        call_id="call_2",
        name="get_report",
        turn=1,
        code="forbidden",
        message="You may not see it.",
        ref="k3f9a2",
    )
    expect_text(page, ".chip[data-tone=failed]", "You may not see it.")
    expect_text(page, ".chip[data-tone=failed]", "k3f9a2")


def test_hostile_words_stay_words(page, server, line):
    hostile = "<img src=x onerror=document.title='owned'><b>bold</b>"
    opened(page, server)
    ask(page, hostile)
    line.speaks(hostile)
    line.send("vocero.tool.started", call_id="c", name=hostile, label=hostile, turn=1)
    line.send("vocero.tool.failed", call_id="d", name=hostile, code=hostile, message=hostile, ref=hostile)
    line.send("error", error={"code": hostile, "message": hostile, "ref": hostile})
    line.send("unheard.of", data=hostile)
    expect_text(page, "#notice-text", hostile)
    expect(page.locator(".chip")).to_have_count(2)
    assert page.locator("main img, main b").count() == 0
    assert page.title() == "Vocero"


def test_the_keyboard_alone_is_enough(page, server, line):
    opened(page, server)
    page.keyboard.press("Tab")
    expect(page.locator("#microphone")).to_be_focused()
    page.keyboard.press("Enter")
    expect_phase(page, "listening")
    page.keyboard.press("Tab")
    expect(page.locator("#mute")).to_be_focused()
    page.focus("#draft")
    page.keyboard.type("One")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    created = until(page, lambda: line.of("conversation.item.create"))
    assert created[0]["item"]["content"][0]["text"] == "One\ntwo"


def test_a_button_that_goes_leaves_the_keyboard_at_the_microphone(page, server, line):
    opened(page, server)
    ask(page, QUESTION)
    line.speaks(OXYGEN, ms=20_000, done=False)
    page.focus("#stop")
    page.keyboard.press("Enter")
    expect(page.locator("#stop")).to_be_hidden()
    expect(page.locator("#microphone")).to_be_focused()


STICKS_OUT = """() => [...document.querySelectorAll("body, body *:not(.visually-hidden)")]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.id || element.className)"""


@pytest.mark.parametrize("width", [320, 390, 820, 1280, 2560])
def test_nothing_sticks_out_at_any_width(page, server, line, width):
    page.set_viewport_size({"width": width, "height": 640})
    talking(page, server)
    line.hears("user_1", "Oxygen" * 30)
    line.send("vocero.tool.started", call_id="c", name="n", label="Reading" * 20, turn=1)
    line.speaks(OXYGEN * 20, done=False)
    expect_text(page, ".answer", "Oxygen")
    assert page.evaluate(STICKS_OUT) == []
    expect(page.locator("#draft")).to_be_in_viewport()
    expect(page.locator("#microphone")).to_be_in_viewport()
