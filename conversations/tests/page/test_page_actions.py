"""A brain's actions in a real Chromium: what the caller sees of them, and what goes back."""

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import opened, until
from conversations.tests.page.test_page_sheets import command

pytestmark = pytest.mark.browser


def outcomes(line):
    """How each action ended: (command, outcome)."""
    data = [event["data"] for event in line.of("client-message")]
    assert all(one["t"] == "action" and one["d"]["id"] == "1" for one in data)
    return [(one["d"]["command"], one["d"]["outcome"]) for one in data]


@pytest.fixture
def screen(page, server, line):
    opened(page, server)
    return page


def test_a_toast_is_shown_as_text_and_told_to_who_asked(screen, line):
    command(line, "toast", text="Saved <b>4</b> notes.")
    expect(screen.locator("#toast")).to_have_text("Saved <b>4</b> notes.")
    expect(screen.locator("#toast")).to_be_visible()
    until(screen, lambda: outcomes(line) == [("toast", "done")])


def test_a_part_of_the_page_is_pointed_at_and_one_that_is_not_there_is_missing(screen, line):
    command(line, "highlight", id="question")
    expect(screen.locator("#draft")).to_have_class("pointed")
    command(line, "highlight", id='nowhere"] , body')
    until(screen, lambda: outcomes(line) == [("highlight", "done"), ("highlight", "missing")])


def test_the_page_says_where_it_goes_and_stays_where_that_is_wished(screen, line):
    address = screen.url
    command(line, "navigate", path="/elsewhere")
    expect(screen.get_by_role("alert")).to_contain_text("Vocero is about to open /elsewhere.")
    screen.get_by_role("button", name="Stay here").click()
    expect(screen.locator("#leaving")).to_be_hidden()
    until(screen, lambda: outcomes(line) == [("navigate", "stayed")])
    assert screen.url == address


def test_the_page_goes_to_a_path_of_its_own_site_once_that_is_agreed(screen, line):
    command(line, "navigate", path="/?from=brain")
    screen.get_by_role("button", name="Go now").click()
    screen.wait_for_url("**/?from=brain")
    assert outcomes(line) == [("navigate", "done")]


def test_another_site_and_an_unknown_command_are_told_and_break_nothing(screen, line):
    address = screen.url
    command(line, "navigate", path="//evil.example/")
    command(line, "launch_rocket", target=1)
    command(line, "toast")
    expected = [("navigate", "refused"), ("launch_rocket", "unknown"), ("toast", "refused")]
    until(screen, lambda: outcomes(line) == expected)
    assert screen.url == address
    command(line, "toast", text="Still here.")
    expect(screen.locator("#toast")).to_have_text("Still here.")
