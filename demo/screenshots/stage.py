"""What a maker of pictures stands on: the demo with its faults at hand, and a browser in two widths."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from demo.screenshots.palette import shrink
from demo.speech.loading import load
from demo.tests.e2e.stack import CHROMIUM, FLAGS, Stack, running_stack

Scheme = Literal["light", "dark"]
SHARED = ("__main__", "operating", "palette", "stage")
WIDTHS = {
    "desktop": ViewportSize(width=1440, height=900),
    "phone": ViewportSize(width=390, height=844),
}
PATIENCE = 60_000
COLOURS = 200


@contextmanager
def running(**settings: str) -> Iterator[Stack]:
    """The demo without speech models, in a folder that goes; `settings` override its own."""
    engine = load(light=True)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            running_stack(Path(folder), engine=engine, **settings) as stack,
        ):
            yield stack
    finally:
        engine.close()


@contextmanager
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()


def opened(chromium: Browser, width: str, scheme: Scheme = "light") -> Page:
    """A page of this width, in a context of its own; nothing on it moves."""
    context = chromium.new_context(viewport=WIDTHS[width], color_scheme=scheme, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def ask(page: Page, question: str) -> None:
    """Types a question to the voice client and sends it."""
    field = page.get_by_role("textbox", name="Your question")
    field.fill(question)
    field.press("Enter")


def answered(page: Page, part: str) -> None:
    """Waits until an answer with these words has been given and heard."""
    expect(page.get_by_role("log")).to_contain_text(part, timeout=PATIENCE, ignore_case=True)
    expect(page.locator("body")).to_have_attribute("data-phase", "ready", timeout=PATIENCE)


def signed_in(chromium: Browser, width: str, stack: Stack, scheme: Scheme = "light") -> Page:
    """An operator's browser."""
    page = opened(chromium, width, scheme)
    page.goto(f"{stack.url}admin/login/")
    page.get_by_label("Username").fill(stack.operator)
    page.get_by_label("Password").fill(stack.password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admin/")
    return page


def picture(page: Page, folder: Path, name: str, width: str, whole: bool = False) -> None:
    """What is on screen now, or the `whole` page."""
    page.wait_for_load_state("networkidle")
    path = folder / f"{name}-{width}.png"
    page.screenshot(path=path, animations="disabled", full_page=whole)
    shrink(path, COLOURS)
