"""A page whose speech service is away, in a real Chromium: questions are typed and answered over HTTP."""

import pytest
from playwright.sync_api import expect

from conversations.tests.page.person import OXYGEN, QUESTION, ask, expect_phase, expect_text, opened, until
from conversations.tests.page.server import CONVERSATION

pytestmark = pytest.mark.browser

SPEECH_DOWN = 4502


def answer(text, *before):
    """The events of one answer."""
    return [
        {"type": "turn.started", "turn": 1},
        *before,
        *({"type": "text.delta", "delta": word} for word in text.split(" ")),
        {"type": "turn.completed", "turn": 1, "text": text, "tool_calls": []},
    ]


@pytest.fixture
def written(page, server, line):
    """A page that was told that the speech service is away."""
    server.boot["reasoning"] = True
    opened(page, server)
    line.close(SPEECH_DOWN)
    expect_text(page, "#notice", "Type your questions")
    return page


def test_a_question_is_answered_in_writing(written, server):
    expect_phase(written, "ready")
    tool = {"type": "vocero.tool.started", "call_id": "c", "name": "get_metric_history", "label": "Reading"}
    done = {"type": "vocero.tool.completed", "call_id": "c", "name": "x", "duration_ms": 5, "sources": []}
    server.reasoning.append(answer(OXYGEN, tool, done))
    ask(written, QUESTION)
    expect_text(written, "#log", OXYGEN)
    expect_text(written, "#log", "Reading")
    expect_phase(written, "ready")
    assert server.questions == [(CONVERSATION["id"], QUESTION)]


def test_what_was_typed_before_the_service_went_is_asked_then(page, server, line):
    server.boot["reasoning"] = True
    line.greets = False
    page.goto(server.address)
    until(page, lambda: line.sockets)
    server.reasoning.append(answer(OXYGEN))
    ask(page, QUESTION)
    line.close(SPEECH_DOWN)
    expect_text(page, "#log", OXYGEN)


def test_a_sheet_and_an_action_go_back_over_http(written, server):
    sheet = {"nonce": "n1", "call_id": "c", "label": "Ordering feed", "summary": [], "expires_in": 90}
    commands = [
        {"command": "open_confirm", "payload": sheet},
        {"command": "toast", "payload": {"text": "Hi."}},
    ]
    told = [{"label": "rtvi-ai", "type": "ui-command", "id": "a", "data": data} for data in commands]
    server.reasoning.append([{"type": "turn.started", "turn": 1}, *told])
    ask(written, QUESTION)
    expect(written.locator("#toast")).to_have_text("Hi.")
    written.get_by_role("dialog").get_by_role("button", name="Yes, do it").click()
    until(written, lambda: len(server.messages) == 2)
    kinds = {message["data"]["t"]: message["data"]["d"] for message in server.messages}
    assert kinds["action"] == {"id": "a", "command": "toast", "outcome": "done"}
    assert kinds["confirm_answer"] == {"nonce": "n1", "answer": "yes"}


def test_a_turn_that_fails_is_told_and_the_next_question_is_answered(written, server):
    failed = {"type": "turn.failed", "turn": 1, "code": "timeout", "message": "Sorry, this took too long."}
    server.reasoning += [[{"type": "turn.started", "turn": 1}, failed], answer(OXYGEN)]
    ask(written, QUESTION)
    expect_text(written, "#notice", "Sorry, this took too long.")
    ask(written, QUESTION)
    expect_text(written, "#log", OXYGEN)


def test_the_line_can_be_tried_again(written, line):
    written.get_by_role("button", name="Try again").click()
    expect(written.locator("#notice")).to_be_hidden()
    until(written, lambda: len(line.sockets) == 2)


def test_where_nothing_reasons_the_speech_service_is_needed(page, server, line):
    opened(page, server)
    line.close(SPEECH_DOWN)
    expect_phase(page, "error")
