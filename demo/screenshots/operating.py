"""Pictures of what operators see of many calls, made-up ones, and of what they can do about them."""

import subprocess
import sys
from pathlib import Path
from uuid import UUID

from playwright.sync_api import Browser, Page, expect

from demo.aquaportal.schemas import TOOLS
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
from demo.tests.e2e.stack import ROOT, Stack, wait_until

CALLER = "?phone=%2B34600000001"
CONVERSATIONS = "admin/conversations/conversation/"
CATALOGS = "admin/tools/catalogsnapshot/"
# So many days of calls that a good part is older than what is asked to be erased.
ROWS = ("--conversations", "900", "--turns", "4000", "--tool-calls", "3500", "--days", "30")
OLD = 14
NEWEST = "SELECT id FROM conversations_conversation WHERE caller_name = 'Ana Torres' ORDER BY opened_at DESC"


def take_all(folder: Path) -> None:
    """Fills the demo's database, calls, lets the portal change its tools, and looks as an operator."""
    with running() as stack, browser() as chromium:
        manage(stack, "make_rows", "--yes-fill-this-database", *ROWS)
        manage(stack, "cleanup")
        call(chromium, stack)
        for width in WIDTHS:
            page = signed_in(chromium, width, stack)
            take_lists(page, stack, folder, width)
            take_actions(page, stack, folder, width)
        dark = signed_in(chromium, "desktop", stack, "dark")
        picture(dark, folder, "dashboard-dark", "desktop")


def manage(stack: Stack, *words: str) -> None:
    """Runs a command of Vocero's on the demo's database."""
    settings = {
        "SECRET_KEY": "pictures",
        "ENV_FILE": "",
        "DEBUG": "true",
        "DATABASE_URL": f"sqlite:///{stack.database}",
        "PATH": "/usr/bin:/bin",
    }
    command = [sys.executable, "manage.py", *words, "--skip-checks"]
    subprocess.run(command, cwd=ROOT, env=settings, check=True, stdout=subprocess.DEVNULL)


def call(chromium: Browser, stack: Stack) -> None:
    """A caller who asks, before and after the portal changes what it offers."""
    page = opened(chromium, "desktop")
    page.goto(f"{stack.url}{CALLER}")
    ask(page, "What is the oxygen level in cage four?")
    answered(page, "it is steady")
    reports = next(tool for tool in TOOLS if tool["name"] == "list_reports")
    changed = {**reports, "description": "Lists the reports that the caller may see, the newest first."}
    stack.portal.change_tools(extra_tools=(changed,), withdrawn_tools=("get_podcast",))
    ask(page, "List the latest reports.")
    answered(page, "daily report of the north center")
    query = "SELECT 1 FROM tools_catalogsnapshot WHERE changed_at IS NOT NULL"
    wait_until(lambda: stack.rows(query), PATIENCE / 1000, stack.log)


def take_lists(page: Page, stack: Stack, folder: Path, width: str) -> None:
    """How callers fare, and what they are offered."""
    page.goto(f"{stack.url}admin/")
    picture(page, folder, "dashboard", width, whole=width == "desktop")
    page.goto(f"{stack.url}admin/conversations/turn/?outcome__exact=failed")
    picture(page, folder, "turn-list", width)
    page.goto(f"{stack.url}{CATALOGS}")
    picture(page, folder, "catalog", width)
    [changed] = stack.rows("SELECT id FROM tools_catalogsnapshot WHERE changed_at IS NOT NULL")
    page.goto(f"{stack.url}{CATALOGS}{changed['id']}/change/")
    picture(page, folder, "catalog-page", width)


def take_actions(page: Page, stack: Stack, folder: Path, width: str) -> None:
    """What asks before it is done; nothing of it is done here."""
    page.goto(f"{stack.url}{CATALOGS}refresh/")
    expect(page.get_by_role("button", name="Yes, ask anew")).to_be_visible()
    picture(page, folder, "refresh", width)
    page.goto(f"{stack.url}{CONVERSATIONS}cleanup-older/")
    page.get_by_label("Older than so many days").fill(str(OLD))
    page.get_by_role("button", name="Count it").click()
    expect(page.get_by_role("button", name="Yes, erase")).to_be_visible()
    picture(page, folder, "older", width)
    conversation = f"{stack.url}{CONVERSATIONS}{UUID(stack.rows(NEWEST)[0]['id'])}/"
    page.goto(f"{conversation}erase/")
    expect(page.get_by_role("button", name="Erase everything")).to_be_visible()
    picture(page, folder, "erase-caller", width)
    page.goto(f"{conversation}erase-caller-tokens/")
    expect(page.get_by_role("button", name="Yes, erase")).to_be_visible()
    picture(page, folder, "erase-token", width)
