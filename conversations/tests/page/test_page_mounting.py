"""The client as a part of a page that comes and goes: one conversation, nothing left behind (case 162)."""

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import QUESTION, ask, expect_phase, expect_text, until

pytestmark = pytest.mark.browser

MOUNTING = """
import { readBoot } from "./boot.js";
import { mount } from "./client.js";
window.begin = () => { window.client = mount(document, readBoot()); };
window.begin();
"""
WATCHED = """
const ask = MediaDevices.prototype.getUserMedia;
window.streams = [];
MediaDevices.prototype.getUserMedia = async function (wanted) {
  const stream = await ask.call(this, wanted);
  streams.push(stream);
  return stream;
};
const Context = AudioContext;
window.contexts = [];
window.AudioContext = class extends Context {
  constructor(...options) {
    super(...options);
    contexts.push(this);
  }
};
"""
RELEASED = """() => streams.every((stream) => !stream.active)
  && contexts.every((context) => context.state === "closed")"""


@pytest.fixture
def part(page, server, line):
    """The page with a client that a test can end and begin again."""
    script = {"body": MOUNTING, "content_type": "text/javascript"}
    page.route("**/conversations/main.js", lambda route: route.fulfill(**script))
    page.add_init_script(WATCHED)
    return page


def test_a_client_that_goes_before_its_conversation_is_open_opens_no_socket(part, server, line):
    asked = []
    part.route("**/api/conversations", lambda route: asked.append(route))  # noqa: PLW0108
    part.goto(server.address)
    until(part, lambda: asked)
    part.evaluate("client.close()")
    with part.expect_response("**/api/conversations"):
        asked.pop().continue_()
    part.unroute("**/api/conversations")
    part.evaluate("begin()")
    expect_phase(part, "ready")
    assert len(line.sockets) == 1


def test_a_client_that_goes_lets_go_of_socket_microphone_and_sound(part, server, line):
    closed = []
    part.goto(server.address)
    expect_phase(part, "ready")
    line.sockets[0].on_close(lambda code, _reason: closed.append(code))
    part.click("#microphone")
    expect_phase(part, "listening")
    line.speaks("One moment.", ms=20_000, done=False)
    expect_phase(part, "speaking")
    part.evaluate("client.close()")
    part.wait_for_function(RELEASED)
    until(part, lambda: closed == [1000])
    sent = len(line.received)
    part.keyboard.press("Escape")
    part.evaluate("dispatchEvent(new Event('online'))")
    part.click("#microphone")
    part.evaluate("() => new Promise(requestAnimationFrame)")
    assert (len(line.received), len(line.sockets), len(server.bootstraps)) == (sent, 1, 1)
    assert part.evaluate("streams.length") == 1


def test_a_client_that_comes_back_hears_each_press_once(part, server, line):
    part.goto(server.address)
    expect_phase(part, "ready")
    part.evaluate("() => { client.close(); begin(); }")
    expect_phase(part, "ready")
    until(part, lambda: len(line.sockets) == 2)
    ask(part, QUESTION)
    until(part, lambda: line.of("response.create"))
    line.speaks("Eight.")
    expect_text(part, "#log", "Eight.")
    expect(part.locator(".line.caller")).to_have_count(1)
    assert len(line.of("conversation.item.create")) == 1
    part.click("#microphone")
    expect_phase(part, "listening")


def test_start_stop_and_start_in_200_ms_leave_one_microphone(part, server, line):
    part.goto(server.address)
    expect_phase(part, "ready")
    presses = """async () => {
      const press = () => document.getElementById("microphone").click();
      press();
      await new Promise((done) => setTimeout(done, 60));
      press();
      await new Promise((done) => setTimeout(done, 60));
      press();
    }"""
    part.evaluate(presses)
    expect_phase(part, "listening")
    live = "() => streams.filter((stream) => stream.active).length"
    assert part.evaluate(live) == 1
    assert (len(server.bootstraps), len(line.sockets)) == (1, 1)
