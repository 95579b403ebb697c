"""The whole way against the demo AquaPortal: discover, call, refuse, page, cut, cancel."""

import asyncio

import pytest

from demo.aquaportal.testing import running_portal
from tools import catalog, executor
from tools.sources.mcp import McpSource, Server
from tools.testing import NOW, ROOM, TIMEOUT, MemoryCache, a_caller, a_context, reference_data

EIGHT = {
    "list_reports",
    "get_report",
    "list_insights",
    "get_metric_history",
    "list_podcasts",
    "get_podcast",
    "read_podcast_transcript",
    "get_my_briefing",
}
ADMINISTRATOR, NORTH, EXPIRING = "+34600000001", "+34600000002", "+34600000008"
OXYGEN = {"request": {"metric": "oxygen", "cage_number": 4}}


@pytest.fixture(scope="module")
def portal():
    with running_portal() as running:
        yield running


class Conversation:
    """One caller of the portal with the offer made to them."""

    def __init__(self, portal, phone):
        self.caller = a_caller(phone, portal.log_in(phone))
        self.source = McpSource(Server(portal.mcp_url))
        self.offer = None

    async def discover(self):
        self.offer = await catalog.discover([self.source], self.caller, EIGHT, MemoryCache(), NOW)
        return self.offer

    async def ask(self, name, arguments=None, room=ROOM, **context):
        return await executor.run(self.offer, name, arguments, a_context(self.caller, **context), room)


@pytest.fixture
async def talk(portal):
    """Gives conversations of callers, closed at the end."""
    portal.reset()
    started = []

    async def begin(phone=ADMINISTRATOR):
        started.append(Conversation(portal, phone))
        await started[-1].discover()
        return started[-1]

    yield begin
    for conversation in started:
        await conversation.source.aclose()


async def test_all_eight_are_offered_with_their_schemas_and_nothing_else(portal, talk):
    portal.faults.switch(extra_tools=("delete_everything",), tools_page_size=3)
    conversation = await talk()
    assert {tool.name for tool in conversation.offer.tools} == EIGHT
    assert [name for name, _ in conversation.offer.refused] == ["delete_everything"]
    assert "$defs" in conversation.offer.find("get_metric_history").parameters
    assert (await conversation.ask("delete_everything")).code == "unknown_tool"


async def test_a_question_is_answered_for_the_one_who_may_and_refused_for_the_other(portal, talk):
    may, may_not = await talk(ADMINISTRATOR), await talk(NORTH)
    answered, refused = (
        await may.ask("get_metric_history", OXYGEN),
        await may_not.ask("get_metric_history", OXYGEN),
    )
    assert answered.status == "completed"
    assert reference_data(answered.output)["speech"]
    assert not answered.excerpt.startswith("[does not fit")
    assert refused.status == "failed"
    assert [entry.caller for entry in portal.calls()] == [ADMINISTRATOR, NORTH]
    assert [entry.token for entry in portal.calls()] == [may.caller.fingerprint, may_not.caller.fingerprint]


@pytest.mark.parametrize("name", sorted(EIGHT - {"get_metric_history"}))
async def test_every_tool_keeps_its_own_schema(talk, name):
    outcome = await (await talk()).ask(name, "")
    assert outcome.status == "completed"
    assert not outcome.excerpt.startswith("[does not fit")


async def test_an_ambiguous_report_keeps_its_candidates(talk):
    outcome = await (await talk()).ask("get_report", {"request": {"center": "north center"}})
    assert reference_data(outcome.output)["result"]["kind"] == "ambiguous"
    assert outcome.titles


async def test_a_huge_answer_is_cut_to_its_room(portal, talk):
    conversation = await talk()
    portal.faults.add("huge", characters=100_000)
    outcome = await conversation.ask("list_reports")
    assert outcome.truncated
    assert outcome.chars <= ROOM
    assert reference_data(outcome.output)["truncated"] is True


async def test_a_token_that_expires_in_mid_call_is_unauthorized_and_seen_by_discovery(portal, talk):
    conversation = await talk(EXPIRING)
    outcomes = [await conversation.ask("list_reports") for _ in range(4)]
    assert outcomes[0].status == "completed"
    assert outcomes[-1].code == "unauthorized"
    again = await conversation.discover()
    assert again.unauthorized
    assert again.error == "AquaPortal no longer accepts this sign-in."


@pytest.mark.parametrize(
    "switches",
    [{}, {"legacy_only": True}, {"legacy_only": True, "json_answers": True}],
    ids=["modern", "stateful", "stateful JSON"],
)
async def test_a_cancelled_call_is_seen_by_the_portal(portal, talk, switches):
    portal.faults.switch(**switches)
    conversation = await talk()
    portal.faults.add("slow")
    untold = asyncio.Event()
    call = asyncio.create_task(conversation.ask("list_reports", on_untold=untold.set))
    await portal.seen(lambda entry: entry.started, TIMEOUT)
    call.cancel()
    await asyncio.wait({call})
    await portal.seen(lambda entry: entry.cancelled, TIMEOUT)
    assert not untold.is_set()
