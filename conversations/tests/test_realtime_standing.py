"""What a page that comes back is told anew: the turn, and a brain's tools and sheets, as they stand."""

from conversations.core.events import ConfirmAnswered
from conversations.realtime.standing import MOST, Standing

TURN = {"type": "vocero.turn.started", "turn": 3}
TOOL = {"type": "vocero.tool.started", "call_id": "c1", "name": "pay"}


def command(name, **payload):
    data = {"command": name, "payload": payload}
    return {"label": "rtvi-ai", "type": "ui-command", "id": "x", "data": data}


SHEET = command("open_confirm", nonce="n1", call_id="c1", label="Pay", expires_in=90)


def after(*events):
    standing = Standing()
    for event in events:
        standing.note(event, 100.0)
    return standing


def left(standing, now):
    return [event["data"]["payload"]["expires_in"] for event in standing.again(now)]


def test_a_sheet_comes_again_with_the_time_that_is_left_and_not_when_that_is_over():
    standing = after(SHEET)
    assert left(standing, 130.0) == [60.0]
    assert left(standing, 130.0) == [60.0]
    assert left(standing, 190.0) == []
    assert SHEET["data"]["payload"]["expires_in"] == 90


def test_a_sheet_that_was_decided_withdrawn_or_whose_tool_runs_comes_no_more():
    standing = after(SHEET)
    standing.answered(ConfirmAnswered("n2", True))
    assert len(standing.again(101.0)) == 1
    standing.answered(ConfirmAnswered("n1", True))
    assert standing.again(101.0) == []
    assert after(SHEET, command("close_confirm", nonce="n1", reason="declined")).again(101.0) == []
    assert after(SHEET, {"type": "vocero.tool.failed", "call_id": "c1"}).again(101.0) == []


def test_a_tool_comes_again_while_it_runs():
    assert after(TOOL).again(101.0) == [TOOL]
    assert after(TOOL, {"type": "vocero.tool.completed", "call_id": "c1"}).again(101.0) == []


def test_only_the_newest_turn_comes_again_and_before_all_else():
    assert after(TOOL, {**TURN, "turn": 2}, TURN).again(101.0) == [TURN, TOOL]


def test_what_is_told_once_is_said_to_be_so():
    standing = Standing()
    assert [standing.note(event, 0.0) for event in (TURN, TOOL, SHEET)] == [True, True, True]
    once = [command("toast", text="Hi."), command("open_confirm"), {"type": "vocero.tool.progress"}]
    assert [standing.note(event, 0.0) for event in once] == [False, False, False]


def test_a_brain_that_ends_nothing_fills_nothing():
    events = [command("open_confirm", nonce=f"n{number}", expires_in=90) for number in range(MOST + 5)]
    assert len(after(*events).again(101.0)) == MOST
