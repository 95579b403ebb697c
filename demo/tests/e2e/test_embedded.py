"""The assistant on another site, as an element and in a frame, in real Chromium: no cookie crosses."""

import hashlib
import sqlite3
import threading
from contextlib import closing, contextmanager

import pytest
from playwright.sync_api import expect

from demo.run import free_ports
from demo.site.server import site
from demo.speech.loading import load
from demo.tests.e2e.stack import browser_page, running_stack, wait_until

pytestmark = pytest.mark.browser

WAIT = 60_000
PHONE = "+34600000001"
API_KEY = "vk_a-key-of-the-embedding-site"
QUESTION, ANSWER = "What is the oxygen level in cage four?", "milligrams per liter"


@contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """A running demo, and the address of a site that may embed it."""
    (port,) = free_ports(1)
    engine = load(light=True)
    settings = {"S2S_EMBED_ORIGINS": f"http://localhost:{port}", "S2S_BRAIN": "demo.brains.NotebookBrain"}
    with running_stack(tmp_path_factory.mktemp("embedded"), engine=engine, **settings) as stack:
        hashed = hashlib.sha256(API_KEY.encode()).hexdigest()
        with closing(sqlite3.connect(stack.database, timeout=20)) as connection, connection:
            insert = (
                "INSERT INTO conversations_apikey (name, key_hash, made_at) VALUES (?, ?, datetime('now'))"
            )
            connection.execute(insert, ("site", hashed))
        with serving(site(port, stack.url.rstrip("/"), API_KEY, PHONE)) as address:
            yield stack, address
    engine.close()


@pytest.fixture(scope="module")
def browser(embedded, tmp_path_factory):
    with browser_page(embedded[0], tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser):
    """The same window, with nothing left of the test before."""
    browser.context.clear_cookies()
    browser.complaints.clear()
    yield browser
    browser.goto("about:blank")


def ask(place):
    place.get_by_label("Your question").fill(QUESTION)
    place.get_by_label("Your question").press("Enter")
    expect(place.get_by_role("log")).to_contain_text(ANSWER, timeout=WAIT, ignore_case=True)


def test_an_element_of_another_site_answers_and_sets_no_cookie(embedded, page):
    stack, address = embedded
    page.goto(address)
    page.get_by_role("button", name="Talk to the assistant").click()
    ask(page)
    client = page.locator("#client")
    page.locator("#microphone").click()
    expect(client).to_have_attribute("data-microphone", "on", timeout=WAIT)
    assert page.context.cookies(stack.url) == []
    assert page.complaints == []
    assert stack.portal.calls("get_metric_history")


def test_an_element_that_is_taken_away_ends_its_call_and_one_that_comes_back_begins_anew(embedded, page):
    _, address = embedded
    page.goto(address)
    with page.expect_websocket() as opened:
        page.get_by_role("button", name="Talk to the assistant").click()
    expect(page.locator("#client")).to_have_attribute("data-phase", "ready", timeout=WAIT)
    with opened.value.expect_event("close"):
        page.evaluate(
            "() => { globalThis.kept = document.querySelector('vocero-assistant'); kept.remove(); }"
        )
    page.evaluate("() => document.body.append(kept)")
    page.get_by_role("button", name="Talk to the assistant").click()
    ask(page)
    assert page.complaints == []


def test_a_press_and_a_removal_in_one_breath_leave_nothing_behind_case_162(embedded, page):
    _, address = embedded
    page.goto(address)
    page.get_by_role("button", name="Talk to the assistant").wait_for()
    seen = []
    page.on("websocket", lambda socket: seen.append(socket.url))
    page.evaluate(
        """async () => {
            const element = document.querySelector("vocero-assistant");
            for (let i = 0; i < 3; i += 1) {
                void element.open();
                void element.open();
                element.close();
            }
            void element.open();
            element.remove();
        }"""
    )
    page.evaluate("() => new Promise((resolve) => requestIdleCallback(resolve))")
    assert seen == []


def test_the_language_and_the_theme_are_the_sites(embedded, page):
    _, address = embedded
    page.goto(address)
    page.evaluate(
        """() => {
            const element = document.querySelector("vocero-assistant");
            element.setAttribute("language", "es");
            element.setAttribute("theme", "dark");
        }"""
    )
    element = page.locator("vocero-assistant")
    expect(element).to_have_attribute("lang", "es", timeout=WAIT)
    page.locator("#open").click()
    expect(page.locator("#client")).to_have_attribute("data-phase", "ready", timeout=WAIT)
    assert element.evaluate("(node) => getComputedStyle(node).colorScheme") == "dark"


def test_the_page_around_may_do_what_a_brain_asks_for_or_leave_it_to_the_element(embedded, page):
    _, address = embedded
    page.goto(address)
    page.evaluate(
        """() => {
            globalThis.told = [];
            document.addEventListener("vocero-command", (event) => {
                told.push([event.detail.command, event.detail.payload]);
                if (event.detail.command === "highlight") event.preventDefault();
            });
        }"""
    )
    page.get_by_role("button", name="Talk to the assistant").click()
    page.get_by_label("Your question").fill("Where is the microphone?")
    page.get_by_label("Your question").press("Enter")
    expect(page.locator("#toast")).to_have_text("This is the microphone.", timeout=WAIT)
    assert page.evaluate("() => told") == [
        ["highlight", {"id": "microphone"}],
        ["toast", {"text": "This is the microphone."}],
    ]
    assert page.locator(".pointed").count() == 0


def test_a_frame_is_told_who_calls_by_the_page_around_it(embedded, page):
    stack, address = embedded
    page.goto(f"{address}/frame")
    ask(page.frame_locator("#assistant"))
    assert page.context.cookies(stack.url) == []
    assert page.complaints == []


def test_a_site_that_is_not_listed_gets_neither_element_nor_frame(embedded, page):
    stack, _ = embedded
    (port,) = free_ports(1)
    with serving(site(port, stack.url.rstrip("/"), API_KEY, PHONE)) as stranger:
        page.goto(stranger)
        wait_until(lambda: page.evaluate("() => true") and page.complaints, 60)
        assert page.get_by_role("button").count() == 0
        page.goto(f"{stranger}/frame")
        page.locator("#assistant").wait_for()
        assert page.frame_locator("#assistant").get_by_label("Your question").count() == 0
