"""What a person at the page does and sees."""

import time

from playwright.sync_api import expect

QUESTION = "What is the oxygen level in cage four?"
OXYGEN = "Oxygen in cage four is eight point two milligrams per liter."
PATIENCE_S = 60
# Afterwards `loudness()` tells how loud the page is now: the peak of what its audio element plays.
LISTEN = """() => {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(document.getElementById("voice").srcObject).connect(analyser);
  const samples = new Float32Array(512);
  window.loudness = () => {
    analyser.getFloatTimeDomainData(samples);
    return Math.max(...samples.map(Math.abs));
  };
}"""


def opened(page, server, address="/"):
    page.goto(server.address + address)
    expect_phase(page, "ready")


def talking(page, server):
    opened(page, server)
    page.click("#microphone")
    expect_phase(page, "listening")


def expect_phase(page, phase):
    expect(page.locator("body")).to_have_attribute("data-phase", phase)


def expect_text(page, selector, text):
    expect(page.locator(selector)).to_contain_text(text)


def ask(page, text):
    page.fill("#draft", text)
    page.press("#draft", "Enter")


def until(page, told):
    """Lets the page go on, frame by frame, until `told` gives something; that is the answer."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        answer = told()
        if answer:
            return answer
        page.evaluate("() => new Promise(requestAnimationFrame)")
    raise AssertionError("it did not happen")
