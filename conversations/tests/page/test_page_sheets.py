"""The sheet in a real Chromium: what it shows, what decides, what stays possible beside it."""

import re

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import QUESTION, ask, expect_phase, expect_text, opened, until

pytestmark = pytest.mark.browser

SUMMARY = [{"label": "Cage", "value": "4"}, {"label": "Reason", "value": "They are hungry. " * 11}]
STICKS_OUT = """() => [...document.querySelectorAll("#sheet, #sheet *")]
  .filter((element) => { const box = element.getBoundingClientRect();
    return box.right > innerWidth + 1 || box.left < -1; }).map((element) => element.id)"""
PRESSES_WHEN_IT_CHANGES = """() => {
  const [yes, label] = ["yes", "label"].map((name) => document.getElementById(`sheet-${name}`));
  const watcher = new MutationObserver(() => { watcher.disconnect(); yes.click(); yes.click(); });
  watcher.observe(label, { childList: true, characterData: true, subtree: true });
}"""


def command(line, name, **payload):
    line.send("ui-command", label="rtvi-ai", id="1", data={"command": name, "payload": payload})


def asked(line, nonce="nonce-1", seconds=90, label="Ordering feed", summary=SUMMARY):
    """The server opens a sheet."""
    command(line, "open_confirm", nonce=nonce, call_id="c", label=label, summary=summary, expires_in=seconds)


def answers(line):
    """What the page has answered: (nonce, answer)."""
    data = [event["data"] for event in line.of("client-message") if event["label"] == "rtvi-ai"]
    assert all(one["t"] == "confirm_answer" for one in data)
    return [(one["d"]["nonce"], one["d"]["answer"]) for one in data]


@pytest.fixture
def sheet(page, server, line):
    """An open sheet, on a page that waits for an answer."""
    opened(page, server)
    ask(page, QUESTION)
    asked(line)
    found = page.get_by_role("dialog", name="May I do this for you?")
    expect(found).to_be_visible()
    return found


def test_a_sheet_shows_what_would_be_done_and_how_long_it_waits(page, sheet):
    expect(sheet).to_contain_text("Ordering feed")
    expect(sheet.get_by_role("term")).to_have_text(["Cage", "Reason"])
    expect(sheet.get_by_role("definition").first).to_have_text("4")
    expect(sheet.locator("#sheet-time")).to_have_text(re.compile(r"^(\d+ s|2 min) left$"))
    expect_text(page, "#word", "May I?")


@pytest.mark.parametrize(("button", "answer"), [("Yes, do it", "yes"), ("No", "no")])
def test_a_tap_answers_once_and_the_sheet_goes(page, line, sheet, button, answer):
    sheet.get_by_role("button", name=button, exact=True).dblclick()
    until(page, lambda: answers(line))
    expect(sheet).to_be_hidden()
    assert answers(line) == [("nonce-1", answer)]


def test_escape_says_no_and_a_stray_enter_says_nothing(page, line, sheet):
    expect(sheet.get_by_role("heading")).to_be_focused()
    expect(sheet.get_by_role("button", name="No", exact=True)).to_be_enabled()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert answers(line) == []
    page.keyboard.press("Escape")
    until(page, lambda: answers(line))
    assert answers(line) == [("nonce-1", "no")]


def test_the_keyboard_reaches_no_first_and_yes_next_and_returns_to_where_it_was(page, server, line):
    opened(page, server)
    page.focus("#draft")
    asked(line)
    expect(page.get_by_role("heading", name="May I do this for you?")).to_be_focused()
    expect(page.locator("#sheet-no")).to_be_enabled()
    page.keyboard.press("Tab")
    expect(page.locator("#sheet-no")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#sheet-yes")).to_be_focused()
    page.keyboard.press("Enter")
    until(page, lambda: answers(line))
    assert answers(line) == [("nonce-1", "yes")]
    expect(page.locator("#draft")).to_be_focused()


def test_whoever_is_writing_goes_on_writing(page, server, line):
    opened(page, server)
    page.focus("#draft")
    page.keyboard.type("No, rather ")
    asked(line)
    expect(page.locator("#sheet")).to_be_visible()
    page.keyboard.type("cage five")
    expect(page.locator("#draft")).to_have_value("No, rather cage five")
    page.keyboard.press("Enter")
    until(page, lambda: line.of("conversation.item.create"))
    assert answers(line) == []


def test_a_tap_that_was_meant_for_something_else_decides_nothing(page, line, sheet):
    asked(line, "nonce-2", label="Second")
    page.evaluate(PRESSES_WHEN_IT_CHANGES)
    sheet.get_by_role("button", name="No", exact=True).click()
    expect(sheet).to_contain_text("Second")
    assert answers(line) == [("nonce-1", "no")]
    sheet.get_by_role("button", name="Yes, do it").click()
    until(page, lambda: len(answers(line)) == 2)
    assert answers(line)[1] == ("nonce-2", "yes")


def test_a_sheet_that_is_withdrawn_goes_and_its_chip_says_why(page, line, sheet):
    command(line, "close_confirm", nonce="nonce-1", reason="declined")
    failed = {"call_id": "c", "name": "order_feed", "turn": 1, "ref": "k3f9a2"}
    line.send("vocero.tool.failed", code="confirmation_declined", message="You declined this.", **failed)
    expect(sheet).to_be_hidden()
    expect_text(page, ".chip[data-tone=calm]", "You declined this.")
    assert answers(line) == []


def test_a_sheet_whose_time_is_over_takes_no_tap(page, server, line):
    opened(page, server)
    asked(line, seconds=1)
    expect(page.locator("#sheet-time")).to_have_text("The time for this is over.")
    expect(page.locator("#sheet-yes")).to_be_disabled()
    page.keyboard.press("Escape")
    assert answers(line) == []


def test_a_tap_that_came_too_late_is_told(page, line, sheet):
    sheet.get_by_role("button", name="Yes, do it").click()
    line.send("error", error={"code": "too_late", "message": "This was already decided."})
    expect_text(page, "#notice-text", "too late")


def test_a_lost_line_takes_the_sheet_with_it(page, line, sheet):
    line.close(1011)
    expect(sheet).to_be_hidden()
    expect_phase(page, "reconnecting")


def test_words_on_a_sheet_stay_words(page, server, line):
    hostile = "<img src=x onerror=document.title='owned'>"
    opened(page, server)
    asked(line, label=hostile, summary=[{"label": hostile, "value": hostile}])
    expect_text(page, "#sheet-label", hostile)
    expect_text(page, "#sheet-summary", hostile)
    assert page.locator("#sheet img").count() == 0


@pytest.mark.parametrize(("width", "height"), [(320, 480), (390, 844), (844, 390), (1280, 800)])
def test_both_answers_are_in_reach_on_any_screen_and_typing_stays_possible(page, line, sheet, width, height):
    page.set_viewport_size({"width": width, "height": height})
    for name in ("#sheet-no", "#sheet-yes", "#sheet-time", "#draft"):
        expect(page.locator(name)).to_be_in_viewport(ratio=0.9)
    assert page.evaluate(STICKS_OUT) == []
