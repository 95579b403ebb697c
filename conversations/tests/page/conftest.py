"""A real Chromium with a page in it, and the stand-in that serves the page."""

import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

from conversations.tests.page.person import PATIENCE_S
from conversations.tests.page.server import Line, PageServer

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# Nothing here says how soon something comes: a machine with other work is waited for.
expect.set_options(timeout=PATIENCE_S * 1000)
MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]


@pytest.fixture(scope="module")
def chromium_flags():
    """A module may give others; the fake microphone beeps, and is allowed without asking."""
    return MICROPHONE


@pytest.fixture(scope="module")
def chromium(chromium_flags):
    program = next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS, *chromium_flags])
        yield browser
        browser.close()


@pytest.fixture
def server():
    with PageServer().running() as running:
        yield running


@pytest.fixture
def page(chromium):
    """A page whose console must stay clean and which may talk to its own server only."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if "Content Security" in said.text else None)
    page.on("request", lambda asked: None if "//127.0.0.1:" in asked.url else faults.append(asked.url))
    yield page
    context.close()
    assert faults == []


@pytest.fixture
def line(page):
    return Line(page)
