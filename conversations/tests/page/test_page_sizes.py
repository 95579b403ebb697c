"""Every state of the page: in windows of every size, in both directions, and as a screen reader has it."""

import pytest

from conversations.tests.page.person import opened
from conversations.tests.page.scenes import SCENES
from conversations.tests.page.server import Line
from conversations.tests.page.test_page_everyone import STICKS_OUT

pytestmark = pytest.mark.browser

TELEPHONE, ON_ITS_SIDE, TABLET, WALL = (320, 640), (740, 360), (1024, 768), (3840, 2160)
# What is told by itself: where, and whether words that may still change are among it.
# (A running tool keeps its place there; its clock is hidden from a screen reader.)
TOLD = """() => ({
  status: document.querySelectorAll("[role=status]").length,
  log: document.querySelectorAll("[role=log]").length,
  live: document.querySelectorAll("[aria-live]:not([aria-live=off])").length,
  open: document.querySelectorAll("[role=log] .line:not(.tool)[data-state=open]").length,
})"""
WIDER = "document.scrollingElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def window(chromium):
    """A browser that keeps the page's files from scene to scene, in the longest words that there are."""
    context = chromium.new_context(
        locale="es", extra_http_headers={"Accept-Language": "es"}, reduced_motion="reduce"
    )
    yield context
    context.close()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_nothing_sticks_out_and_what_is_told_is_told_in_one_place(window, server, scene):
    page = window.new_page()
    scene.show(page, server, Line(page))
    found = {}
    for width, height in (TELEPHONE, ON_ITS_SIDE, TABLET, WALL):
        page.set_viewport_size({"width": width, "height": height})
        for direction in ("ltr", "rtl"):
            page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
            found[width, height, direction] = (page.evaluate(STICKS_OUT), page.evaluate(WIDER))
    told = page.evaluate(TOLD)
    page.close()
    assert told == {"status": 1, "log": 1, "live": 0, "open": 0}
    assert {where: what for where, what in found.items() if what != ([], False)} == {}


@pytest.mark.parametrize("side", [150, 240, 300])
def test_the_ring_is_as_high_as_it_is_wide(page, server, line, side):
    """A canvas begins as 300 by 150."""
    page.add_init_script(f"""
      const size = new CSSStyleSheet();
      size.replaceSync(".orb {{ width: {side}px !important; height: {side}px !important; }}");
      document.adoptedStyleSheets.push(size);
    """)
    opened(page, server)
    page.wait_for_function(f"document.getElementById('ring').width === {side}")
    assert page.evaluate("document.getElementById('ring').height") == side
