"""Pictures of the operators' pages: of a call whose tools fail or take their time, and of many calls."""

from pathlib import Path

from playwright.sync_api import Page, expect

from demo.screenshots import operating
from demo.screenshots.stage import (
    PATIENCE,
    WIDTHS,
    answered,
    ask,
    browser,
    opened,
    picture,
    running,
    signed_in,
)
from demo.tests.e2e.stack import Stack

CALLER = "?phone=%2B34600000001"
LIST = "admin/conversations/conversation/"
CALLS = "admin/conversations/toolcall/"
SLOW = "read_podcast_transcript"


def make(folder: Path) -> None:
    """Talks to the demo, and takes pictures while a tool is at work and after it."""
    with running(S2S_TOOL_TIMEOUT="120") as stack, browser() as chromium:
        caller = opened(chromium, "desktop")
        talk(caller, stack)
        pages = {width: signed_in(chromium, width, stack) for width in WIDTHS}
        for width, page in pages.items():
            take_live(page, stack, folder, width)
        stack.portal.faults.release()
        expect(caller.get_by_role("log")).to_contain_text("Welcome to Healthy Waters", timeout=PATIENCE)
        for width, page in pages.items():
            take(page, stack, folder, width)
        dark = signed_in(chromium, "desktop", stack, "dark")
        first_conversation(dark, stack)
        picture(dark, folder, "conversation-dark", "desktop")
    operating.take_all(folder)


def talk(page: Page, stack: Stack) -> None:
    """A conversation that goes well, then badly twice, and whose last tool still runs."""
    page.goto(f"{stack.url}{CALLER}")
    ask(page, "What is the oxygen level in cage four?")
    answered(page, "it is steady")
    stack.portal.faults.add(kind="status", status=503)
    ask(page, "Give me my briefing.")
    answered(page, "cannot be reached")
    stack.portal.faults.clear()
    stack.portal.faults.add(kind="tool_error", text="No podcast is published yet.", times=1)
    ask(page, "List my podcasts.")
    answered(page, "No podcast is published yet")
    stack.portal.faults.add(kind="slow", tool=SLOW, seconds=600, times=1)
    ask(page, "Read the transcript of the latest episode.")
    expect(page.get_by_role("log")).to_contain_text("Reading a transcript", timeout=PATIENCE)


def first_conversation(page: Page, stack: Stack) -> None:
    """Opens the newest conversation from the list."""
    [newest] = stack.rows("SELECT id FROM conversations_conversation ORDER BY opened_at DESC LIMIT 1")
    page.goto(f"{stack.url}{LIST}{newest['id']}/change/")


def take_live(page: Page, stack: Stack, folder: Path, width: str) -> None:
    """The page of the call while a tool is at work."""
    first_conversation(page, stack)
    running_turn = page.get_by_role("article").last
    expect(running_turn).to_contain_text("still to come", timeout=PATIENCE)
    running_turn.evaluate("turn => turn.scrollIntoView()")
    picture(page, folder, "live", width)


def take(page: Page, stack: Stack, folder: Path, width: str) -> None:
    """The lists and pages once the call is quiet."""
    page.goto(f"{stack.url}{LIST}")
    picture(page, folder, "conversations", width)
    first_conversation(page, stack)
    picture(page, folder, "conversation", width)
    page.locator("#turn-2").evaluate("turn => turn.scrollIntoView()")
    page.locator("#turn-2 summary").first.click()
    picture(page, folder, "turns", width)
    page.goto(f"{stack.url}{CALLS}")
    picture(page, folder, "tool-calls", width)
    page.goto(f"{stack.url}{CALLS}failures/")
    picture(page, folder, "failures", width)
    page.goto(f"{stack.url}{CALLS}export/?status__exact=failed")
    picture(page, folder, "export", width)
    [failed] = stack.rows("SELECT id FROM conversations_toolcall WHERE code = 'tool_error'")
    page.goto(f"{stack.url}{CALLS}{failed['id']}/change/")
    picture(page, folder, "tool-call", width)
