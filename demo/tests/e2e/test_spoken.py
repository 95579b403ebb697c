"""A caller speaks in real Chromium; what the page then plays is heard and holds the caller's own data."""

from base64 import b64decode
from functools import partial

import pytest
from playwright.sync_api import expect

from demo.aquaportal.answers.metrics import reading
from demo.aquaportal.data.farm import METRICS
from demo.speech import testing as speech
from demo.tests.e2e.heard import (
    answer_heard,
    answer_sound,
    answer_written,
    assert_no_marker,
    events,
)
from demo.tests.e2e.stack import browser_page, silence, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.speech]

ADMINISTRATOR, NORTH_MANAGER = "%2B34600000001", "%2B34600000002"
QUESTION = "What is the oxygen level in cage four?"
WAIT = 60_000
HOLD_TO_TALK = """localStorage.setItem("vocero.talking", JSON.stringify({ way: "push" }))"""


def ask_aloud(page, stack, phone=ADMINISTRATOR):
    page.goto(f"{stack.url}?phone={phone}")
    expect(page.locator("body")).not_to_have_attribute("data-phase", "connecting", timeout=WAIT)
    page.locator("#microphone").click()


def oxygen_in_cage_four():
    oxygen = next(metric for metric in METRICS if metric.name == "oxygen")
    return str(reading(oxygen, 4, 0))


def assert_quiet(page):
    assert page.complaints == []


def note(frames, frame):
    frames.append(frame)


def spoken(frames):
    """How many bytes of sound a page has sent."""
    return sum(len(b64decode(event["audio"])) for event in events(frames, "input_audio_buffer.append"))


def hear_out(page):
    """Waits until the answer has been heard to its end and the caller may speak."""
    expect(page.locator("body")).to_have_attribute("data-phase", "listening", timeout=WAIT)


def test_a_spoken_question_is_answered_with_the_value_that_aquaportal_holds(stack, tmp_path):
    value = oxygen_in_cage_four()
    with browser_page(stack, tmp_path, speech.say(QUESTION)) as page:
        ask_aloud(page, stack)
        log = page.get_by_role("log")
        expect(log).to_contain_text("cage 4", timeout=WAIT, ignore_case=True)
        expect(log).to_contain_text(f"{value} milligrams", timeout=WAIT)
        expect(log).to_contain_text("Done")
        hear_out(page)
        assert_quiet(page)
    heard = answer_heard(stack.frames)
    assert value in heard or value.replace(".", " point ") in heard
    assert "oxygen" in heard
    (call,) = [row for row in stack.calls() if row["caller"] == "Ana Torres"]
    assert (call["name"], call["status"], call["selection"]) == ("get_metric_history", "completed", "native")


def test_a_caller_without_that_permission_is_refused_in_words(stack, tmp_path):
    with browser_page(stack, tmp_path, speech.say(QUESTION)) as page:
        ask_aloud(page, stack, NORTH_MANAGER)
        expect(page.get_by_role("log")).to_contain_text("no access to cage 4", timeout=WAIT)
        hear_out(page)
        assert_quiet(page)
    heard = answer_heard(stack.frames)
    assert "no access" in heard
    assert oxygen_in_cage_four() not in "".join(stack.frames)
    (call,) = [row for row in stack.calls() if row["caller"] == "Bruno Lago"]
    assert (call["status"], call["code"]) == ("failed", "forbidden")


def test_with_markers_the_same_question_is_answered_and_no_marker_is_seen_or_heard(marker_stack, tmp_path):
    value = oxygen_in_cage_four()
    with browser_page(marker_stack, tmp_path, speech.say(QUESTION)) as page:
        ask_aloud(page, marker_stack)
        expect(page.get_by_role("log")).to_contain_text(f"{value} milligrams", timeout=WAIT)
        hear_out(page)
        assert_quiet(page)
    assert_no_marker(marker_stack.frames)
    heard = answer_heard(marker_stack.frames)
    assert heard.lstrip().startswith("the oxygen")
    assert not {"arguments", "name", "vocero", "call"} & set(heard.replace(".", " ").split())
    (call,) = marker_stack.calls()
    assert (call["selection"], call["status"]) == ("marker", "completed")


def test_with_markers_what_is_said_while_the_space_bar_is_held_is_one_question(marker_stack, tmp_path):
    value, before, sound, sent = oxygen_in_cage_four(), len(marker_stack.calls()), speech.say(QUESTION), []
    with browser_page(marker_stack, tmp_path, sound) as page:
        page.on("websocket", lambda socket: socket.on("framesent", partial(note, sent)))
        page.add_init_script(HOLD_TO_TALK)
        page.goto(f"{marker_stack.url}?phone={ADMINISTRATOR}")
        expect(page.locator("#hint")).to_contain_text("Hold the microphone", timeout=WAIT)
        page.keyboard.down(" ")
        expect(page.locator("body")).to_have_attribute("data-phase", "hearing", timeout=WAIT)
        wait_until(lambda: page.evaluate("1") and spoken(sent) > len(sound) + speech.RATE, 60)
        page.keyboard.up(" ")
        expect(page.get_by_role("log")).to_contain_text(f"{value} milligrams", timeout=WAIT)
        expect(page.locator("body")).to_have_attribute("data-phase", "ready", timeout=WAIT)
        expect(page.locator(".line.caller")).to_have_count(1)
        assert_quiet(page)
    assert_no_marker(marker_stack.frames)
    assert len(events(sent, "input_audio_buffer.commit")) == 1
    (call,) = marker_stack.calls()[before:]
    assert (call["name"], call["selection"], call["status"]) == ("get_metric_history", "marker", "completed")


def test_speaking_over_a_running_tool_ends_it_and_nothing_late_is_said(stack, tmp_path):
    stack.portal.faults.add("slow", tool="get_metric_history", seconds=60)
    before = len(stack.calls())
    sound = speech.say(QUESTION) + silence(6) + speech.say("Give me my briefing.")
    with browser_page(stack, tmp_path, sound) as page:
        ask_aloud(page, stack)
        log = page.get_by_role("log")
        expect(log).to_contain_text("Here is your briefing", timeout=60_000)
        assert_quiet(page)
    wait_until(lambda: stack.portal.calls("get_metric_history")[0].cancelled, 60)
    wait_until(lambda: all(row["ended_at"] for row in stack.calls()), 60)
    slow, briefing = stack.calls()[before:]
    assert (slow["name"], slow["status"], slow["code"]) == ("get_metric_history", "failed", "cancelled")
    assert (briefing["name"], briefing["status"]) == ("get_my_briefing", "completed")
    said = answer_written(stack.frames)
    assert oxygen_in_cage_four() + " milligrams" not in said
    (failed,) = events(stack.frames, "vocero.tool.failed")
    assert failed["code"] == "cancelled"


def test_a_reload_goes_on_with_the_same_conversation_and_its_transcript(stack, tmp_path):
    with browser_page(stack, tmp_path, speech.say(QUESTION)) as page:
        ask_aloud(page, stack)
        log = page.get_by_role("log")
        expect(log).to_contain_text("milligrams", timeout=WAIT)
        first = events(stack.frames, "vocero.conversation.ready")[-1]["conversation"]["id"]
        page.reload()
        expect(log).to_contain_text(QUESTION.split()[-3], timeout=WAIT)
        expect(log).to_contain_text("oxygen level in cage 4", timeout=WAIT)
        page.get_by_label("Your question").fill("Give me my briefing.")
        page.get_by_label("Your question").press("Enter")
        expect(log).to_contain_text("Here is your briefing", timeout=WAIT)
        assert events(stack.frames, "vocero.conversation.ready")[-1]["conversation"]["id"] == first
        assert_quiet(page)
    assert answer_sound(stack.frames)
