"""Whole calls without MCP: the bridge's tools natively and by marker, the plain relay, profile and hint."""

import json

import pytest

from conversations.models import Conversation, ToolCall
from conversations.tests.serving import in_thread
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import change, rows
from conversations.tests.talking import ADMINISTRATOR, EXPIRING, MANAGER, Person, eventually
from demo.apipilot.testing import SERVICE_TOKEN, running_bridge
from tools.models import CatalogSnapshot
from vocero.env import ApiPilot

pytest_plugins = ("conversations.tests.deployment",)

OXYGEN = Calls.one("get_metric_history", {"metric": "oxygen", "cage_number": 4})
MARKER = '<<<APIPILOT_CALL:NAME=get_metric_history,ARGUMENTS={"metric":"oxygen","cage_number":4}>>>'
FOREIGN = '<<<VOCERO_MCP_CALL:NAME=get_metric_history,ARGUMENTS={"metric":"oxygen"}>>>'
QUESTION = "What is the oxygen level in cage four?"
ANSWER = Says("It is eight point two.")


@pytest.fixture(scope="module")
def bridge_server():
    with running_bridge() as bridge:
        yield bridge


@pytest.fixture
def bridge(bridge_server):
    bridge_server.reset()
    yield bridge_server
    bridge_server.reset()


@pytest.fixture
def settled(configure, bridge, deployed):
    """A deployment with the bridge in AquaPortal's place."""

    def settle(**changes):
        token = changes.pop("token", "")
        configure(
            mcp_url="",
            backend_login_url=bridge.login_url,
            apipilot=ApiPilot(bridge.tools_url, bridge.execute_url, 300, token),
            profile_url=bridge.profile_url,
            **changes,
        )

    settle()
    return settle


@pytest.fixture
async def bridged(transactional_db, settled):
    async with in_thread() as server:
        yield server.address


@pytest.fixture
async def plain(transactional_db, settled, configure):
    configure(apipilot=ApiPilot())
    async with in_thread() as server:
        yield server.address


async def arrived(address, **body):
    person = Person(address)
    await person.bootstrap(**body)
    return person


def instructions(line):
    return line.sent_of("session.update")[-1]["session"]["instructions"]


async def ask(person, speech, *replies):
    """The page of a call in which one typed question was answered to its end, and the service's line."""
    speech.replies += replies
    async with person.talks() as talk:
        ready = await talk.shown("vocero.conversation.ready")
        await talk.types(QUESTION)
        while replies[-1].text not in talk.text():
            await talk.shown("response.done")
        line = await speech.line(len(speech.lines))
        return ready, talk, line


async def test_a_typed_question_is_answered_natively_by_the_bridge(bridged, bridge, speech):
    person = await arrived(bridged, phone=ADMINISTRATOR)
    ready, talk, line = await ask(person, speech, OXYGEN, ANSWER)
    assert ready["tools"] == {"count": 8, "error": None}
    assert talk.text() == ANSWER.text
    declared = {tool["name"]: tool for tool in line.sent_of("session.update")[-1]["session"]["tools"]}
    assert "metric" in declared["get_metric_history"]["parameters"]["properties"]
    output = line.sent_of("conversation.item.create")[-1]["item"]["output"]
    assert output.startswith("[Reference data from tool get_metric_history.")
    assert "8.2" in output
    (call,) = [entry for entry in bridge.requests if entry.tool]
    assert (call.caller, call.arguments) == (ADMINISTRATOR, {"metric": "oxygen", "cage_number": 4})
    (row,) = await eventually(lambda: rows(ToolCall, status="completed"))
    assert (row.source, row.selection, row.status) == ("apipilot", "native", "completed")
    (conversation,) = await rows(Conversation)
    assert conversation.mode == "apipilot"
    assert "Reference data" not in talk.everything()
    assert "cage_number" not in talk.everything()
    assert not [token for token in bridge.accounts.tokens if token in talk.everything()]


async def test_without_native_tools_the_bridge_has_its_own_marker(bridged, bridge, speech):
    person = await arrived(bridged, phone=ADMINISTRATOR)
    speech.keeps_tools = False
    says = Says(f"One moment. {MARKER}", pieces=7, audio_ms=700)
    _, talk, line = await ask(person, speech, says, ANSWER)
    await eventually(lambda: rows(ToolCall, status="completed"))
    assert "<<<APIPILOT_CALL:NAME=tool_name" in instructions(line)
    assert "VOCERO_MCP_CALL" not in instructions(line)
    assert "APIPILOT" not in talk.everything()
    (row,) = await rows(ToolCall)
    assert (row.source, row.selection, row.name) == ("apipilot", "marker", "get_metric_history")


async def test_the_marker_of_mcp_picks_nothing_here(bridged, bridge, speech):
    person = await arrived(bridged, phone=ADMINISTRATOR)
    await ask(person, speech, Says(FOREIGN, pieces=5), ANSWER)
    (row,) = await eventually(lambda: rows(ToolCall, status="failed"))
    assert row.code == "unknown_tool"
    assert not [entry for entry in bridge.requests if entry.tool]


async def test_a_caller_who_did_not_log_in_has_what_needs_no_login(bridged, bridge, speech):
    person = await arrived(bridged)
    forecast = Calls.one("get_sea_forecast", {})
    ready, _, line = await ask(person, speech, forecast, Says("There is a breeze."))
    assert ready["tools"]["count"] == 2
    assert ready["conversation"]["caller"] is None
    names = {tool["name"] for tool in line.sent_of("session.update")[-1]["session"]["tools"]}
    assert names == {"list_centers", "get_sea_forecast"}
    assert {entry.token for entry in bridge.requests} == {None}
    await eventually(lambda: rows(ToolCall, status="completed"))
    assert (await person.record())["tools"] == {"count": 2, "error": None}


async def test_the_services_credential_acts_for_who_did_not_log_in_and_never_for_who_did(
    settled, bridged, bridge, speech
):
    settled(token=SERVICE_TOKEN)
    nobody = await arrived(bridged)
    ready, talk, _ = await ask(nobody, speech, OXYGEN, ANSWER)
    assert ready["tools"]["count"] == 8
    assert SERVICE_TOKEN not in talk.everything()
    service = {entry.token for entry in bridge.requests}
    bridge.reset()
    ada = await arrived(bridged, phone=ADMINISTRATOR)
    await ask(ada, speech, OXYGEN, ANSWER)
    assert not service & {entry.token for entry in bridge.requests}
    assert {entry.caller for entry in bridge.requests if entry.tool} == {ADMINISTRATOR}


async def test_a_bad_credential_of_the_service_ends_no_conversation(settled, bridged, speech):
    settled(token="not-the-token-of-anybody")
    person = await arrived(bridged)
    ready, talk, _ = await ask(person, speech, Says("Hello."))
    assert ready["tools"] == {"count": 0, "error": "ApiPilot no longer accepts this sign-in."}
    assert talk.text() == "Hello."
    assert (await person.record())["state"] == "open"


async def test_a_login_that_ends_in_mid_call_ends_the_conversation(bridged, bridge, speech):
    person = await arrived(bridged, phone=EXPIRING)
    speech.replies += [OXYGEN, ANSWER] * 3
    async with person.talks() as talk:
        await talk.ready()
        bridge.accounts.revoke(EXPIRING)
        await talk.types(QUESTION)
        error, code = await talk.error()
    assert (error["code"], code) == ("auth_expired", 4410)


async def test_two_callers_at_one_time_never_cross_case_179(bridged, bridge, speech):
    ada = await arrived(bridged, phone=ADMINISTRATOR)
    bruno = await arrived(bridged, phone=MANAGER)
    nobody = await arrived(bridged)
    async with ada.talks() as first, bruno.talks() as second, nobody.talks() as third:
        counts = [
            (await talk.shown("vocero.conversation.ready"))["tools"]["count"] for talk in (first, second)
        ]
        counts.append((await third.shown("vocero.conversation.ready"))["tools"]["count"])
        speech.replies += [OXYGEN, ANSWER] * 2
        for talk in (first, second):
            await talk.types(QUESTION)
            while ANSWER.text not in talk.text():
                await talk.shown("response.done")
    assert counts == [8, 8, 2]
    assert [entry.caller for entry in bridge.requests if entry.tool] == [ADMINISTRATOR, MANAGER]


async def test_a_bridge_that_is_away_costs_the_tools_and_not_the_call(settled, configure, bridged, speech):
    configure(apipilot=ApiPilot("http://127.0.0.1:9/tools", "http://127.0.0.1:9/run"))
    person = await arrived(bridged)
    ready, talk, _ = await ask(person, speech, Says("Hello."))
    assert ready["tools"] == {"count": 0, "error": "ApiPilot cannot be reached."}
    assert talk.text() == "Hello."


# ---- the plain relay


async def test_a_plain_relay_keeps_its_contract(plain, bridge, speech):
    config = (await Person(plain).send("GET", "/api/config")).json()
    assert (config["mode"], config["connection"]) == ("plain", "relay")
    person = await arrived(plain)
    ready, talk, line = await ask(person, speech, Says(f"Text is text: {MARKER}"))
    assert ready["tools"] == {"count": 0, "error": None}
    assert talk.text() == f"Text is text: {MARKER}"
    session = line.sent_of("session.update")[-1]["session"]
    assert session["tools"] == []
    assert "<<<" not in session["instructions"]
    assert bridge.requests == []
    assert await rows(ToolCall) == []
    (turn,) = await person.turns()
    assert (turn["origin"], turn["outcome"], turn["tools"]) == ("text", "done", [])
    await person.cleans_up()
    assert (await person.record())["close_reason"] == "caller_cleanup"


async def test_a_plain_relay_hears_and_is_interrupted(plain, speech):
    person = await arrived(plain)
    async with person.talks() as talk:
        await talk.ready()
        await talk.speaks()
        line = await speech.line()
        await line.asked("input_audio_buffer.append")
        await talk.send("session.update", session={"instructions": "Be kind.", "voice": "ash"})
        assert (await talk.shown("session.updated"))["session"]["instructions"] == "Be kind."
        speech.replies += [Says("A long story.", ends=False)]
        await talk.types("Tell me a story.")
        await talk.shown("response.output_audio.delta")
        await talk.send("response.cancel")
        assert (await talk.shown("response.done"))["response"]["status"] == "cancelled"


async def test_a_native_call_in_a_plain_relay_runs_nothing(plain, bridge, speech):
    person = await arrived(plain)
    _, talk, _ = await ask(person, speech, OXYGEN, Says("I cannot look that up."))
    (row,) = await eventually(lambda: rows(ToolCall, status="failed"))
    assert row.code == "unknown_tool"
    assert bridge.requests == []
    assert talk.text() == "I cannot look that up."


# ---- profile and hint


@pytest.mark.parametrize("bridge_is_there", [True, False])
async def test_a_profile_is_added_for_who_logged_in_where_it_is_asked_for(
    bridged, bridge_is_there, configure, speech
):
    address = bridged
    configure(inject_profile=True)
    if not bridge_is_there:
        configure(apipilot=ApiPilot())
    _, talk, line = await ask(await arrived(address, phone=MANAGER), speech, Says("Hello."))
    assert "Bruno Lago looks after: north center." in instructions(line)
    assert "looks after" not in talk.everything()
    _, _, line = await ask(await arrived(address), speech, Says("Hello."))
    assert "looks after" not in instructions(line)
    configure(inject_profile=False)
    _, _, line = await ask(await arrived(address, phone=MANAGER), speech, Says("Hello."))
    assert "looks after" not in instructions(line)


async def test_with_mcp_no_profile_is_asked_for(vocero, configure, bridge, speech):
    configure(inject_profile=True, profile_url=bridge.profile_url)
    person = await arrived(vocero, phone=ADMINISTRATOR)
    _, _, line = await ask(person, speech, Says("Hello."))
    assert "looks after" not in instructions(line)
    assert bridge.requests == []


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status"},
        {"kind": "redirect"},
        {"kind": "drop"},
        {"kind": "html"},
        {"kind": "body", "text": '{"profile": 7}'},
        {"kind": "body", "text": '"' + "x" * 70_000 + '"'},
    ],
)
async def test_a_profile_that_cannot_be_had_keeps_nobody_from_talking(
    bridged, configure, bridge, speech, fault
):
    configure(inject_profile=True)
    bridge.faults.add(on="profile", **fault)
    person = await arrived(bridged, phone=ADMINISTRATOR)
    _, talk, line = await ask(person, speech, Says("Hello."))
    assert "backend says" not in instructions(line)
    assert talk.text() == "Hello."
    assert "/moved" not in {entry.path for entry in bridge.requests}


async def test_the_pages_episode_reaches_the_model_as_a_hint_and_is_fetched_by_nobody(
    bridged, bridge, speech
):
    hint = f"{bridge.url}/moved"
    person = await arrived(bridged, phone=ADMINISTRATOR, episode_id=hint)
    _, talk, line = await ask(person, speech, Says("Hello."))
    assert json.dumps(hint) in instructions(line)
    assert "hint from the page" in instructions(line)
    assert "/moved" not in {entry.path for entry in bridge.requests}
    assert "hint from the page" not in talk.everything()


async def test_a_changed_list_is_read_again_after_its_time(settled, bridged, bridge, speech):
    person = await arrived(bridged, phone=ADMINISTRATOR)
    await ask(person, speech, Says("Hello."))
    await ask(person, speech, Says("Hello."))
    assert bridge.lists() == 1
    (snapshot,) = await rows(CatalogSnapshot)
    await change(CatalogSnapshot, expires_at=snapshot.fetched_at)
    bridge.bridge.hidden = frozenset({"get_report"})
    ready, _, _ = await ask(person, speech, Says("Hello."))
    assert ready["tools"]["count"] == 7
    assert bridge.lists() == 2
