"""What the page lists of the bridge's tools, for whom, and for how long."""

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import opened, until
from conversations.tests.page.server import CONVERSATION

pytestmark = pytest.mark.browser

TOOLS = [
    {
        "name": "get_sea_forecast",
        "description": "Wind and waves <b>here</b>.",
        "parameters": {},
        "requires_auth": False,
    },
    {"name": "list_reports", "description": "The latest reports.", "parameters": {}, "requires_auth": True},
]
SWITCHER = {"unsafe_phone_selector": True, "demo_callers": [{"phone": "+34600000002", "label": "Manager"}]}


@pytest.fixture
def bridged(server):
    server.boot |= {"mode": "apipilot"}
    server.tools = TOOLS
    return server


def asked(server):
    return server.requests.count("/api/apipilot/tools")


def kept(page):
    return page.evaluate("() => Object.keys(sessionStorage)")


def test_the_callers_tools_are_listed_and_kept_over_a_reload(page, bridged, line):
    opened(page, bridged)
    box = page.locator("#tools")
    expect(box).to_contain_text("What Vocero can do for you (2)")
    expect(page.locator("#tools-list")).not_to_be_visible()
    box.locator("summary").click()
    expect(page.locator("#tools-list li")).to_have_text(
        ["Get sea forecastWind and waves <b>here</b>.", "List reportsThe latest reports."]
    )
    opened(page, bridged)
    expect(page.locator("#tools-list li")).to_have_count(2)
    assert asked(bridged) == 1
    assert kept(page) == [f"vocero.tools.{CONVERSATION['id']}"]


def test_another_caller_sees_their_own_list_and_an_ended_conversation_leaves_none(page, bridged, line):
    bridged.boot |= SWITCHER
    opened(page, bridged)
    expect(page.locator("#tools-list li")).to_have_count(2)
    bridged.conversation = {**CONVERSATION, "id": "22222222-2222-4222-8222-222222222222"}
    bridged.tools = TOOLS[:1]
    page.select_option("#caller", label="Manager")
    expect(page.locator("#tools-list li")).to_have_count(1)
    expect(page.locator("#tools")).to_contain_text("(1)")
    assert kept(page) == [f"vocero.tools.{bridged.conversation['id']}"]
    line.send("error", error={"code": "operator", "message": ""})
    line.close(4410)
    expect(page.locator("#tools")).to_be_hidden()
    assert until(page, lambda: kept(page) == [])


def test_elsewhere_no_list_is_asked_for(page, server, line):
    opened(page, server)
    expect(page.locator("#tools")).to_be_hidden()
    assert asked(server) == 0
