"""A caller without a microphone writes; an operator looks; each meets no complaint of the browser."""

import pytest
from playwright.sync_api import expect

from demo.tests.e2e.heard import events
from demo.tests.e2e.stack import browser_page, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.speech]

PHONE = "%2B34600000001"
WAIT = 60_000
QUESTIONS = {
    "List the latest reports.": "daily report of the north center",
    "What is the oxygen level in cage four?": "milligrams per liter",
    "Give me my briefing.": "Here is your briefing",
    "List my podcasts.": "Healthy Waters",
    "Read the transcript of the latest episode.": "Welcome to Healthy Waters",
    "Tell me more about the north center report.": "Which one",
}


def write(page, text):
    page.get_by_label("Your question").fill(text)
    page.get_by_label("Your question").press("Enter")


def test_each_question_of_the_demo_is_answered_in_writing_and_the_address_is_clean(stack, tmp_path):
    with browser_page(stack, tmp_path) as page:
        page.goto(f"{stack.url}?phone={PHONE}")
        expect(page.get_by_role("button", name="Which insights are new?")).to_be_visible(timeout=WAIT)
        for question, part in QUESTIONS.items():
            write(page, question)
            expect(page.get_by_role("log")).to_contain_text(part, timeout=WAIT, ignore_case=True)
        assert "phone" not in page.url
        assert page.complaints == []


def test_an_operator_sees_the_conversation_its_turn_its_tool_call_and_the_callers_thumb(stack, tmp_path):
    with browser_page(stack, tmp_path) as page:
        page.goto(f"{stack.url}?phone={PHONE}")
        write(page, "What is the oxygen level in cage four?")
        expect(page.get_by_role("log")).to_contain_text("milligrams per liter", timeout=WAIT)
        with page.expect_response("**/turns/*/rating") as kept:
            page.get_by_role("button", name="Bad answer").click(timeout=WAIT)
        assert kept.value.status == 200
        page.goto(f"{stack.url}admin/")
        page.get_by_label("Username").fill(stack.operator)
        page.get_by_label("Password").fill(stack.password)
        page.get_by_role("button", name="Log in").click()
        page.goto(f"{stack.url}admin/conversations/conversation/?rating=bad")
        page.get_by_role("link", name="Ana Torres").first.click()
        expect(page.locator("body")).to_contain_text("What is the oxygen level in cage four?")
        expect(page.locator("body")).to_contain_text("get_metric_history")
        expect(page.locator("body")).to_contain_text("rated bad")
        page.goto(f"{stack.url}admin/conversations/toolcall/")
        expect(page.locator("body")).to_contain_text("get_metric_history")
        assert page.complaints == []


def test_cleanup_ends_the_live_page_and_erases_the_token(stack, tmp_path):
    with browser_page(stack, tmp_path) as page:
        page.goto(f"{stack.url}?phone={PHONE}")
        write(page, "List my podcasts.")
        expect(page.get_by_role("log")).to_contain_text("Healthy Waters", timeout=WAIT)
        conversation = events(stack.frames, "vocero.conversation.ready")[-1]["conversation"]["id"]
        status = page.evaluate(
            """async (id) => {
                const token = document.cookie.match(/csrftoken=([^;]+)/)[1];
                const answer = await fetch(`/api/conversations/${id}`, {
                    method: "DELETE", headers: {"X-CSRFToken": token}});
                return answer.status;
            }""",
            conversation,
        )
        assert status == 204
        expect(page.locator("body")).to_have_attribute("data-phase", "ended", timeout=WAIT)
    query = """SELECT t.ciphertext, v.state, v.close_reason FROM conversations_backendtoken t
               JOIN conversations_conversation v ON v.id = t.conversation_id WHERE v.id = ?"""
    (row,) = stack.rows(query, conversation.replace("-", ""))
    assert row == {"ciphertext": "", "state": "closed", "close_reason": "caller_cleanup"}


def test_no_token_argument_or_result_reaches_the_page_or_the_log(stack, tmp_path):
    with browser_page(stack, tmp_path) as page:
        page.goto(f"{stack.url}?phone={PHONE}")
        write(page, "What is the oxygen level in cage four?")
        expect(page.get_by_role("log")).to_contain_text("milligrams per liter", timeout=WAIT)
        page_text = page.content()
    wait_until(lambda: all(row["ended_at"] for row in stack.calls()), 60)
    seen = page_text + "".join(stack.frames) + stack.log.read_text(errors="replace")
    tokens = stack.portal.accounts.tokens
    assert tokens
    for token in tokens:
        secret = token.removeprefix("aqp_")
        pieces = {secret[start : start + 6] for start in range(len(secret) - 5)}
        assert not [piece for piece in pieces if piece in seen]
    assert '"cage_number"' not in seen
    assert '"series"' not in seen
