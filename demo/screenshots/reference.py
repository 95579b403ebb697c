"""Pictures of the page that describes the HTTP interface: `/api/docs`, which needs no other host."""

from pathlib import Path

from demo.screenshots.stage import WIDTHS, browser, opened, picture, running


def make(folder: Path) -> None:
    """Its beginning and one of its routes, at both widths, and in the dark."""
    with running() as stack, browser() as chromium:
        for width in WIDTHS:
            page = opened(chromium, width)
            page.goto(f"{stack.url}api/docs")
            picture(page, folder, "beginning", width)
            page.get_by_role("link", name="/api/reasoning").click()
            picture(page, folder, "route", width)
        dark = opened(chromium, "desktop", "dark")
        dark.goto(f"{stack.url}api/docs")
        picture(dark, folder, "beginning-dark", "desktop")
