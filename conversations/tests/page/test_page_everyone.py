"""The page for everyone, in a real Chromium: by keyboard, enlarged, on any screen, in either direction."""

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import ask, expect_phase, opened
from conversations.tests.page.scenes import NEXT_TRY_WAITS, SCENES
from conversations.tests.page.server import Line

pytestmark = pytest.mark.browser

BY_NAME = {scene.name: scene for scene in SCENES}
STICKS_OUT = """() => [...document.querySelectorAll("body, body *:not(.visually-hidden, .visually-hidden *)")]
  .filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width && (box.right > innerWidth + 1 || box.left < -1);
  }).map((element) => element.id || element.className)"""
# Where the keyboard is, and whether that can be seen.
FOCUSED = """() => {
  const element = document.activeElement;
  const { top, bottom } = element.getBoundingClientRect();
  const [own, box] = [element, element.closest(".box") ?? element].map((one) => getComputedStyle(one));
  const seen = own.outlineStyle !== "none" || box.outlineStyle !== "none" || box.boxShadow !== "none";
  const name = element.id || element.className || element.textContent.trim();
  return [name, seen && top > -1 && bottom < innerHeight + 1];
}"""
CAN_BE_REACHED = """() => [...document.querySelectorAll("button, select, textarea, summary, [tabindex]")]
  .filter((element) => element.tabIndex === 0 && !element.disabled)
  .filter((element) => element.checkVisibility({ visibilityProperty: true }))
  .map((element) => element.id || element.className || element.textContent.trim())"""
# It has the system's own colour of what is chosen, and keeps it.
HIGHLIGHTED = """element => {
  const sample = document.body.appendChild(document.createElement("i"));
  sample.style.cssText = "background: Highlight; forced-color-adjust: none";
  const { backgroundColor: wanted } = getComputedStyle(sample);
  const { backgroundColor, forcedColorAdjust } = getComputedStyle(element);
  sample.remove();
  return backgroundColor === wanted && forcedColorAdjust === "none";
}"""
# The next Tab begins at the page's beginning.
TO_THE_BEGINNING = """() => {
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
}"""


@pytest.fixture
def show(page, server):
    """Plays a scene on the page."""

    def played(name, width=1280, height=800):
        page.set_viewport_size({"width": width, "height": height})
        BY_NAME[name].show(page, server, Line(page))
        return page

    return played


def walk(page):
    """What Tab reaches, one after the other, until it leaves the page."""
    page.evaluate(TO_THE_BEGINNING)
    reached = []
    while len(reached) < 60:
        page.keyboard.press("Tab")
        name, seen = page.evaluate(FOCUSED)
        if name == "client" or name in [before for before, _seen in reached]:
            break
        reached.append((name, seen))
    return reached


@pytest.mark.parametrize("colours", ["none", "active"])
@pytest.mark.parametrize("name", ["speaking", "demo", "failed-delivery"])
def test_tab_reaches_all_that_can_be_pressed_and_shows_where_it_is(show, page, name, colours):
    page.emulate_media(forced_colors=colours)
    show(name)
    reached = walk(page)
    assert [where for where, seen in reached if not seen] == []
    assert [where for where, _seen in reached] == page.evaluate(CAN_BE_REACHED)


@pytest.mark.parametrize(
    ("size", "font"),
    [((320, 256), ""), ((320, 640), "200%"), ((1280, 800), "200%"), ((844, 390), ""), ((3840, 2160), "")],
)
def test_nothing_is_lost_however_large_the_letters_or_small_the_window(show, size, font):
    page = show("hearing", *size)
    page.evaluate("font => { document.documentElement.style.fontSize = font; }", font)
    assert page.evaluate(STICKS_OUT) == []
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    for part in ("#microphone", "#draft", ".send", "#word", "#live .caller .words"):
        page.locator(part).scroll_into_view_if_needed()
        expect(page.locator(part)).to_be_in_viewport(ratio=0.7)


def test_on_a_wall_the_page_fills_the_screen_with_larger_letters(show):
    page = show("ready", 3840, 2160)
    assert page.locator("main").bounding_box()["width"] > 0.8 * 3840
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") > 26


def test_what_a_thumb_presses_is_large_enough(show):
    page = show("speaking", 320, 640)
    for button in page.locator("button:visible").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44, button.inner_text()


def test_what_is_switched_on_is_seen_where_the_systems_colours_are_forced(show, page):
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    show("rated")
    page.click("#captions-switch")
    page.click("#mute")
    for name in ("#mute", "#captions-switch", ".rating [aria-pressed=true]"):
        assert page.locator(name).evaluate(HIGHLIGHTED), name
    for name in ("#settings-open", ".rating [aria-pressed=false]"):
        assert not page.locator(name).evaluate(HIGHLIGHTED), name


def test_a_notice_that_takes_room_leaves_the_beginning_of_the_page_in_sight(show):
    page = show("microphone-denied", 360, 640)
    assert page.locator("#scroll").evaluate("e => e.scrollHeight > e.clientHeight && e.scrollTop === 0")


def test_the_way_out_of_the_settings_stays_in_sight_on_a_telephone_on_its_side(show):
    page = show("settings", 740, 360)
    expect(page.locator("#settings-close")).to_be_in_viewport(ratio=1)
    page.locator("#output-try").scroll_into_view_if_needed()
    expect(page.locator("#settings-close")).to_be_in_viewport(ratio=1)


def test_words_of_another_direction_than_the_pages_run_their_own_way(page, server, line):
    arabic = "ما مستوى الأكسجين؟"
    server.suggestions = [arabic]
    opened(page, server)
    ask(page, arabic)
    line.speaks("It is eight point two, 8.2.")
    expect(page.locator(".answer .words")).to_have_css("direction", "ltr")
    for name in (".caller .words", "#suggestions button", "#ideas-list button"):
        expect(page.locator(name)).to_have_css("direction", "rtl")
    page.fill("#draft", arabic)
    expect(page.locator("#draft")).to_have_css("direction", "rtl")
    page.fill("#draft", "Eight")
    expect(page.locator("#draft")).to_have_css("direction", "ltr")


def test_a_language_that_is_written_from_right_to_left_is_laid_out_so(chromium, server):
    with chromium.new_context(extra_http_headers={"Accept-Language": "ar"}) as context:
        page = context.new_page()
        page.set_viewport_size({"width": 1280, "height": 800})
        BY_NAME["hearing"].show(page, server, Line(page))
        expect(page.locator("html")).to_have_attribute("dir", "rtl")
        middle = {
            part: box["x"] + box["width"] / 2
            for part in (".stage", "#scroll", ".line.caller", ".brand", ".send")
            if (box := page.locator(part).first.bounding_box())
        }
        assert middle[".line.caller"] < middle["#scroll"] < middle[".stage"] < middle[".brand"]
        assert middle[".send"] < middle["#scroll"]
        for width in (1280, 320):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(STICKS_OUT) == []


def test_nothing_moves_for_whoever_wants_it_still(show, page):
    page.emulate_media(reduced_motion="reduce")
    show("tool")
    assert page.evaluate("document.getAnimations().length") == 0


def test_a_lost_line_stays_one_state_while_it_is_tried_again(page, server, line):
    page.add_init_script(NEXT_TRY_WAITS)
    BY_NAME["reconnecting"].show(page, server, line)
    held = []
    page.route("**/api/conversations/*", lambda route: held.append(route))  # noqa: PLW0108
    page.get_by_role("button", name="Try now").click()
    expect_phase(page, "connecting")
    expect(page.locator("#word")).to_have_text("Reconnecting")
    expect(page.locator("#notice")).to_have_attribute("data-tone", "calm")
    held.pop().abort()
