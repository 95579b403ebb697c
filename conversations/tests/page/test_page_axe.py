"""Every state of the page, judged by axe: WCAG 2.2 AA and good practice, with nothing found or left open."""

import json
import pathlib

import pytest

from conversations.tests.page.scenes import SCENES
from conversations.tests.page.server import Line

pytestmark = pytest.mark.browser

AXE = pathlib.Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
# What lies under a scrolled or a higher layer axe cannot judge; `test_page_styles.py` measures the colours
# themselves, pair by pair.
UNSEEN = "/obscured by another element|overlap(s|ped by)|pseudo element/"
JUDGE = """async (tags) => {
  const found = await axe.run(document, { runOnly: tags, rules: { "target-size": { enabled: true } } });
  const why = ({ any, all, none }) => [...any, ...all, ...none].map((check) => check.message).join("; ");
  const told = ({ id, nodes }) => nodes.map((node) => [id, node.target.join(" "), why(node)]);
  const unseen = ([id, , message]) => id === "color-contrast" && UNSEEN.test(message);
  const open = found.incomplete.flatMap(told).filter((one) => !unseen(one));
  return [...found.violations.flatMap(told), ...open];
}""".replace("UNSEEN", UNSEEN)
DESKTOP, TELEPHONE = {"width": 1280, "height": 800}, {"width": 320, "height": 640}
LOOKS = {
    "en": [(DESKTOP, "light"), (TELEPHONE, "dark")],
    "es": [(DESKTOP, "dark"), (TELEPHONE, "light")],
}


@pytest.fixture(scope="module")
def axe():
    if not AXE.exists():
        pytest.skip("npm is not installed: no axe")
    return AXE.read_text()


@pytest.fixture(scope="module", params=["en", "es"])
def window(request, chromium, axe):
    """A browser in one language that keeps the page's files from scene to scene."""
    language = request.param
    context = chromium.new_context(
        locale=language, extra_http_headers={"Accept-Language": language}, reduced_motion="reduce"
    )
    context.add_init_script(axe)
    yield context, language
    context.close()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_axe_finds_nothing(window, server, scene):
    context, language = window
    page = context.new_page()
    scene.show(page, server, Line(page))
    for size, scheme in LOOKS[language]:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(JUDGE, TAGS)
        assert found == [], json.dumps([size["width"], scheme, *found], indent=1)
    page.close()
