"""A brain that thinks for a spoken call, in real Chromium: its own tool, a tap, one turn in the audit."""

import pytest
from playwright.sync_api import expect

from demo.speech import testing as speech
from demo.tests.e2e.stack import browser_page, running_stack, wait_until
from demo.tests.e2e.test_asked_first import log_shows, the_sheet

pytestmark = [pytest.mark.browser, pytest.mark.speech]

PHONE = "%2B34600000001"
WAIT = 60_000
BRAIN = {"S2S_BRAIN": "demo.brains.NotebookBrain", "S2S_BRAIN_AS_LLM": "true"}
ERASE = "Erase the notebook."


@pytest.fixture(scope="module")
def thinking(tmp_path_factory):
    """A running demo in which the example brain thinks for calls."""
    with running_stack(tmp_path_factory.mktemp("brain"), **BRAIN) as stack:
        yield stack


def turns(stack):
    query = "SELECT origin, caller_text, heard_text, outcome FROM conversations_turn ORDER BY started_at"
    return stack.rows(query)


def test_a_spoken_turn_with_a_tool_and_a_tap_is_one_turn_in_the_audit(thinking, tmp_path):
    sound = speech.say(ERASE)
    with browser_page(thinking, tmp_path, sound) as page:
        page.goto(f"{thinking.url}?phone={PHONE}")
        expect(page.locator("body")).to_have_attribute("data-phase", "ready", timeout=WAIT)
        page.get_by_role("button", name="Start talking").click()
        sheet = the_sheet(page)
        expect(sheet).to_contain_text("Erase what was said")
        sheet.get_by_role("button", name="Yes, do it").click()
        log_shows(page, "The notebook is erased.")
        wait_until(lambda: [t for t in turns(thinking) if t["outcome"] == "done"], 60, thinking.log)
        assert page.complaints == []
    (turn,) = turns(thinking)
    assert turn["origin"] == "voice"
    assert "notebook" in turn["caller_text"].lower()
    assert "The notebook is erased." in turn["heard_text"]
    (call,) = thinking.calls()
    assert (call["name"], call["status"], call["selection"]) == ("erase_notebook", "completed", "brain")
    seen = "".join(thinking.frames) + thinking.log.read_text(errors="replace")
    assert "Vocero-Ticket" not in seen
