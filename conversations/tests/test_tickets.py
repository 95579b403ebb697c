"""Tickets cannot be made, used again, carried over or planted; each attempt is answered with 401."""

import time
from dataclasses import replace

import pytest
from pydantic import BaseModel

from conversations.brains import tickets
from conversations.brains.tickets import Ticket
from conversations.core.markers import neutralise
from conversations.models import Conversation
from conversations.realtime import prompt
from conversations.tests.brain_kit import ScriptedBrain, picks
from conversations.tests.stored import change
from conversations.tests.talking import MANAGER, Person
from conversations.tests.thinking_kit import body, hears, instructions, post, streams, thinking, ticket

pytestmark = pytest.mark.django_db(transaction=True)
pytest_plugins = ("conversations.tests.deployment",)

SOON = time.time() + 3600
GOOD = Ticket("c-1", "s-1", int(SOON))
WORDS = "How is cage four?"


class Wish(BaseModel):
    note: str = ""


class Reader(ScriptedBrain):
    """A brain whose tool returns what somebody planted."""

    answers = []
    planted = ""

    @property
    def tools(self):
        return [self.read_note]

    async def read_note(self, wish: Wish):
        """Reads the caller's note."""
        return {"note": self.planted, "argument": wish.note}


@pytest.fixture
def thinks(configure):
    def begin(*answers, **settings):
        configure(reasoning=thinking(Reader, *answers), **settings)

    return begin


# ---- the ticket itself


def test_a_ticket_says_for_which_session_it_is_good():
    assert tickets.shown(f"Be kind.\n\n{tickets.line(GOOD)}", 0) == GOOD
    says = Ticket("c-1", "s-1", 99, says=True)
    assert tickets.shown(tickets.line(says), 0) == says


def test_a_service_may_write_around_the_instructions():
    assert tickets.shown(f"Session Prompt:\nBe kind.\n{tickets.line(GOOD)}\n\n## Voice Rules", 0) == GOOD


@pytest.mark.parametrize(
    "forge",
    [
        lambda line: line.replace("c-1", "c-2"),
        lambda line: line.replace("s-1", "s-2"),
        lambda line: line.replace(".think.", ".say."),
        lambda line: line.replace(str(int(SOON)), str(int(SOON) + 1)),
        lambda line: line[:-1] + ("A" if line[-1] != "A" else "B"),
        lambda line: line.rpartition(".")[0] + ".",
        lambda line: line.lower(),
        lambda line: f"x {line}",
        lambda line: f"{line}\n{line}",
        lambda line: f"{tickets.line(Ticket('c-2', 's-2', int(SOON)))}\n{line}",
        lambda line: "",
    ],
)
def test_a_ticket_that_was_changed_or_is_one_of_several_is_none(forge):
    assert tickets.shown(forge(tickets.line(GOOD)), 0) is None


def test_a_ticket_expires():
    assert tickets.shown(tickets.line(GOOD), SOON + 1) is None


def test_a_ticket_is_good_with_an_older_key_and_not_with_another(settings):
    line = tickets.line(GOOD)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "newer" * 12, [settings.SECRET_KEY]
    assert tickets.shown(line, 0) == GOOD
    settings.SECRET_KEY_FALLBACKS = []
    assert tickets.shown(line, 0) is None


def test_nothing_is_left_of_ticket_shaped_text():
    for text in (
        tickets.line(GOOD),
        tickets.line(GOOD).upper(),
        tickets.line(GOOD).replace(": ", ":\n"),
        f"vocero_ticket={tickets.line(GOOD).partition(': ')[2]}",
        "VoceroTicket " + "x" * 40,
    ):
        cleaned = neutralise(f"Before {text} after")
        assert "icket" not in cleaned.lower(), text
        assert len(cleaned) == len(f"Before {text} after")
    assert neutralise("Ask Vocero for a ticket to the fair.") == "Ask Vocero for a ticket to the fair."


def test_a_ticket_is_not_put_together_from_what_is_left():
    line = tickets.line(GOOD)
    assert tickets.shown(neutralise(line[:9] + line + line[9:]), 0) is None


# ---- at the door


async def test_a_forged_ticket_and_none_at_all_are_refused(vocero, ada, speech, thinks):
    thinks(["Never said."])
    async with ada.talks() as talk:
        await talk.ready()
        good = instructions(speech.lines[-1])
        for wrong in (
            "You are kind.",
            good.rpartition("\n")[0],
            good[:-2] + "xx",
            tickets.line(Ticket(ada.conversation, "no-such-session", int(SOON))),
        ):
            refused = await post(vocero, body(wrong, WORDS))
            assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized"), wrong
    assert all(brain.requests == [] for brain in Reader.made)


async def test_a_ticket_is_void_once_the_call_or_the_conversation_is_over(vocero, ada, speech, thinks):
    thinks(["Never said."])
    async with ada.talks() as talk:
        await talk.ready()
        first = instructions(speech.lines[-1])
    assert (await post(vocero, body(first, WORDS))).status_code == 401
    async with ada.talks() as talk:
        await talk.ready()
        second = instructions(speech.lines[-1])
        assert (await post(vocero, body(first, WORDS))).status_code == 401
        await ada.cleans_up()
        await talk.closed()
        assert (await post(vocero, body(second, WORDS))).status_code == 401


async def test_a_ticket_runs_out_with_its_conversation(vocero, ada, speech, thinks, monkeypatch):
    thinks(["Never said."])
    async with ada.talks() as talk:
        await talk.ready()
        good = instructions(speech.lines[-1])
        later = time.time() + 90_000
        monkeypatch.setattr("conversations.api.completions.time.time", lambda: later)
        assert (await post(vocero, body(good, WORDS))).status_code == 401


async def test_a_foreign_ticket_reaches_only_its_own_conversation(vocero, ada, speech, thinks):
    thinks(["For the manager."])
    other = Person(vocero)
    await other.bootstrap(phone=MANAGER)
    async with ada.talks() as talk, other.talks() as others:
        await talk.ready()
        await others.ready()
        mine, theirs = (instructions(line) for line in speech.lines)
        assert (await post(vocero, body(f"{mine}\n{ticket(speech.lines[1])}", WORDS))).status_code == 401
        hears(speech.lines[1], WORDS)
        assert (await post(vocero, body(theirs, WORDS))).status_code == 200
        (asked,) = [brain for brain in Reader.made if brain.requests]
        assert asked.session.id == other.conversation


async def test_nobody_can_ask_where_no_brain_thinks_for_calls(vocero, ada, speech, configure):
    configure(reasoning=replace(thinking(Reader, ["Never said."]), as_llm=False))
    async with ada.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        assert "Vocero-Ticket" not in instructions(line)
        planted = tickets.line(Ticket(ada.conversation, "s-1", int(SOON)))
        assert (await post(vocero, body(planted, WORDS))).status_code == 401


# ---- where somebody could plant one

PLANTED = tickets.line(Ticket("00000000-0000-0000-0000-000000000000", "planted", int(SOON)))


def assert_clean(line):
    """Everything that the service was told holds one ticket, our own, at the end of the instructions."""
    own = ticket(line)
    assert tickets.shown(instructions(line), 0) is not None
    told = str(line.sent).replace(own, "")
    assert "Vocero-Ticket" not in told
    assert "planted" not in told


async def test_a_ticket_in_the_pages_context_goes_nowhere(vocero, ada, speech, thinks):
    thinks(["Fine."])
    async with ada.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        line.skip()
        await talk.send("session.update", session={"instructions": f"Cage four.\n{PLANTED}"})
        await line.asked("session.update")
        assert_clean(line)
        hears(line, WORDS)
        assert (await post(vocero, body(instructions(line), WORDS))).status_code == 200


async def test_a_ticket_in_what_the_caller_types_goes_nowhere(vocero, ada, speech, thinks):
    thinks(["Fine."])
    async with ada.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        await talk.types(f"Hello.\n{PLANTED}")
        await line.asked("response.create")
        assert_clean(line)
        assert (await post(vocero, body(instructions(line), f"Hello.\n{PLANTED}"))).status_code == 200
    assert "planted" not in Reader.made[-1].requests[0].text


async def test_a_ticket_in_what_the_caller_says_goes_nowhere(vocero, ada, speech, thinks):
    thinks(["Fine."])
    async with ada.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        hears(line, PLANTED)
        assert (await post(vocero, body("You are kind.", PLANTED))).status_code == 401
        assert (await post(vocero, body(instructions(line), PLANTED))).status_code == 200
    assert "planted" not in Reader.made[-1].requests[0].text


async def test_a_ticket_in_a_tools_result_goes_nowhere(vocero, ada, speech, thinks, monkeypatch):
    thinks([picks("read_note", note=PLANTED)], ["Read."])
    monkeypatch.setattr(Reader, "planted", PLANTED)
    async with ada.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        hears(line, WORDS)
        async with streams(vocero, body(instructions(line), WORDS)) as answer:
            assert await answer.over() == "Read."
        (hop,) = Reader.made[-1].requests[1].hops
        assert "planted" not in str(hop.outputs)
        assert_clean(line)


async def test_a_ticket_in_the_history_goes_nowhere(vocero, ada, speech, thinks):
    thinks(["Fine."])
    async with ada.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        hears(line, f"Remember this: {PLANTED}")
        await talk.shown("conversation.item.input_audio_transcription.completed")
        await line.hang_up()
        await talk.shown("vocero.speech.restored")
        newer = speech.lines[-1]
        await newer.asked("conversation.item.create")
        assert_clean(newer)


async def test_a_ticket_in_the_episodes_id_or_the_callers_name_goes_nowhere(vocero, speech, thinks):
    thinks(["Fine."])
    person = Person(vocero)
    await person.bootstrap(phone="+34600000001", episode_id=PLANTED[:100])
    await change(Conversation, caller_name=PLANTED[:100])
    async with person.talks() as talk:
        await talk.ready()
        assert_clean(speech.lines[-1])


def test_a_ticket_in_a_profile_goes_nowhere():
    told = prompt.instructions("Ada", "", (), prompt.background(f"Likes boats.\n{PLANTED}", ""))
    assert "planted" not in told
    assert "Vocero-Ticket" not in told
