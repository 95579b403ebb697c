"""A tool that needs a tap, and a search of the page's own, in real Chromium with the light speech service."""

import pytest
from playwright.sync_api import expect

from demo.speech.loading import load
from demo.tests.e2e.stack import browser_page, running_stack, wait_until

pytestmark = pytest.mark.browser

PHONE = "%2B34600000001"
WAIT = 60_000
BRIEFING = "Give me my briefing."
# Long enough for a tap on a machine with other work.
TAP_SECONDS = 20


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    """A running demo in which the briefing needs a tap."""
    engine = load(light=True)
    settings = {"S2S_CONFIRM_TOOLS": "get_my_briefing", "S2S_CONFIRM_TIMEOUT": str(TAP_SECONDS)}
    with running_stack(tmp_path_factory.mktemp("asking"), engine=engine, **settings) as stack:
        yield stack
    engine.close()


@pytest.fixture(scope="module")
def browser(asking, tmp_path_factory):
    with browser_page(asking, tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(asking, browser):
    """The same window with a conversation of its own."""
    asking.portal.reset()
    asking.web.reset()
    # The page of the test before asks for its conversation to the end.
    browser.goto("about:blank")
    browser.context.clear_cookies()
    browser.complaints.clear()
    browser.goto(f"{asking.url}?phone={PHONE}")
    yield browser
    assert browser.complaints == []


def write(page, text):
    page.get_by_label("Your question").fill(text)
    page.get_by_label("Your question").press("Enter")


def the_sheet(page):
    sheet = page.get_by_role("dialog", name="May I do this for you?")
    expect(sheet).to_be_visible(timeout=WAIT)
    return sheet


def log_shows(page, text):
    expect(page.get_by_role("log")).to_contain_text(text, timeout=WAIT, ignore_case=True)


def last_call(stack):
    """The newest row of the audit, once it is closed."""
    query = """SELECT name, status, code, approved_at, ended_at FROM conversations_toolcall
               ORDER BY started_at DESC LIMIT 1"""
    wait_until(lambda: stack.rows(query)[0]["ended_at"], 60, stack.log)
    return stack.rows(query)[0]


def test_a_tap_on_yes_runs_the_tool_and_the_answer_follows(asking, page):
    write(page, BRIEFING)
    sheet = the_sheet(page)
    expect(sheet).to_contain_text("Preparing your briefing")
    assert asking.portal.calls("get_my_briefing") == []
    sheet.get_by_role("button", name="Yes, do it").click()
    log_shows(page, "Here is your briefing")
    expect(sheet).to_be_hidden()
    assert len(asking.portal.calls("get_my_briefing")) == 1
    row = last_call(asking)
    assert (row["status"], row["code"]) == ("completed", "")
    assert row["approved_at"]


def test_a_tap_on_no_runs_nothing_and_is_said(asking, page):
    write(page, BRIEFING)
    the_sheet(page).get_by_role("button", name="No", exact=True).click()
    log_shows(page, "You declined this.")
    log_shows(page, "The caller declined this action")
    assert asking.portal.calls("get_my_briefing") == []
    row = last_call(asking)
    assert (row["code"], row["approved_at"]) == ("confirmation_declined", None)


def test_a_sheet_that_nobody_taps_ends_by_itself(asking, page):
    write(page, BRIEFING)
    sheet = the_sheet(page)
    expect(sheet).to_be_hidden(timeout=TAP_SECONDS * 1000 + WAIT)
    log_shows(page, "You did not confirm this in time.")
    assert asking.portal.calls("get_my_briefing") == []
    assert last_call(asking)["code"] == "confirmation_timeout"


def test_words_over_a_sheet_decline_it_and_are_answered(asking, page):
    write(page, BRIEFING)
    sheet = the_sheet(page)
    write(page, "List my podcasts.")
    expect(sheet).to_be_hidden(timeout=WAIT)
    log_shows(page, "You declined this.")
    log_shows(page, "Healthy Waters")
    assert asking.portal.calls("get_my_briefing") == []


def test_a_reload_after_the_tap_shows_no_sheet_again_case_030(asking, page):
    asking.portal.faults.add("slow", tool="get_my_briefing", seconds=600, times=1)
    write(page, BRIEFING)
    the_sheet(page).get_by_role("button", name="Yes, do it").click()
    expect(page.locator(".chip[data-tone=running]")).to_be_visible(timeout=WAIT)
    page.reload()
    expect(page.locator("body")).to_have_attribute("data-phase", "ready", timeout=WAIT)
    expect(page.locator("#sheet")).to_be_hidden()
    asking.portal.faults.release()
    last_call(asking)
    assert len(asking.portal.calls("get_my_briefing")) == 1


def test_a_page_that_is_left_with_an_open_sheet_runs_nothing(asking, page):
    write(page, BRIEFING)
    the_sheet(page)
    page.reload()
    log_shows(page, "Cancelled")
    expect(page.locator("#sheet")).to_be_hidden()
    assert asking.portal.calls("get_my_briefing") == []
    assert last_call(asking)["code"] == "cancelled"


def test_the_page_searches_the_web_and_shows_where_the_answer_comes_from(asking, page):
    write(page, "Search the web for the price of salmon.")
    log_shows(page, "seven euros ninety a kilo")
    chip = page.locator(".chip").first
    expect(chip).to_contain_text("Searching the web")
    expect(page.locator(".answer .sources")).to_contain_text("From: Price of salmon this week")
    assert [entry.path for entry in asking.web.requests] == ["/search"]
    row = last_call(asking)
    assert (row["name"], row["status"]) == ("web_search", "completed")
    lines = [
        line for line in asking.log.read_text(errors="replace").splitlines() if "search.executed" in line
    ]
    assert lines
    assert "salmon" not in "".join(lines)


def test_a_search_that_fails_is_said_and_the_call_goes_on(asking, page):
    asking.web.faults.add("status", on="search", status=500, times=1)
    write(page, "Search the web for the price of salmon.")
    log_shows(page, "The web cannot be searched")
    write(page, "List my podcasts.")
    log_shows(page, "Healthy Waters")
    assert all("503" in said for said in page.complaints)
    page.complaints.clear()


def test_a_brains_own_tool_asks_on_its_own_sheet_in_a_call_that_the_service_thinks_for(asking, page):
    write(page, "Erase the notebook.")
    sheet = the_sheet(page)
    expect(sheet).to_contain_text("Erase what was said")
    sheet.get_by_role("button", name="Yes, do it").click()
    log_shows(page, "The notebook is erased.")
    row = last_call(asking)
    assert (row["name"], row["status"]) == ("erase_notebook", "completed")


def test_a_brain_points_at_a_part_of_the_page(asking, page):
    write(page, "Point at the microphone, please.")
    expect(page.locator("#microphone")).to_have_class("pointed", timeout=WAIT)
    expect(page.locator("#toast")).to_have_text("This is the microphone.")
    log_shows(page, "I am pointing at the microphone.")
