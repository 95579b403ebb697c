"""A tool that needs a tap, in a real session: its sheet goes out, the tap comes in, what was shown runs."""

import json
from itertools import count

import pytest

from conversations.core.policy import Limits
from conversations.core.records import CallApproved
from conversations.realtime import allowed
from conversations.tests.live_call import ANSWER, QUESTION, LiveCall
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Calls, Says
from conversations.tests.virtual_time import in_virtual_time, seconds_pass
from tools.testing import MemorySource, a_tool, answers

pytestmark = pytest.mark.every_dialect

REQUEST = {"type": "object", "properties": {"cage": {"type": "integer"}, "reason": {"type": "string"}}}
FEED = a_tool("order_feed", {"type": "object", "properties": {"request": REQUEST}})
ARGUMENTS = {"request": {"reason": "They are hungry.", "cage": 4}}


def feed_source():
    return MemorySource((FEED, answers({"ordered": True})))


def asking(source, arguments=ARGUMENTS, picks=None, **call):
    service = MemoryService(picks or Calls.one("order_feed", arguments), Says(ANSWER))
    return LiveCall(service, source, confirm_tools=frozenset({"order_feed"}), **call)


async def the_sheet(call):
    """The sheet that a question opens."""
    await call.ready()
    call.types(QUESTION)
    return (await call.shown("ui-command"))["data"]["payload"]


def tap(call, nonce, answer="yes"):
    data = {"t": "confirm_answer", "d": {"nonce": nonce, "answer": answer}}
    call.send("client-message", label="rtvi-ai", id="1", data=data)


@in_virtual_time
async def test_the_tap_runs_exactly_what_the_sheet_showed():
    source = feed_source()
    async with asking(source, labels={"order_feed": "Ordering feed"}) as call:
        await call.ready()
        call.types(QUESTION)
        frame = await call.shown("ui-command")
        sheet = frame["data"]["payload"]
        assert (frame["label"], frame["data"]["command"]) == ("rtvi-ai", "open_confirm")
        assert (sheet["label"], sheet["expires_in"]) == ("Ordering feed", 90)
        assert sheet["summary"] == [
            {"label": "Cage", "value": "4"},
            {"label": "Reason", "value": "They are hungry."},
        ]
        await seconds_pass(2)
        assert source.calls == []
        tap(call, sheet["nonce"])
        await call.shown("vocero.tool.completed")
        await call.shown("response.done")
        assert call.text() == ANSWER
    assert [one.arguments for one in source.calls] == [ARGUMENTS]
    (approved,) = [record for record in call.records if isinstance(record, CallApproved)]
    (opened,) = call.opened_calls()
    assert approved.call_id == opened.call_id == sheet["call_id"]
    assert approved.at - opened.at == pytest.approx(2, abs=0.1)


@in_virtual_time
async def test_a_tap_that_comes_twice_is_told_too_late_and_runs_once_case_030():
    source = feed_source()
    async with asking(source) as call:
        sheet = await the_sheet(call)
        tap(call, sheet["nonce"])
        tap(call, sheet["nonce"], "no")
        closed = await call.shown("ui-command")
        assert closed["data"] == {
            "command": "close_confirm",
            "payload": {"nonce": sheet["nonce"], "reason": "too_late"},
        }
        assert (await call.shown("error"))["error"]["code"] == "too_late"
        await call.shown("vocero.tool.completed")
    assert len(source.calls) == 1


@in_virtual_time
async def test_the_sheet_of_one_call_is_nothing_to_another():
    """The caller, another caller with the caller's nonce, and one who invents a nonce."""
    source, others = feed_source(), feed_source()
    async with asking(source) as call, asking(others) as other:
        call.alone = other.alone = False
        other._ids = count(500)
        for one in (call, other):
            await one.ready()
            one.types(QUESTION)
        mine = (await call.shown("ui-command"))["data"]["payload"]
        theirs = (await other.shown("ui-command"))["data"]["payload"]
        for nonce in (mine["nonce"], "0" * 36, theirs["call_id"]):
            tap(other, nonce)
            assert (await other.shown("error"))["error"]["code"] == "too_late"
        await seconds_pass(1)
        assert source.calls == others.calls == []


@in_virtual_time
async def test_arguments_that_do_not_fit_open_no_sheet():
    source = feed_source()
    async with asking(source, {"request": {"cage": "four"}}) as call:
        line = await call.ready()
        call.types(QUESTION)
        failed = await call.shown("vocero.tool.failed")
        assert failed["code"] == "invalid_arguments"
        await call.shown("response.done")
        await line.quiet()
        output = [e["item"] for e in line.sent_of("conversation.item.create")][-1]["output"]
        assert "request.cage" in output
        assert call.shown_of("ui-command") == []


@in_virtual_time
async def test_a_pure_client_sees_no_sheet_and_the_model_is_told():
    source = feed_source()
    async with asking(source, extras=False) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("response.done")
        await call.shown("response.done")
        output = [e["item"] for e in line.sent_of("conversation.item.create")][-1]["output"]
        assert json.loads(output)["error"]["code"] == "confirmation_declined"
        assert {kind for kind in call.kinds() if not kind.startswith(("response", "conversation"))} == {
            "session.created"
        }
    assert source.calls == []
    assert [record.code for record in call.closed_calls()] == ["confirmation_declined"]


@in_virtual_time
async def test_a_sheet_ends_with_its_time_and_the_setting_says_which():
    async with asking(feed_source(), limits=Limits(confirm=20)) as call:
        sheet = await the_sheet(call)
        assert sheet["expires_in"] == 20
        await seconds_pass(19)
        assert call.closed_calls() == []
        closed = await call.shown("ui-command")
        assert closed["data"]["payload"] == {"nonce": sheet["nonce"], "reason": "expired"}
        await call.shown("response.done")
    assert [record.code for record in call.closed_calls()] == ["confirmation_timeout"]


@in_virtual_time
async def test_spoken_words_decline_and_are_answered():
    source = feed_source()
    async with asking(source) as call:
        line = await call.ready()
        call.types(QUESTION)
        await call.shown("ui-command")
        call.speaks(line, "Yes, please.")
        closed = await call.shown("ui-command")
        assert closed["data"]["payload"]["reason"] == "declined"
        call.answers(line, Says("Tap the button, please."))
        await call.shown("response.done")
        assert call.text() == "Tap the button, please."
    assert source.calls == []
    assert [record.code for record in call.closed_calls()] == ["confirmation_declined"]


@in_virtual_time
async def test_an_approval_that_cannot_be_recorded_runs_nothing():
    source = feed_source()
    async with asking(source) as call:
        sheet = await the_sheet(call)
        call.commits = False
        tap(call, sheet["nonce"])
        assert (await call.shown("vocero.tool.failed"))["code"] == "internal"
    assert source.calls == []


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"nonce": "n"},
        {"nonce": "n", "answer": True},
        {"nonce": "n", "answer": "YES"},
        {"nonce": "", "answer": "yes"},
        {"nonce": 7, "answer": "yes"},
        {"nonce": ["n"], "answer": "no"},
        {"nonce": "n" * 65, "answer": "yes"},
        {"nonce": "n", "answer": ["yes"]},
        {"nonce": "n", "answer": {"yes": 1}},
    ],
)
def test_an_answer_of_another_shape_is_refused(body):
    data = {"t": "confirm_answer", "d": body}
    message = {"label": "rtvi-ai", "type": "client-message", "id": "1", "data": data}
    assert allowed.read(json.dumps(message)).code == "invalid_event"
