"""The operators' pages in a real Chromium: nothing stored ever runs, and a page follows its call."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connections
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect, sync_playwright

from conversations.models import Conversation
from conversations.tests import operators as make
from conversations.tests.admin_walk import addresses, poison

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
TELL = "addEventListener('securitypolicyviolation', event => console.error(`refused ${event.blockedURI}`))"
# The other pages of the walk are the theme's own, and differ in nothing that a policy could see.
SHOWN = re.compile(
    r"index|conversations_(conversation|toolcall)_(changelist|change|history|live|end|failures|export)$"
    r"|tools_\w+_change$"
)
HIDE = """hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
                      document.dispatchEvent(new Event('visibilitychange')) }"""


@contextmanager
def browser(server, client, **options):
    """A page in which this member of staff is signed in; `faults` is what it complains of."""
    program = next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS)
        context = running.new_context(**options)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": server.url}])
        page = context.new_page()
        page.faults = []
        page.add_init_script(TELL)
        page.on("console", lambda said: page.faults.append(said.text) if complains(said) else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: (page.faults.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(server.url) else page.faults.append(asked.url),
        )
        try:
            yield page
        finally:
            running.close()


def complains(said):
    """A part of a page, opened by itself, names no icon; the browser then asks for one."""
    return said.type == "error" and not said.location["url"].endswith("/favicon.ico")


def aside(work):
    """What a test asks of the database while a browser runs, for whose sake this thread may not."""

    def done():
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(done).result()


def test_no_page_runs_what_is_stored_nor_asks_for_what_the_policy_refuses_case_181(live_server):
    client, rows = make.root(), poison()
    pages = {name: address for name, address in addresses(rows).items() if SHOWN.match(name)}
    assert len(pages) > 10
    with browser(live_server, client) as page:
        for name, address in pages.items():
            page.goto(live_server.url + address)
            assert page.faults == [], name
        page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: '1'}))")
        page.wait_for_function("true")
        assert any("refused" in fault for fault in page.faults), "a refusal would have been seen"


def live():
    soon = timezone.now() + timedelta(hours=1)
    row = make.conversation(owner="process:1", lease_expires_at=soon)
    one = make.turn(row)
    make.call(one)
    return row


def test_a_page_follows_its_call_and_keeps_what_the_reader_does(live_server):
    client, row = make.auditor(), live()
    call = f"#call-{row.tool_calls.get().pk}"
    with browser(live_server, client) as page:
        page.clock.install()
        page.goto(live_server.url + reverse("admin:conversations_conversation_change", args=[row.pk]))
        page.locator(f"{call} summary").click()
        expect(page.locator(f"{call} pre").first).to_be_visible()

        aside(lambda: make.call(make.turn(row, 2, outcome="failed", code="no_answer", ref="K7M2XQD")))
        page.clock.run_for(1_100)
        expect(page.locator("#turn-2")).to_contain_text("ref K7M2XQD")
        expect(page.locator(".vo-troubles")).to_contain_text("Sorry, there was no answer.")
        expect(page.locator("#news")).to_have_text("Turn 2: failed.")
        expect(page.locator(f"{call} pre").first).to_be_visible()
        expect(page.locator(f"{call} summary")).to_be_focused()

        aside(lambda: Conversation.objects.update(state="closed", close_reason="idle"))
        page.clock.run_for(1_100)
        expect(page.locator("#news")).to_contain_text("The conversation is closed.")
        expect(page.get_by_role("button", name="Pause")).to_be_hidden()
        asked = []
        page.on("request", lambda request: "/live/" in request.url and asked.append(request.url))
        page.clock.run_for(60_000)
        assert asked == page.faults == []


def test_a_hidden_or_paused_page_asks_for_nothing_and_a_shown_one_at_once(live_server):
    client, row = make.viewer(), live()
    with browser(live_server, client) as page:
        page.clock.install()
        page.goto(live_server.url + reverse("admin:conversations_conversation_change", args=[row.pk]))
        asked = []
        page.on("request", lambda request: "/live/" in request.url and asked.append(request.url))
        page.evaluate(HIDE, True)
        page.clock.run_for(30_000)
        assert asked == []
        with page.expect_response("**/live/") as answered:
            page.evaluate(HIDE, False)
        assert answered.value.status == 200
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("#news")).to_have_text("Paused: the page stays as it is.")
        asked.clear()
        page.clock.run_for(30_000)
        assert asked == []
        with page.expect_response("**/live/") as answered:
            page.get_by_role("button", name="Pause").click()
        assert answered.value.status == 304, "nothing had changed"
        assert page.faults == []


def test_a_page_says_when_the_server_does_not_answer_and_when_it_is_over(live_server):
    client, row = make.viewer(), live()
    with browser(live_server, client) as page:
        page.clock.install()
        page.goto(live_server.url + reverse("admin:conversations_conversation_change", args=[row.pk]))
        page.route("**/live/", lambda route: route.fulfill(status=503))
        page.clock.run_for(1_100)
        expect(page.locator("#news")).to_contain_text("The server does not answer")
        page.unroute("**/live/")
        page.clock.run_for(5_000)
        expect(page.locator("#news")).to_have_text("Turn 1: answered.")
        page.context.clear_cookies()
        page.clock.run_for(1_100)
        expect(page.locator("#news")).to_contain_text("can no longer be read here")
        assert not [fault for fault in page.faults if "503" not in fault]


def test_times_are_utc_until_the_reader_asks_for_their_own(live_server):
    client, row = make.viewer(), live()
    with browser(live_server, client, timezone_id="Europe/Madrid") as page:
        page.clock.install()
        page.goto(live_server.url + reverse("admin:conversations_conversation_change", args=[row.pk]))
        time = page.locator("#turn-1 time")
        expect(time).to_have_text("30 Nov 12:01:00")
        expect(time).to_have_attribute("title", "30 Nov, 13:01:00 in Europe/Madrid")
        page.get_by_role("button", name="Show them in my time").click()
        expect(time).to_have_text("30 Nov 13:01:00")
        expect(page.locator("#zone")).to_have_text("All times are those of Europe/Madrid.")
        with page.expect_response("**/live/"):
            page.clock.run_for(1_100)
        expect(time).to_have_text("30 Nov 13:01:00")
        page.reload()
        expect(time).to_have_text("30 Nov 13:01:00")
        assert page.faults == []
