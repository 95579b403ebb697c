"""Turns that wait for a tap, by the operator's list or by the brain's own action; turns that are left."""

import asyncio
import secrets

from pydantic import BaseModel

from conversations.brains import Action
from conversations.brains.live import MOST_MESSAGES, MOST_WAITING, LiveSession
from conversations.core.events import ConfirmAnswered
from conversations.core.policy import Limits
from conversations.core.records import CallApproved
from conversations.realtime.allowed import ClientMessage
from conversations.tests.brain_kit import ScriptedBrain, picks
from conversations.tests.brain_turn import BrainTurn
from conversations.tests.virtual_time import in_virtual_time, seconds_pass


class Sum(BaseModel):
    euros: int


class AskToPay(Action):
    nonce: str


class PayBrain(ScriptedBrain):
    """Pays, with a tap that the operator wants or that it asks for itself."""

    def __init__(self, *script):
        super().__init__()
        self.answers = [list(answer) for answer in script]
        self.paid, self.waiting, self.let_go = [], {}, None

    @property
    def tools(self):
        return [self.pay, self.ask_and_pay, self.pay_slowly]

    async def pay(self, total: Sum):
        """Pays."""
        self.paid.append(total.euros)
        return "paid"

    async def pay_slowly(self):
        """Pays after a while."""
        await seconds_pass(5)
        self.paid.append(1)
        return "paid slowly"

    async def ask_and_pay(self):
        """Pays once the caller has tapped."""
        nonce = secrets.token_hex(4)
        tapped = self.waiting[nonce] = asyncio.get_running_loop().create_future()
        self.session.dispatch(AskToPay(nonce=nonce))
        try:
            async with asyncio.timeout(60):
                return "paid" if await tapped == "yes" else "The caller declined."
        except TimeoutError:
            return "The caller did not answer."
        finally:
            del self.waiting[nonce]

    async def on_rtvi(self, session, msg):
        if self.let_go is not None:
            await self.let_go.wait()
        waiting = self.waiting.get(msg.data["d"].get("nonce"))
        if waiting is not None and not waiting.done():
            waiting.set_result(msg.data["d"]["answer"])


CONFIRMED = {"confirm_tools": frozenset({"pay"}), "limits": Limits(confirm=90.0)}
PAYS = picks("pay", euros=40)


def said(nonce, answer):
    return ClientMessage("m-1", "pay_answer", {"nonce": nonce, "answer": answer})


async def sheet(turn):
    await turn.shown("ui-command")
    (command,) = turn.of("ui-command")
    return command["data"]["payload"]


@in_virtual_time
async def test_a_tapped_yes_runs_exactly_what_the_sheet_showed():
    async with BrainTurn(PayBrain([PAYS], ["Paid."]), **CONFIRMED) as turn:
        shown = await sheet(turn)
        assert shown["summary"] == [{"label": "Euros", "value": "40"}]
        assert shown["expires_in"] == 90.0
        assert turn.brain.paid == []
        turn.answering.receive(ConfirmAnswered("another", True))
        assert turn.brain.paid == []
        turn.answering.receive(ConfirmAnswered(shown["nonce"], True))
        await turn.over()
    assert turn.brain.paid == [40]
    assert turn.last["text"] == "Paid."
    assert [record for record in turn.records if isinstance(record, CallApproved)]


@in_virtual_time
async def test_a_tapped_no_and_no_tap_at_all_end_in_words():
    async with BrainTurn(PayBrain([PAYS], ["Then not."]), **CONFIRMED) as turn:
        turn.answering.receive(ConfirmAnswered((await sheet(turn))["nonce"], False))
        await turn.over()
    assert (turn.codes, turn.last["text"]) == (["confirmation_declined"], "Then not.")
    async with BrainTurn(PayBrain([PAYS], ["You did not tap."]), **CONFIRMED) as turn:
        await turn.over()
    assert (turn.codes, turn.last["text"]) == (["confirmation_timeout"], "You did not tap.")
    assert turn.brain.paid == []


@in_virtual_time
async def test_where_nobody_can_tap_the_call_is_declined_at_once():
    async with BrainTurn(PayBrain([PAYS], ["I cannot."]), has_sheets=False, **CONFIRMED) as turn:
        await turn.over()
    assert turn.codes == ["confirmation_declined"]
    assert turn.of("ui-command") == []
    assert asyncio.get_running_loop().time() < 1001


@in_virtual_time
async def test_a_turn_that_is_left_takes_its_sheet_back():
    async with BrainTurn(PayBrain([PAYS]), **CONFIRMED) as turn:
        await sheet(turn)
        turn.answering.stop("cancelled")
        ended = await turn.over()
    assert (ended.outcome, turn.codes) == ("cancelled", ["cancelled"])
    assert [one["data"]["command"] for one in turn.of("ui-command")] == ["open_confirm", "close_confirm"]


@in_virtual_time
async def test_a_tool_waits_for_a_message_that_comes_in_another_task_while_its_turn_runs():
    for answer, result in (("yes", "paid"), ("no", "The caller declined.")):
        async with BrainTurn(PayBrain([picks("ask_and_pay")], ["Done."])) as turn:
            nonce = (await sheet(turn))["nonce"]
            assert turn.answering.receive(said("wrong", "yes"))
            assert turn.answering.receive(said(nonce, answer))
            await turn.over()
        assert turn.outputs[0][0].endswith(result)
        assert turn.last["text"] == "Done."


@in_virtual_time
async def test_a_tool_that_waits_in_vain_gives_up_in_words():
    async with BrainTurn(PayBrain([picks("ask_and_pay")], ["Another time."])) as turn:
        await turn.over()
    assert turn.outputs[0][0].endswith("The caller did not answer.")
    assert turn.last["text"] == "Another time."


@in_virtual_time
async def test_messages_that_a_brain_does_not_get_done_with_are_bounded():
    brain = PayBrain([picks("ask_and_pay")], ["Done."])
    brain.let_go = asyncio.Event()
    async with BrainTurn(brain) as turn:
        nonce = (await sheet(turn))["nonce"]
        taken = [turn.answering.receive(said(nonce, "yes")) for _ in range(MOST_MESSAGES + 1)]
        brain.let_go.set()
        await turn.over()
    assert taken == [True] * MOST_MESSAGES + [False]


@in_virtual_time
async def test_a_message_on_which_the_brain_breaks_breaks_nothing_else(caplog):
    class Fragile(PayBrain):
        async def on_rtvi(self, session, msg):
            raise ValueError(msg.data["d"]["nonce"])

    async with BrainTurn(Fragile([picks("ask_and_pay")], ["Still here."])) as turn:
        nonce = (await sheet(turn))["nonce"]
        turn.answering.receive(said(nonce, "yes"))
        await turn.over()
    assert turn.last["text"] == "Still here."
    assert "brain: message failed" in caplog.text
    assert nonce not in caplog.text


@in_virtual_time
async def test_a_tool_that_may_finish_runs_on_after_its_turn_and_the_next_turn_knows():
    session = LiveSession("c-1", "Ada Admin")
    terms = {"finish_tools": frozenset({"pay_slowly"})}
    async with BrainTurn(PayBrain([picks("pay_slowly")]), session=session, **terms) as turn:
        await turn.shown("vocero.tool.started")
        turn.answering.stop("cancelled")
        await turn.over()
        assert turn.codes == []
        await seconds_pass(6)
    assert turn.brain.paid == [1]
    assert turn.codes == [""]
    async with BrainTurn(brain := PayBrain(["It was paid."]), session=session) as later:
        await later.over()
    (note,) = brain.requests[0].history
    assert note.text.startswith("[Result of tool pay_slowly")
    assert note.text.endswith("paid slowly")


@in_virtual_time
async def test_what_may_not_finish_ends_with_its_turn():
    async with BrainTurn(PayBrain([picks("pay_slowly")])) as turn:
        await turn.shown("vocero.tool.started")
        turn.answering.stop("cancelled")
        await turn.over()
        await seconds_pass(6)
    assert turn.brain.paid == []
    assert turn.codes == ["cancelled"]
    assert [event["code"] for event in turn.of("vocero.tool.failed")] == ["cancelled"]


def test_actions_without_a_screen_wait_for_the_next_one_and_are_bounded():
    session = LiveSession("c-1", None)
    sent = [session.dispatch(AskToPay(nonce=str(n))) for n in range(MOST_WAITING + 2)]
    shown = []
    session.show_on(shown.append)
    assert [event["id"] for event in shown] == sent[2:]
    last = session.dispatch(AskToPay(nonce="now"))
    assert shown[-1]["id"] == last
    session.hide_from(shown.append)
    session.dispatch(AskToPay(nonce="later"))
    assert shown[-1]["id"] == last
