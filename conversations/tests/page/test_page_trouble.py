"""The voice client page in a real Chromium: what it says and keeps when something does not work."""

import re

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import (
    QUESTION,
    ask,
    expect_phase,
    expect_text,
    opened,
    talking,
    until,
)
from conversations.tests.page.server import CONVERSATION

pytestmark = pytest.mark.browser


MICROPHONE_PROBLEMS = [
    ("Object.defineProperty(navigator, 'mediaDevices', {value: undefined})", "https"),
    ("delete window.AudioWorkletNode", "newer browser"),
    ("NotAllowedError", "Allow it beside"),
    ("NotFoundError", "No microphone was found"),
    ("NotReadableError", "in use"),
]


@pytest.mark.parametrize(("fault", "sentence"), MICROPHONE_PROBLEMS)
def test_a_microphone_that_does_not_work_says_why_and_typing_goes_on_case_158(
    page, server, line, fault, sentence
):
    refuse = f"navigator.mediaDevices.getUserMedia = async () => {{ throw new DOMException('', '{fault}') }}"
    page.add_init_script(refuse if fault.endswith("Error") else fault)
    opened(page, server)
    page.click("#microphone")
    expect_text(page, "[role=status] #notice-text", sentence)
    expect_phase(page, "ready")
    ask(page, QUESTION)
    until(page, lambda: line.of("response.create"))
    expect(page.locator("#notice")).to_be_hidden()


def test_a_microphone_that_is_unplugged_says_so_and_can_be_tried_again(page, server, line):
    page.add_init_script(
        "const ask = MediaDevices.prototype.getUserMedia; window.gone = false;"
        "MediaDevices.prototype.getUserMedia = async function (wanted) {"
        "  if (gone) throw new DOMException('', 'NotFoundError');"
        "  return (window.stream = await ask.call(this, wanted)); };"
    )
    talking(page, server)
    page.evaluate("() => { gone = true; stream.getAudioTracks()[0].dispatchEvent(new Event('ended')); }")
    expect_text(page, "#notice-text", "disconnected")
    page.evaluate("() => { gone = false; }")
    page.get_by_role("button", name="Try the microphone again").click()
    expect_phase(page, "listening")


def test_a_prompt_that_is_answered_too_late_opens_nothing_case_157(page, server, line):
    page.add_init_script(
        "const ask = MediaDevices.prototype.getUserMedia; window.streams = [];"
        "MediaDevices.prototype.getUserMedia = async function (wanted) {"
        "  await new Promise((resolve) => { window.answer = resolve; });"
        "  const stream = await ask.call(this, wanted); streams.push(stream); return stream; };"
    )
    opened(page, server)
    page.click("#microphone")
    expect_phase(page, "awaiting_microphone")
    expect_text(page, "#hint", "Choose Allow")
    page.click("#microphone")
    expect_phase(page, "ready")
    page.evaluate("answer()")
    page.wait_for_function("() => streams[0]?.getTracks().every((track) => track.readyState === 'ended')")
    page.click("#microphone")
    expect_phase(page, "awaiting_microphone")
    page.evaluate("answer()")
    expect_phase(page, "listening")


def test_fast_toggling_leaves_one_conversation_one_socket_and_one_microphone_case_162(page, server, line):
    opened(page, server)
    page.evaluate("() => { for (let i = 0; i < 5; i += 1) document.getElementById('microphone').click(); }")
    expect_phase(page, "listening")
    assert (len(server.bootstraps), len(line.sockets)) == (1, 1)


def test_a_lost_socket_comes_back_to_the_same_conversation_and_sends_what_was_typed(page, server, line):
    opened(page, server)
    ask(page, "First?")
    line.speaks("First.")
    expect_text(page, "#log", "First.")
    line.greets = False
    line.close(1012)
    expect_phase(page, "reconnecting")
    ask(page, "Second?")
    expect_text(page, ".delivery", "Waiting to be sent")
    until(page, lambda: len(line.sockets) == 2)
    line.ready()
    until(page, lambda: len(line.of("conversation.item.create")) == 2)
    expect_text(page, "#log", "First.")
    assert len(server.bootstraps) == 1


def test_what_may_not_have_arrived_can_be_sent_again(page, server, line):
    opened(page, server)
    ask(page, QUESTION)
    until(page, lambda: line.of("conversation.item.create"))
    line.close(1011)
    expect_text(page, ".delivery", "May not have arrived")
    expect_phase(page, "ready")
    page.get_by_role("button", name="Send again").click()
    until(page, lambda: len(line.of("conversation.item.create")) == 2)
    expect(page.locator(".line.caller")).to_have_count(1)


ENDS = [
    (4400, "", "error", "did not understand this page", "Continue here"),
    (4409, "", "ended", "goes on in another window", "Continue here"),
    (4410, "idle", "ended", "Nothing was said", "New conversation"),
    (4410, "operator", "ended", "by an operator", "New conversation"),
    (4410, "auth_expired", "ended", "sign-in has expired", "New conversation"),
    (4413, "", "error", "too long", "Continue here"),
    (4502, "", "error", "speech service cannot be reached", "Try again"),
    (1000, "", "ended", "has ended", "New conversation"),
]


@pytest.mark.parametrize("end", ENDS)
def test_each_end_says_why_keeps_the_lines_and_offers_the_way_on(page, server, line, end):
    code, reason, phase, sentence, press = end
    opened(page, server)
    ask(page, "First?")
    line.speaks("First.")
    if reason:
        line.send("error", error={"type": "vocero_error", "code": reason, "message": "", "ref": "k3f9a2"})
    line.close(code)
    expect_phase(page, phase)
    expect_text(page, "#notice-text", sentence)
    expect_text(page, "#log", "First.")
    page.get_by_role("button", name=press).click()
    expect_phase(page, "ready")
    assert len(line.sockets) == 2
    assert len(server.bootstraps) == (2 if press == "New conversation" else 1)


@pytest.mark.parametrize("code", [4401, 4404])
def test_a_socket_without_its_conversation_bootstraps_by_itself_but_not_for_ever(page, server, line, code):
    opened(page, server)
    line.greets = False
    line.close(code)
    for attempt in (2, 3):
        until(page, lambda attempt=attempt: len(line.sockets) == attempt)
        line.close(code)
    expect_text(page, "#notice-text", "could not be opened again")
    assert len(server.bootstraps) == 3


def test_a_busy_server_is_asked_again_after_the_time_that_it_names(page, server, line):
    opened(page, server)
    line.send("error", error={"code": "rate_limited", "message": "", "retry_after_ms": 300})
    line.greets = False
    line.close(4429)
    expect_text(page, "#notice-text", "busy")
    until(page, lambda: len(line.sockets) == 2)
    line.ready()
    expect_phase(page, "ready")
    assert len(server.bootstraps) == 1


# Timers of seconds come when the test says so.
HELD = """
const later = setTimeout;
window.held = [];
window.setTimeout = (then, ms, ...more) => (ms > 2000 ? held.push({ then, ms }) : later(then, ms, ...more));
"""
REFUSALS = [
    (401, "login_required", "personal link", None),
    (401, "login_rejected", "not known", None),
    (403, "unsafe_phone_disabled", "switched off", None),
    (403, "csrf_failed", "Allow cookies", "Try again"),
    (410, "link_expired", "expired", None),
    (410, "link_used", "already used", None),
    (429, "rate_limited", "busy", "Try again"),
    (502, "backend_contract", "cannot be used", "Try again"),
    (503, "backend_unavailable", "cannot be reached", "Try again"),
    (500, "internal", "at the server", "Try again"),
]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refused_start_says_why_in_a_sentence(page, server, line, refusal):
    status, code, sentence, press = refusal
    server.answers = [(status, {"code": code, "request_id": "req-77"}, {"Retry-After": "7"})]
    page.goto(server.address)
    expect_phase(page, "error")
    expect_text(page, "#notice-text", sentence)
    expect_text(page, "#notice-ref", "req-77")
    if not press:
        expect(page.locator("#deed")).to_be_hidden()
        return
    page.get_by_role("button", name=press).click()
    expect_phase(page, "ready")


def test_a_start_that_is_refused_for_a_while_is_tried_again_after_the_time_that_it_names(page, server, line):
    server.answers = [(429, {"code": "rate_limited"}, {"Retry-After": "7"})]
    page.add_init_script(HELD)
    page.goto(server.address)
    expect_text(page, "#notice-text", "It will try again by itself")
    expect(page.locator("#notice-time")).to_have_text(re.compile(r"Next try in [1-7] s\."))
    assert 6_000 < page.evaluate("() => held[0].ms") <= 7_000
    page.evaluate("() => held[0].then()")
    expect_phase(page, "ready")
    assert len(server.bootstraps) == 2


def test_a_window_that_takes_the_call_over_shows_the_turn_that_it_took(page, server, line):
    opened(page, server)
    line.greets = False
    line.close(1011)
    until(page, lambda: len(line.sockets) == 2)
    # The other window's turn ends when the call is claimed, after this window's first look.
    taken = {
        "caller_text": "Give me my briefing.",
        "heard_text": "Here is your brief",
        "outcome": "cancelled",
    }
    server.turns = [{"index": 1, "tools": [], **taken}]
    line.ready()
    line.hears("user_1", QUESTION)
    expect(page.locator(".line.caller .words")).to_have_text(["Give me my briefing.", QUESTION])
    expect_text(page, ".line.answer", "Here is your brief interrupted")


def test_the_end_that_comes_is_counted_down(page, server, line):
    opened(page, server)
    line.send("vocero.conversation.expiring", seconds=59)
    expect_text(page, "#notice-text", "almost over")
    expect(page.locator("#notice-time")).to_have_text(re.compile(r"It ends in [1-5]\d s\."))
    expect(page.locator("#notice-time")).to_have_text(re.compile(r"It ends in ([1-4]\d|5[0-7]) s\."))


def test_what_is_typed_before_the_start_works_is_sent_when_it_does(page, server, line):
    server.answers = [(503, {"code": "backend_unavailable"}, {})]
    page.goto(server.address)
    expect_phase(page, "error")
    ask(page, QUESTION)
    until(page, lambda: line.of("conversation.item.create"))
    expect_phase(page, "thinking")


def test_a_reload_goes_on_with_the_conversation_and_its_transcript(page, server, line):
    opened(page, server)
    tool = {
        "name": "get_metric_history",
        "label": "Metric history",
        "status": "completed",
        "code": None,
        "duration_ms": 9,
        "sources": [{"title": "Oxygen, cage four"}],
    }
    turn = {
        "index": 1,
        "origin": "voice",
        "caller_text": QUESTION,
        "heard_text": "Oxygen in cage",
        "outcome": "interrupted",
        "started_at": "2030-01-01T00:00:00Z",
        "tools": [tool],
    }
    server.turns = [turn]
    server.answers = [(200, CONVERSATION, {})]
    page.reload()
    expect_phase(page, "ready")
    assert server.bootstraps == [{}, {}]
    expect(page.locator("#log .line")).to_have_count(3)
    expect_text(page, "#log .answer", "Oxygen in cage interrupted")
    expect(page.locator("#log .answer .sources")).to_have_text("From: Oxygen, cage four")
    expect_text(page, "#log .chip", "Metric history")


def test_the_demo_starts_with_its_first_caller_and_shows_another_one_nothing_of_it(page, server, line):
    callers = [{"phone": "+34600000001", "label": "Ana"}, {"phone": "+34600000002", "label": "Luis"}]
    server.boot |= {
        "unsafe_phone_selector": True,
        "demo_callers": callers,
        "demo_badge": "Local speech",
    }
    server.answers = [(401, {"code": "login_required"}, {})]
    opened(page, server)
    expect_text(page, ".badge", "nothing leaves this computer")
    ask(page, "First?")
    line.speaks("First.")
    expect_text(page, "#log", "First.")
    server.conversation = {
        **CONVERSATION,
        "id": "22222222-2222-4222-8222-222222222222",
        "caller": {"name": "Luis"},
    }
    page.select_option("#caller", label="Luis")
    expect(page.locator(".line")).to_have_count(0)
    expect_phase(page, "ready")
    assert server.bootstraps == [{}, {"phone": "+34600000001"}, {"phone": "+34600000002"}]
    assert "22222222" in line.sockets[-1].url


def test_a_computer_that_slept_gets_a_new_line_and_the_microphone_goes_on(page, server, line):
    page.clock.install()
    talking(page, server)
    page.clock.fast_forward("20:00")
    until(page, lambda: len(line.sockets) == 2)
    expect_phase(page, "listening")
    heard = len(line.of("input_audio_buffer.append"))
    until(page, lambda: len(line.of("input_audio_buffer.append")) > heard + 5)
    assert len(server.bootstraps) == 1


def test_a_network_that_goes_and_comes_is_told_and_the_conversation_goes_on(page, server, line):
    opened(page, server)
    page.context.set_offline(True)
    expect_phase(page, "reconnecting")
    expect_text(page, "#notice-text", "This device is offline")
    ask(page, QUESTION)
    expect_text(page, ".delivery", "Waiting to be sent")
    page.context.set_offline(False)
    until(page, lambda: line.of("response.create"))
    assert len(server.bootstraps) == 1


def test_a_line_that_stays_away_is_counted_down_and_can_be_tried_at_once(page, server, line):
    page.add_init_script("Math.random = () => 0")
    opened(page, server)
    line.greets = False
    for attempt in range(2, 6):
        line.close(1011)
        until(page, lambda attempt=attempt: len(line.sockets) == attempt)
    page.evaluate("Math.random = () => 1")
    line.close(1011)
    expect_text(page, "#notice-text", "Your conversation is kept")
    expect(page.locator("#notice-time")).to_have_text(re.compile(r"Next try in [3-7] s\."))
    line.greets = True
    page.get_by_role("button", name="Try now").click()
    expect_phase(page, "ready")
    assert len(server.bootstraps) == 1
