"""A caller writes and speaks where the legacy bridge has AquaPortal's place."""

import pytest
from playwright.sync_api import expect

from demo.speech import testing as speech
from demo.tests.e2e.heard import answer_heard, assert_no_marker
from demo.tests.e2e.stack import browser_page, running_stack, wait_until
from demo.tests.e2e.test_spoken import QUESTION, WAIT, ask_aloud, hear_out, oxygen_in_cage_four
from demo.tests.e2e.test_written import write

pytestmark = [pytest.mark.browser, pytest.mark.speech]


@pytest.fixture(scope="module")
def bridged(tmp_path_factory):
    """One running demo with the bridge, whose tools are picked by its marker."""
    folder = tmp_path_factory.mktemp("bridge")
    with running_stack(folder, "apipilot", S2S_TOOL_SELECTION="marker", S2S_INJECT_PROFILE="true") as stack:
        yield stack


@pytest.fixture
def stack(bridged):
    bridged.portal.reset()
    bridged.frames.clear()
    return bridged


def test_what_is_written_is_answered_with_what_the_bridge_lets_each_caller_see(stack, tmp_path):
    with browser_page(stack, tmp_path) as page:
        page.goto(stack.url)
        expect(page.locator("#tools-list li")).to_have_count(2, timeout=WAIT)
        write(page, "What is the sea forecast for the north center?")
        expect(page.get_by_role("log")).to_contain_text("twelve knots", timeout=WAIT)
        page.select_option("#caller", label="Administrator")
        expect(page.locator("#tools-list li")).to_have_count(8, timeout=WAIT)
        write(page, "List the latest reports.")
        expect(page.get_by_role("log")).to_contain_text("report of the north center", timeout=WAIT)
        assert page.complaints == []
    assert_no_marker(stack.frames)
    wait_until(lambda: all(row["ended_at"] for row in stack.calls()), 60)
    rows = [(row["name"], row["selection"], row["caller"]) for row in stack.calls()]
    assert rows == [("get_sea_forecast", "marker", ""), ("list_reports", "marker", "Ana Torres")]
    sources = stack.rows("SELECT DISTINCT source FROM conversations_toolcall")
    assert sources == [{"source": "apipilot"}]


def test_a_spoken_question_is_answered_with_the_value_that_the_bridge_holds(stack, tmp_path):
    value, before = oxygen_in_cage_four(), len(stack.calls())
    with browser_page(stack, tmp_path, speech.say(QUESTION)) as page:
        ask_aloud(page, stack)
        expect(page.get_by_role("log")).to_contain_text(f"{value} milligrams", timeout=WAIT)
        hear_out(page)
        assert page.complaints == []
    heard = answer_heard(stack.frames)
    assert value in heard or value.replace(".", " point ") in heard
    assert not {"apipilot", "arguments", "call"} & set(heard.replace(".", " ").split())
    (call,) = stack.calls()[before:]
    assert (call["name"], call["status"]) == ("get_metric_history", "completed")
