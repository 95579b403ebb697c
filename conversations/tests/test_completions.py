"""Vocero as the language model of a speech service: one turn, asked, answered, tapped, taken back."""

import asyncio

import pytest
from pydantic import BaseModel

from conversations.brains import Action
from conversations.models import ToolCall, Turn, UpstreamSession
from conversations.tests.brain_kit import ScriptedBrain, picks
from conversations.tests.stored import rows
from conversations.tests.talking import eventually
from conversations.tests.thinking_kit import (
    KEY,
    body,
    hears,
    instructions,
    post,
    speaks,
    streams,
    thinking,
    ticket,
)

pytestmark = pytest.mark.django_db(transaction=True)
pytest_plugins = ("conversations.tests.deployment",)

QUESTION = "Feed cage four."


class ShowCage(Action):
    cage: int


class Feeding(BaseModel):
    cage: int


class Keeper(ScriptedBrain):
    """A brain with tools of its own: one that shows, one that waits for a tap, one that fails."""

    answers = []

    def __init__(self):
        super().__init__()
        self.tapped = asyncio.Event()
        self.cancelled = False

    @property
    def tools(self):
        return [self.show_cage, self.wait_for_tap, self.break_down, self.order_feed]

    async def show_cage(self, wish: Feeding):
        """Shows a cage."""
        self.session.dispatch(ShowCage(cage=wish.cage))
        return "It is shown."

    async def wait_for_tap(self):
        """Waits for a tap."""
        self.session.dispatch(ShowCage(cage=1))
        try:
            await self.tapped.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return "Tapped."

    async def break_down(self):
        """Fails."""
        raise RuntimeError("Vocero-Ticket: planted")

    async def order_feed(self, wish: Feeding):
        """Orders feed."""
        return {"ordered": wish.cage}

    async def on_rtvi(self, session, msg):
        if msg.data["t"] == "tapped":
            self.tapped.set()


@pytest.fixture
def thinks(configure):
    """Lets a brain that answers like this think for calls."""

    def begin(*answers, **settings):
        configure(reasoning=thinking(Keeper, *answers), **settings)
        Keeper.made.clear()

    return begin


async def called(speech, talk):
    """The service's side of a call that is ready."""
    await talk.ready()
    return speech.lines[-1]


async def test_one_spoken_turn_with_a_tool_is_one_row_and_only_speech_is_in_the_answer(
    vocero, ada, speech, thinks
):
    thinks(["Let me look.", picks("show_cage", cage=4)], ["Cage four ", "is fed."])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        assert line.sent_of("session.update")[-1]["session"]["tools"] == []
        hears(line, QUESTION)
        async with streams(vocero, body(instructions(line), QUESTION)) as answer:
            assert await answer.over() == "Let me look.\nCage four is fed."
        command = await talk.shown("ui-command")
        assert command["data"] == {"command": "show_cage", "payload": {"cage": 4}}
        speaks(line, answer.said)
        await talk.shown("response.done")
        assert "tool_calls" not in str(answer.chunks)
        (turn,) = await eventually(lambda: rows(Turn, outcome="done"))
        assert await rows(Turn) == [turn]
    assert (turn.origin, turn.caller_text) == ("voice", QUESTION)
    (call,) = await rows(ToolCall)
    assert (call.turn_id, call.name, call.selection, call.status) == (
        turn.pk,
        "show_cage",
        "brain",
        "completed",
    )
    kinds = talk.kinds()
    assert [kind for kind in kinds if kind.startswith("vocero.tool")] == [
        "vocero.tool.started",
        "vocero.tool.completed",
    ]


async def test_the_brain_is_told_what_the_call_heard_and_what_was_said_before(vocero, ada, speech, thinks):
    thinks(["It is fine."], ["Still fine."])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, "How is cage four?")
        first = await post(vocero, body(instructions(line), "misheard"))
        speaks(line, first.json()["choices"][0]["message"]["content"])
        await talk.shown("response.done")
        await eventually(lambda: rows(Turn, outcome="done"))
        hears(line, "And now?", "spoken-2")
        await post(vocero, body(instructions(line), "How is cage four?", "It is fine.", "And now?"))
    brain = Keeper.made[-1]
    assert [request.text for request in brain.requests] == ["How is cage four?", "And now?"]
    assert [(said.role, said.text) for said in brain.requests[1].history] == [
        ("caller", "How is cage four?"),
        ("assistant", "It is fine."),
    ]


async def test_a_tool_waits_for_a_message_of_the_page_while_the_answer_is_awaited(
    vocero, ada, speech, thinks
):
    thinks([picks("wait_for_tap")], ["Thank you."], silence_limit=3)
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, QUESTION)
        async with streams(vocero, body(instructions(line), QUESTION)) as answer:
            await talk.shown("ui-command")
            # Longer than silence may last: it has a cause.
            await asyncio.wait({asyncio.create_task(answer.over())}, timeout=3.5)
            data = {"t": "tapped", "d": {}}
            await talk.send("client-message", label="rtvi-ai", id="1", data=data)
            assert await answer.over() == "Thank you."
        speaks(line, "Thank you.")
        await talk.shown("response.done")
        (turn,) = await eventually(lambda: rows(Turn, outcome="done"))
        assert (turn.code, len(await rows(Turn))) == ("", 1)


@pytest.mark.parametrize(("answer", "code"), [("yes", ""), ("no", "confirmation_declined")])
async def test_a_sheet_is_tapped_in_the_call(vocero, ada, speech, thinks, answer, code):
    thinks([picks("order_feed", cage=4)], ["Done."], confirm_tools=("order_feed",))
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, QUESTION)
        async with streams(vocero, body(instructions(line), QUESTION)) as streaming:
            sheet = (await talk.shown("ui-command"))["data"]
            assert sheet["command"] == "open_confirm"
            data = {"t": "confirm_answer", "d": {"nonce": sheet["payload"]["nonce"], "answer": answer}}
            await talk.send("client-message", label="rtvi-ai", id="1", data=data)
            assert await streaming.over() == "Done."
    (call,) = await eventually(lambda: rows(ToolCall, code=code, ended_at__isnull=False))
    assert (call.approved_at is not None) == (answer == "yes")


async def test_a_service_that_hangs_up_cancels_the_turns_tools(vocero, ada, speech, thinks):
    thinks(["One moment.", picks("wait_for_tap")])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, QUESTION)
        async with streams(vocero, body(instructions(line), QUESTION)) as answer:
            await answer.until("One moment.")
            await talk.shown("ui-command")
        failed = await talk.shown("vocero.tool.failed")
        assert failed["code"] == "cancelled"
    assert Keeper.made[-1].cancelled
    (call,) = await eventually(lambda: rows(ToolCall, code="cancelled"))
    assert call.status == "failed"


async def test_a_caller_who_speaks_ends_the_brains_work(vocero, ada, speech, thinks):
    thinks([picks("wait_for_tap")], ["Never said."])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, QUESTION)
        async with streams(vocero, body(instructions(line), QUESTION)) as answer:
            await talk.shown("ui-command")
            line.say(
                {"type": "input_audio_buffer.speech_started", "audio_start_ms": 0, "item_id": "spoken-2"}
            )
            assert await answer.over() == ""
        (turn,) = await eventually(lambda: rows(Turn, outcome="interrupted"))
        assert (await talk.shown("vocero.tool.failed"))["code"] == "cancelled"
    assert turn.caller_text == QUESTION
    assert Keeper.made[-1].cancelled


async def test_a_newer_request_supersedes_the_older_in_the_same_turn(vocero, ada, speech, thinks):
    thinks([picks("wait_for_tap")], [picks("show_cage", cage=4)], ["Here it is."])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, QUESTION)
        async with streams(vocero, body(instructions(line), QUESTION)) as first:
            await talk.shown("vocero.tool.started")
            async with streams(vocero, body(instructions(line), QUESTION)) as second:
                assert await second.over() == "Here it is."
            assert await first.over() == ""
        speaks(line, "Here it is.")
        await talk.shown("response.done")
        (turn,) = await eventually(lambda: rows(Turn, outcome="done"))
    calls = sorted(await rows(ToolCall), key=lambda call: call.sequence)
    assert {call.turn_id for call in calls} == {turn.pk}
    assert [(call.name, call.code) for call in calls] == [("wait_for_tap", "cancelled"), ("show_cage", "")]
    assert len(await rows(Turn)) == 1


async def test_a_brain_that_fails_is_heard_to_and_leaves_its_reference(vocero, ada, speech, thinks):
    thinks()
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, QUESTION)
        answer = await post(vocero, body(instructions(line), QUESTION))
        said = answer.json()["choices"][0]["message"]["content"]
        assert said == "Sorry, something went wrong here. Please try again."
        error = (await talk.shown("error"))["error"]
        speaks(line, said)
        await talk.shown("response.done")
        (turn,) = await eventually(lambda: rows(Turn, outcome="done"))
    assert (turn.code, turn.ref) == ("internal", error["ref"])
    assert error["ref"]


async def test_a_line_of_ours_is_said_word_for_word_and_asks_no_brain(vocero, ada, speech, thinks):
    thinks(silence_limit=0.3)
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, QUESTION)
        order = (await line.asked("response.create"))["response"]["instructions"]
        answer = await post(vocero, body(order))
    assert answer.json()["choices"][0]["message"]["content"] == "Sorry, I have no answer. Please try again."
    assert all(brain.requests == [] for brain in Keeper.made)


async def test_the_ticket_is_renewed_with_the_session_and_the_old_one_is_void(vocero, ada, speech, thinks):
    thinks(["Fine."], ["Fine."])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        old = instructions(line)
        await line.hang_up()
        newer = await speech.line(2)
        await talk.shown("vocero.speech.restored")
        assert ticket(newer) != old.rpartition("\n")[2]
        hears(newer, QUESTION)
        assert (await post(vocero, body(old, QUESTION))).status_code == 401
        assert (await post(vocero, body(instructions(newer), QUESTION))).status_code == 200


async def test_an_update_of_the_pages_keeps_the_ticket_last_and_shows_it_to_nobody(
    vocero, ada, speech, thinks, caplog
):
    thinks(["Fine."])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        line.skip()
        await talk.send("session.update", session={"instructions": "The page shows cage four."})
        updated = await talk.shown("session.updated")
        told = (await line.asked("session.update"))["session"]["instructions"]
        assert told.rpartition("\n")[2] == ticket(line)
        assert "The page shows cage four." in told
        assert updated["session"]["instructions"] == "The page shows cage four."
        hears(line, QUESTION)
        assert (await post(vocero, body(told, QUESTION))).status_code == 200
    (session,) = await eventually(lambda: rows(UpstreamSession))
    seen = talk.everything() + caplog.text + str(vars(session))
    secret = ticket(line).rpartition(".")[2]
    assert secret not in seen
    assert "Vocero-Ticket" not in seen


@pytest.mark.parametrize("stream", [False, True])
async def test_what_it_cost_is_told_as_openai_tells_it(vocero, ada, speech, thinks, stream):
    thinks(["Cage four is fine."])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        hears(line, QUESTION)
        asked = body(instructions(line), QUESTION, stream_options={"include_usage": True})
        if stream:
            async with streams(vocero, asked) as answer:
                await answer.over()
            assert answer.chunks[0]["choices"][0]["delta"]["role"] == "assistant"
            assert answer.chunks[-2]["choices"][0]["finish_reason"] == "stop"
            usage = answer.chunks[-1]["usage"]
        else:
            usage = (await post(vocero, asked)).json()["usage"]
    assert usage["completion_tokens"] == 5
    assert usage["total_tokens"] == usage["prompt_tokens"] + 5


@pytest.mark.parametrize("key", ["", "wrong", KEY[:-1], KEY + "x"])
async def test_only_a_speech_service_with_its_key_may_ask(vocero, ada, speech, thinks, key, caplog):
    thinks(["Never said."])
    async with ada.talks() as talk:
        line = await called(speech, talk)
        answer = await post(vocero, body(instructions(line), QUESTION), key)
    assert answer.status_code == 401
    assert all(brain.requests == [] for brain in Keeper.made)
    assert KEY not in caplog.text
