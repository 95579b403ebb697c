"""What a maker of pictures stands on: the demo with its faults at hand, and a browser in two widths."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from demo.speech.loading import load
from demo.tests.e2e.stack import CHROMIUM, FLAGS, Stack, running_stack

Scheme = Literal["light", "dark"]
SHARED = ("__main__", "stage")
WIDTHS = {
    "desktop": ViewportSize(width=1440, height=900),
    "phone": ViewportSize(width=390, height=844),
}
PATIENCE = 60_000


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
