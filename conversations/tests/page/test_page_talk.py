"""Beside the words in a real Chromium: what to ask, thumbs, sources, captions, and what to keep."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import OXYGEN, QUESTION, ask, expect_phase, expect_text, opened, until
from conversations.tests.page.server import CONVERSATION, Line

pytestmark = pytest.mark.browser

RATING = f"/api/conversations/{CONVERSATION['id']}/turns/7/rating"


@pytest.fixture
def answered(page, server, line):
    """A page with one answered question."""
    opened(page, server)
    ask(page, QUESTION)
    line.send("vocero.turn.started", turn=7)
    call = {"call_id": "call_1", "name": "get_metric_history", "turn": 7}
    line.send("vocero.tool.started", label="Reading the metric history", **call)
    line.send("vocero.tool.completed", duration_ms=1234, sources=[{"title": "Oxygen, cage four"}], **call)
    line.speaks(OXYGEN)
    expect_text(page, "[role=log]", OXYGEN)
    return page


def test_what_to_ask_is_shown_first_and_folded_away_later(page, server, line):
    server.suggestions = [QUESTION, "Give me my briefing."]
    opened(page, server)
    expect(page.locator("#suggestions button")).to_have_text(server.suggestions)
    expect(page.locator("#ideas")).to_be_hidden()
    page.get_by_role("button", name="Give me my briefing.").click()
    expect(page.locator("#welcome")).to_be_hidden()
    expect(page.locator("#ideas")).to_be_hidden()
    expect(page.locator("#keep")).to_be_hidden()
    line.speaks("Here it is.")
    expect(page.locator("#ideas-list")).to_be_hidden()
    page.get_by_text("What can I ask?").click()
    page.locator("#ideas-list").get_by_role("button", name=QUESTION).click()
    until(page, lambda: len(line.of("conversation.item.create")) == 2)
    expect(page.locator("#ideas-list")).to_be_hidden()
    expect(page.locator("#draft")).to_be_focused()


def test_a_tapped_suggestion_calls_no_keyboard_over_the_answer(chromium, server):
    with chromium.new_context(has_touch=True, is_mobile=True) as context:
        page = context.new_page()
        line = Line(page)
        server.suggestions = [QUESTION]
        opened(page, server)
        page.get_by_role("button", name=QUESTION).tap()
        until(page, lambda: line.of("conversation.item.create"))
        expect(page.locator("#microphone")).to_be_focused()


def test_without_suggestions_nothing_is_promised(page, server, line):
    server.suggestions = []
    opened(page, server)
    expect_text(page, "#welcome-line", "Press the microphone and say it, or type it.")
    expect(page.locator("#suggestions")).to_be_hidden()
    path = f"/api/conversations/{CONVERSATION['id']}/suggestions"
    assert server.requests.count(path) == 2


def test_how_to_begin_is_what_can_be_done(page, server, line):
    server.boot["reasoning"] = True
    server.suggestions = [QUESTION]
    opened(page, server)
    expect_text(page, "#welcome-line", "Say it, type it, or begin with one of these:")
    line.close(4502)
    expect_text(page, "#welcome-line", "Type your question, or begin with one of these:")
    server.answers = [(401, {"code": "login_required", "request_id": "req-77"}, {})]
    page.reload()
    expect_phase(page, "error")
    expect(page.locator("#welcome-line")).to_be_empty()


def test_an_answer_tells_its_sources(answered):
    expect(answered.locator(".answer .sources")).to_have_text("From: Oxygen, cage four")


def test_a_thumb_is_kept_and_taken_back_and_the_keyboard_stays_there(answered, server):
    bad = answered.get_by_role("button", name="Bad answer")
    bad.focus()
    answered.keyboard.press("Enter")
    expect(bad).to_have_attribute("aria-pressed", "true")
    expect(bad).to_be_focused()
    answered.keyboard.press("Enter")
    expect(bad).to_have_attribute("aria-pressed", "false")
    until(answered, lambda: len(server.ratings) == 2)
    assert server.ratings == [(RATING, {"rating": "bad"}), (RATING, {"rating": None})]


def test_a_thumb_that_is_not_kept_goes_back_and_says_so(answered, server):
    server.rating_status = 404
    good = answered.get_by_role("button", name="Good answer")
    good.click()
    expect_text(answered, "#notice-text", "Your rating could not be kept.")
    expect_text(answered, "#notice-ref", "a1b2c3d4")
    expect(good).to_have_attribute("aria-pressed", "false")


def test_a_thumb_of_an_earlier_visit_is_shown_again(page, server, line):
    turn = {"index": 7, "origin": "text", "caller_text": QUESTION, "heard_text": OXYGEN, "outcome": "done"}
    server.turns = [{**turn, "tools": [], "rating": "good", "started_at": "2026-12-01T09:05:07.000Z"}]
    opened(page, server)
    expect(page.get_by_role("button", name="Good answer")).to_have_attribute("aria-pressed", "true")


def test_a_service_that_names_no_turns_offers_no_thumbs(page, server, line):
    opened(page, server)
    ask(page, QUESTION)
    line.speaks(OXYGEN)
    expect_text(page, "[role=log]", OXYGEN)
    expect(page.locator(".rating")).to_have_count(0)


def test_captions_show_what_is_said_in_time_with_the_sound_and_are_remembered(page, server, line):
    opened(page, server)
    switch = page.get_by_role("switch", name="Captions")
    expect(page.locator("#captions")).to_be_hidden()
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")
    ask(page, QUESTION)
    expect(page.locator("#caption")).to_have_text(QUESTION)
    line.speaks("One two three four. Five six seven eight nine ten.", ms=8000)
    caption = page.locator("#caption")
    expect(caption).to_have_text(re.compile("^One"))
    expect(caption).not_to_contain_text("Five")
    expect(caption).to_have_text("Five six seven eight nine ten.")
    size = caption.evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert size >= 40
    opened(page, server)
    expect(page.locator("#captions")).to_be_visible()
    switch.click()
    expect(page.locator("#captions")).to_be_hidden()


@pytest.mark.parametrize(("width", "height"), [(320, 568), (844, 390), (1280, 800), (3840, 2160)])
def test_captions_leave_room_for_the_conversation_and_the_draft(answered, line, width, height):
    answered.set_viewport_size({"width": width, "height": height})
    answered.get_by_role("switch", name="Captions").click()
    line.hears("user_9", "A very long question that goes on and on " * 6)
    expect(answered.locator("#caption")).not_to_be_empty()
    expect(answered.locator("#draft")).to_be_in_viewport(ratio=0.9)
    expect(answered.locator("#caption")).to_be_in_viewport()
    assert answered.locator("#scroll").evaluate("e => e.clientHeight") > 60
    assert answered.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_conversation_is_copied_and_saved_as_it_was_heard(answered):
    answered.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answered.get_by_role("button", name="Copy the conversation").click()
    expect(answered.locator("#toast")).to_have_text("Copied.")
    copied = answered.evaluate("() => navigator.clipboard.readText()")
    with answered.expect_download() as saving:
        answered.get_by_role("button", name="Save it as a file").click()
    expect_text(answered, "#toast", "saved as a text file")
    saved = Path(saving.value.path()).read_text()
    assert re.fullmatch(r"vocero-\d{4}-\d\d-\d\d-\d{4}\.txt", saving.value.suggested_filename)
    time = r"\[\d\d:\d\d:\d\d\] "
    lines = [f"You: {QUESTION}", "(Reading the metric history: Done)", f"Vocero: {OXYGEN}"]
    expected = "".join(time + re.escape(one) + "\n" for one in lines)
    for text in (copied, saved):
        assert re.fullmatch(rf"Vocero · Ana Torres · \d{{4}}-\d\d-\d\d \d\d:\d\d\n\n{expected}", text)


def test_where_the_clipboard_is_closed_the_old_way_copies(answered):
    answered.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('closed')); }")
    answered.get_by_role("button", name="Copy the conversation").click()
    expect(answered.locator("#toast")).to_have_text("Copied.")
    answered.focus("#draft")
    answered.keyboard.press("Control+V")
    expect(answered.locator("#draft")).to_have_value(re.compile(re.escape(OXYGEN)))


def test_the_reference_of_a_failure_can_be_taken_along(answered, line):
    answered.context.grant_permissions(["clipboard-read", "clipboard-write"])
    failed = {"call_id": "c2", "name": "get_report", "turn": 7, "code": "forbidden", "ref": "k3f9a2"}
    line.send("vocero.tool.failed", message="You may not see it.", **failed)
    answered.locator(".chip[data-tone=failed]").get_by_role("button", name="Copy").click()
    expect(answered.locator("#toast")).to_have_text("Copied.")
    copied = answered.evaluate("() => navigator.clipboard.readText()")
    assert copied == "Get report · You may not see it. · Reference k3f9a2"


def test_what_is_typed_while_the_line_is_away_waits_and_says_so(page, server, line):
    opened(page, server)
    line.greets = False
    line.close(1011)
    expect_phase(page, "reconnecting")
    ask(page, QUESTION)
    expect_text(page, ".delivery", "Waiting to be sent")
    until(page, lambda: len(line.sockets) > 1)
    line.ready()
    until(page, lambda: line.of("conversation.item.create"))
    expect(page.locator(".delivery")).to_have_count(0)


def test_a_line_that_is_drawn_again_is_not_read_out_again(page, server, line):
    """A live region tells every node that is added: each line is added to the log once."""
    opened(page, server)
    watch = """() => {
      window.added = [];
      const tell = ({ addedNodes }) => addedNodes.forEach((node) => added.push(node.className));
      const note = (changes) => changes.forEach(tell);
      new MutationObserver(note).observe(document.getElementById("log"), { childList: true });
    }"""
    page.evaluate(watch)
    ask(page, QUESTION)
    sent = until(page, lambda: line.of("conversation.item.create"))[0]["item"]
    item = {**sent, "id": "item_of_the_service"}
    line.send("conversation.item.added", item=item, previous_item_id=None)
    line.send("vocero.turn.started", turn=1)
    line.speaks("It is eight. 👍🏽", done=False)
    line.speaks("It is eight. 👍🏽")
    expect(page.locator(".rating")).to_have_count(1)
    assert page.evaluate("() => added") == ["line caller", "line answer"]


def test_the_list_of_tools_says_what_the_operator_calls_them(page, server, line):
    server.boot |= {"mode": "apipilot"}
    tool = {"description": "The latest.", "parameters": {}, "requires_auth": True}
    server.tools = [{"name": "list_reports", **tool}, {"name": "get_sea_forecast", **tool}]
    server.labels = {"list_reports": "Reading the reports"}
    opened(page, server)
    expect(page.locator("#tools-list strong")).to_have_text(["Reading the reports", "Get sea forecast"])
