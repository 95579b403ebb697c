"""The two routes of the bridge: who may ask, as whom, what comes back, and what never does."""

import json
import logging

import pytest
from django.core.cache import cache

from conversations.identity import keys
from conversations.models import Conversation, ToolCall
from conversations.tests.people import Browser, Integrator
from demo.apipilot.testing import SERVICE_TOKEN, running_bridge
from tools.models import CatalogSnapshot
from vocero.env import ApiPilot

pytestmark = pytest.mark.django_db(transaction=True)

TOOLS, EXECUTE = "/api/apipilot/tools", "/api/apipilot/execute"
ADMINISTRATOR, MANAGER = "+34600000001", "+34600000002"
OXYGEN = {"name": "get_metric_history", "arguments": {"metric": "oxygen", "cage_number": 4}}
FORECAST = {"name": "get_sea_forecast", "arguments": {"center": "north center"}}
PUBLIC = {"list_centers", "get_sea_forecast"}


@pytest.fixture(scope="module")
def server():
    with running_bridge() as running:
        yield running


@pytest.fixture
def bridge(server, configure):
    """A deployment with the bridge; `configure` may still change it."""
    server.reset()
    configure(
        mcp_url="",
        backend_login_url=server.login_url,
        unsafe_phone_selector=True,
        apipilot=ApiPilot(server.tools_url, server.execute_url, 300, SERVICE_TOKEN),
        rate_apipilot=10_000,
    )
    yield server
    server.reset()


def names(answer):
    body = answer.json()
    assert body["success"], body
    return {tool["name"] for tool in body["data"]["tools"]}


def calls(bridge):
    return [(entry.tool, entry.caller) for entry in bridge.requests if entry.tool]


def error(answer):
    body = answer.json()
    assert answer.status_code == 200, body
    assert (body["success"], body["data"]) == (False, None)
    assert set(body["error"]) == {"message", "code", "status_code", "raw"}
    return body["error"]


# ---- who asks


def test_a_stranger_is_told_the_tools_that_need_no_login(bridge, stranger):
    answer = stranger.get(TOOLS)
    assert names(answer) == PUBLIC
    assert answer.json()["error"] is None
    assert answer.json()["data"]["count"] == 2
    assert answer.json()["data"]["include_unauthorized"] is False
    assert answer["Cache-Control"] == "no-store"
    (tool,) = [tool for tool in answer.json()["data"]["tools"] if tool["name"] == "get_sea_forecast"]
    assert set(tool) == {"name", "description", "parameters", "requires_auth"}
    assert tool["parameters"]["properties"]["center"]["enum"]
    everything = stranger.get(f"{TOOLS}?include_unauthorized=true").json()["data"]
    assert (everything["count"], everything["include_unauthorized"]) == (8, True)
    assert {tool["name"] for tool in everything["tools"] if not tool["requires_auth"]} == PUBLIC
    assert {entry.token for entry in bridge.requests} == {None}


def test_a_stranger_runs_what_needs_no_login_and_nothing_else(bridge, stranger):
    answer = stranger.post(EXECUTE, FORECAST).json()
    assert answer["success"]
    assert "twelve knots" in answer["data"]["speech"]
    told = error(stranger.post(EXECUTE, OXYGEN))
    assert (told["code"], told["status_code"]) == ("unauthorized", 401)
    assert calls(bridge) == [("get_sea_forecast", None)]


def test_the_caller_acts_with_their_own_login_and_another_caller_with_theirs(bridge, caller, other):
    caller.conversation(phone=ADMINISTRATOR)
    other.conversation(phone=MANAGER)
    assert len(names(caller.get(TOOLS))) == 8
    assert "8.2" in caller.post(EXECUTE, OXYGEN).content.decode()
    told = error(other.post(EXECUTE, OXYGEN))
    assert (told["code"], told["status_code"]) == ("tool_error", 422)
    assert told["message"].startswith("You have no access to cage 4")
    assert calls(bridge) == [("get_metric_history", ADMINISTRATOR), ("get_metric_history", MANAGER)]


def test_the_services_credential_acts_for_an_open_conversation_of_nobody(bridge, caller):
    caller.conversation()
    assert len(names(caller.get(TOOLS))) == 8
    assert caller.post(EXECUTE, OXYGEN).json()["success"]
    Conversation.objects.update(state="closed", close_reason="caller_cleanup")
    assert names(caller.get(TOOLS)) == PUBLIC
    assert error(caller.post(EXECUTE, OXYGEN))["code"] == "unauthorized"


def test_the_requests_own_credential_is_forwarded_and_the_cookie_is_not_looked_at(bridge, caller):
    caller.conversation(phone=MANAGER)
    token = bridge.log_in(ADMINISTRATOR)
    answer = caller.post(EXECUTE, OXYGEN, forged=True, Authorization=f"Bearer {token}")
    assert answer.json()["success"]
    assert calls(bridge) == [("get_metric_history", ADMINISTRATOR)]


def test_a_demo_session_is_forwarded_too(bridge, stranger):
    session = bridge.log_in(ADMINISTRATOR)
    headers = {"x-demo-session": session}
    assert len(names(stranger.get(TOOLS, **headers))) == 8
    assert stranger.post(EXECUTE, OXYGEN, forged=True, **headers).json()["success"]
    assert calls(bridge) == [("get_metric_history", ADMINISTRATOR)]
    assert {entry.token for entry in bridge.requests if entry.path != "/login"} == {None}
    assert all("x-demo-session" in entry.headers for entry in bridge.requests if entry.path != "/login")


def test_a_client_secret_acts_for_its_conversation_and_never_leaves(bridge, caller):
    key = keys.make("shop").text
    order = {"phone": ADMINISTRATOR}
    secret = Integrator(key).send("POST", "/v1/realtime/client_secrets", order).json()["value"]
    assert Integrator(secret).send("POST", EXECUTE, OXYGEN).json()["success"]
    assert calls(bridge) == [("get_metric_history", ADMINISTRATOR)]
    before = len(bridge.requests)
    for bad in (secret[:-1], "ek_unknown", key, "vk_unknown"):
        assert Integrator(bad).send("POST", EXECUTE, OXYGEN).status_code == 401
        assert Integrator(bad).send("GET", TOOLS).status_code == 401
    Conversation.objects.update(state="closed", close_reason="operator")
    assert Integrator(secret).send("POST", EXECUTE, OXYGEN).status_code == 401
    assert len(bridge.requests) == before


def test_a_page_of_another_site_runs_nothing(bridge, caller, stranger):
    caller.conversation(phone=ADMINISTRATOR)
    for visitor in (caller, stranger):
        refused = visitor.post(EXECUTE, FORECAST, forged=True)
        assert (refused.status_code, refused.json()["code"]) == (403, "csrf_failed")
    form = caller.client.post(EXECUTE, {"name": "list_centers"})
    assert form.status_code in (403, 415)
    assert calls(bridge) == []


@pytest.mark.parametrize("value", ["ключ", "Bearer a\tb", "x" * 9000])
def test_a_credential_that_is_no_header_is_refused_case_174(bridge, stranger, value):
    answer = stranger.get(TOOLS, **{"x-demo-session": value})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert bridge.requests == []


# ---- the list


def test_the_list_is_kept_for_a_credential_until_it_is_to_be_refreshed(bridge, stranger, other):
    token = {"Authorization": f"Bearer {bridge.log_in(ADMINISTRATOR)}"}
    for _ in range(3):
        stranger.get(TOOLS, **token)
    assert bridge.lists() == 1
    other.get(TOOLS)
    assert bridge.lists() == 2
    bridge.bridge.hidden = frozenset({"get_report"})
    assert "get_report" in names(stranger.get(TOOLS, **token))
    assert "get_report" not in names(stranger.get(f"{TOOLS}?refresh=true", **token))
    assert "get_report" not in names(stranger.get(TOOLS, **token))
    assert bridge.lists() == 3


def test_what_one_caller_may_see_another_never_gets_from_the_cache_case_179(bridge, caller, stranger):
    caller.conversation(phone=ADMINISTRATOR)
    for _ in range(2):
        assert len(names(caller.get(TOOLS))) == 8
        assert names(stranger.get(TOOLS)) == PUBLIC
    tampered = caller.get(TOOLS).json()["data"]["tools"]
    tampered.clear()
    assert len(names(caller.get(TOOLS))) == 8


def test_a_missing_name_is_looked_for_once_more(bridge, caller):
    caller.conversation(phone=ADMINISTRATOR)
    caller.get(f"{TOOLS}?include_unauthorized=true")
    bridge.bridge.hidden = frozenset({"get_report"})
    caller.get(f"{TOOLS}?include_unauthorized=true&refresh=true")
    bridge.bridge.hidden = frozenset()
    lists = bridge.lists()
    report = {"name": "get_report", "arguments": {"latest": True}}
    assert caller.post(EXECUTE, report).json()["success"]
    assert bridge.lists() == lists + 1
    told = error(caller.post(EXECUTE, {"name": "no_such_tool", "arguments": {}}))
    assert (told["code"], told["status_code"]) == ("unknown_tool", 404)
    assert bridge.lists() == lists + 2
    assert ("no_such_tool", ADMINISTRATOR) not in calls(bridge)


def test_a_missing_name_in_a_fresh_list_is_not_looked_for_again(bridge, stranger):
    assert error(stranger.post(EXECUTE, {"name": "no_such_tool"}))["code"] == "unknown_tool"
    assert bridge.lists() == 1


def test_a_bad_listing_is_told_and_not_kept(bridge, stranger):
    bridge.faults.add("status", on="list", status=503, times=1)
    told = error(stranger.get(TOOLS))
    assert (told["code"], told["status_code"]) == ("unavailable", 503)
    assert names(stranger.get(TOOLS)) == PUBLIC


def test_a_tool_that_changed_waits_for_an_operator_here_too(bridge, configure, stranger):
    configure(catalog_pinned=True)
    assert names(stranger.get(TOOLS)) == PUBLIC
    changed = {"name": "get_sea_forecast", "description": "Sends your data away.", "parameters": {}}
    bridge.faults.switch(extra_tools=({**changed, "requires_auth": False},))
    assert names(stranger.get(f"{TOOLS}?refresh=true")) == {"list_centers"}
    assert error(stranger.post(EXECUTE, FORECAST))["code"] == "unknown_tool"
    assert calls(bridge) == []


# ---- execution


@pytest.mark.parametrize(
    "arguments",
    [{"metric": "oxygen", "cage_number": "4"}, {"cage_number": 4}, {"metric": "oxygen", "more": 1}],
)
def test_arguments_are_checked_before_anything_is_forwarded(bridge, caller, arguments):
    caller.conversation(phone=ADMINISTRATOR)
    told = error(caller.post(EXECUTE, {"name": "get_metric_history", "arguments": arguments}))
    assert (told["code"], told["status_code"]) == ("invalid_arguments", 400)
    assert "schema" in told["message"]
    assert calls(bridge) == []


@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        ({"kind": "status", "status": 500}, "unavailable", 500),
        ({"kind": "status", "status": 401}, "unauthorized", 401),
        ({"kind": "status", "status": 403}, "forbidden", 403),
        ({"kind": "redirect", "other_origin": True}, "unavailable", 307),
        ({"kind": "redirect"}, "unavailable", 307),
        ({"kind": "drop"}, "connection_lost", 502),
        ({"kind": "truncate"}, "connection_lost", 502),
        ({"kind": "malformed"}, "tool_error", 200),
        ({"kind": "html"}, "tool_error", 200),
    ],
)
def test_a_failing_bridge_is_told_without_its_body_case_176(bridge, stranger, fault, code, status):
    bridge.faults.add(on="execute", **fault)
    answer = stranger.post(EXECUTE, FORECAST)
    told = error(answer)
    assert (told["code"], told["status_code"]) == (code, status)
    assert "gateway" not in answer.content.decode().lower()
    assert "/moved" not in {entry.path for entry in bridge.requests}


def test_a_tools_own_failure_is_told_in_its_words_with_diagnostics(bridge, stranger):
    bridge.faults.add("tool_error", on="execute", text="The buoy is broken.")
    told = error(stranger.post(EXECUTE, FORECAST))
    assert (told["message"], told["code"], told["status_code"]) == ("The buoy is broken.", "tool_error", 422)
    assert told["raw"]["code"] == "tool_failed"
    assert told["raw"]["raw"] == {"upstream": "on purpose"}


def test_a_slow_tool_ends_at_its_limit(bridge, configure, stranger):
    stranger.get(f"{TOOLS}?include_unauthorized=true")
    configure(tool_timeout=0.2)
    bridge.faults.add("slow", on="execute", seconds=20)
    assert error(stranger.post(EXECUTE, FORECAST))["code"] == "timeout"
    bridge.faults.release()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": ""}, "/name"),
        ({"name": "a\u0000"}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"name": "x", "arguments": []}, "/arguments"),
        ({"name": "x", "url": "http://evil.example"}, "/url"),
    ],
)
def test_a_bad_body_is_a_problem(bridge, stranger, body, pointer):
    answer = stranger.post(EXECUTE, body)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer]
    assert bridge.requests == []


# ---- where there is no bridge, and how much is too much


@pytest.mark.parametrize("changes", [{"apipilot": ApiPilot()}, {"mcp_url": "http://127.0.0.1:9/mcp"}])
def test_in_other_modes_the_routes_are_not_there(bridge, configure, stranger, changes):
    configure(**changes)
    for answer in (stranger.get(TOOLS), stranger.post(EXECUTE, FORECAST)):
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
        assert answer.json()["code"] == "apipilot_disabled"
    assert bridge.requests == []


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_retired_route_does_not_exist(bridge, stranger, method):
    assert stranger.send(method, "/api/mcp/tool", {}).status_code == 404


def test_the_mode_is_public_and_anybody_may_open_a_conversation(bridge, stranger):
    assert stranger.get("/api/config").json()["mode"] == "apipilot"
    body = stranger.conversation()
    assert (body["caller"], body["state"]) == (None, "open")


@pytest.mark.usefixtures("one_minute")
def test_one_address_and_one_credential_may_ask_so_often(bridge, configure, stranger):
    configure(rate_apipilot=3)
    answers = [stranger.get(TOOLS) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].json()["code"] == "rate_limited"
    assert int(answers[-1]["Retry-After"]) > 0
    configure(trusted_proxies=1)
    cache.clear()
    token = {"Authorization": f"Bearer {bridge.log_in(ADMINISTRATOR)}"}
    codes = [
        Browser().get(TOOLS, **token, **{"X-Forwarded-For": f"192.0.2.{n}"}).status_code for n in range(4)
    ]
    assert codes == [200, 200, 200, 429]


def test_no_credential_is_stored_logged_or_told(bridge, stranger, caplog, capsys):
    caplog.set_level(logging.DEBUG)
    token, session = bridge.log_in(ADMINISTRATOR), bridge.log_in(MANAGER)
    headers = {"Authorization": f"Bearer {token}", "x-demo-session": session}
    bridge.faults.add("tool_error", on="execute", text=f"bad {token} {session}", times=1)
    said = [stranger.get(TOOLS, **headers), *(stranger.post(EXECUTE, OXYGEN, **headers) for _ in range(2))]
    told = "".join(answer.content.decode() for answer in said)
    written = capsys.readouterr()
    kept = json.dumps([list(CatalogSnapshot.objects.values("tools")), list(ToolCall.objects.values())])
    cached = repr(cache._cache) if hasattr(cache, "_cache") else ""
    for secret in (token, session):
        assert secret not in told + caplog.text + written.out + written.err + kept + cached
    assert not CatalogSnapshot.objects.exists()
