"""Questions to begin with: for the caller's own tools, in their language, to nobody else."""

import uuid
from dataclasses import replace

import pytest

from conversations import suggestions, toolbox
from conversations.models import BackendToken, Conversation
from conversations.tests.login_server import ADMINISTRATOR, MANAGER
from conversations.tests.rows import ago
from tools.models import CatalogSnapshot
from vocero.env import EIGHT_TOOLS

pytestmark = pytest.mark.django_db


@pytest.fixture
def hers(portal, caller):
    return caller.conversation(phone=ADMINISTRATOR)["id"]


@pytest.fixture
def another(portal, other):
    other.conversation(phone=MANAGER)
    return other


def listed(*names, source="aquaportal", **values):
    """The caller's tools as they were discovered, long ago."""
    tools = [
        {"name": name, "description": "Secret.", "parameters": {}, "source": source, "output_schema": None}
        for name in names
    ]
    return CatalogSnapshot.objects.create(
        source=source,
        caller_fingerprint=BackendToken.objects.get().fingerprint,
        tools=tools,
        fetched_at=ago(hours=2),
        expires_at=ago(hours=1),
        **values,
    )


def asked(person, conversation, language="en"):
    response = person.get(f"/api/conversations/{conversation}/suggestions", **{"Accept-Language": language})
    assert (response.status_code, response["Cache-Control"]) == (200, "no-store")
    assert "Secret" not in response.content.decode()
    return [one["text"] for one in response.json()["suggestions"]]


def test_only_for_tools_that_the_caller_has_and_at_most_six(hers, caller):
    listed("get_report", "list_podcasts", "delete_everything")
    assert asked(caller, hers) == ["List my podcasts.", "What is in the latest report?"]
    CatalogSnapshot.objects.all().delete()
    listed(*EIGHT_TOOLS)
    assert asked(caller, hers) == list(suggestions.QUESTIONS["en"].values())[:6]


def test_in_the_language_of_the_browser_else_in_english(hers, caller):
    listed("list_reports")
    assert asked(caller, hers, "es-ES,en;q=0.5") == ["Enumera los últimos informes."]
    assert asked(caller, hers, "de") == ["List the latest reports."]


def test_the_demo_understands_english_alone(hers, caller, configure):
    listed("list_reports")
    configure(demo=True)
    assert asked(caller, hers, "es") == ["List the latest reports."]


def test_the_labels_of_the_callers_own_tools_come_along(hers, caller, configure):
    labels = {"en": {"list_reports": "Reading", "get_report": "One", "order": "No"}}
    configure(tool_labels={**labels, "es": {"list_reports": "Leyendo"}})
    listed("list_reports", "get_report")
    answer = caller.get(f"/api/conversations/{hers}/suggestions", **{"Accept-Language": "es"})
    assert answer.json()["labels"] == {"list_reports": "Leyendo", "get_report": "One"}


def test_none_before_the_tools_are_known(hers, caller):
    assert asked(caller, hers) == []


def test_a_tool_that_may_not_be_used_suggests_nothing(hers, caller, configure):
    listed("list_reports", "get_report", refused=[["get_report", "Its schema is no schema."]])
    assert asked(caller, hers) == ["List the latest reports."]
    configure(catalog_pinned=True)
    assert asked(caller, hers) == []


def test_other_tools_have_the_questions_that_the_operator_gives_them(hers, caller, configure):
    configure(
        mcp_tools=("list_reports", "order_feed"),
        tool_questions={
            "en": {"order_feed": "Order feed.", "list_reports": "Which reports?", "unlisted": "Never."},
            "es": {"order_feed": "Pide pienso."},
        },
    )
    listed("list_reports", "order_feed")
    assert asked(caller, hers) == ["Which reports?", "Order feed."]
    assert asked(caller, hers, "es") == ["Which reports?", "Pide pienso."]


def test_the_tools_of_a_brain_are_everybodys(hers, caller, configure, settings):
    questions = {"en": {"log_meal": "Note a meal.", "get_report": "Which report?"}}
    configure(tool_questions=questions, reasoning=replace(settings.VOCERO.reasoning, brain="shop.Brain"))
    assert asked(caller, hers) == ["Note a meal."]


def test_another_callers_questions_are_like_those_of_no_conversation(hers, another):
    for conversation in (hers, uuid.uuid4()):
        response = another.get(f"/api/conversations/{conversation}/suggestions")
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_stranger_is_suggested_nothing(hers, stranger):
    for conversation in (hers, uuid.uuid4()):
        response = stranger.get(f"/api/conversations/{conversation}/suggestions")
        assert (response.status_code, response.json()["code"]) == (401, "unauthorized")


def test_where_there_are_no_tools_the_questions_are_about_the_assistant(caller):
    mine = caller.conversation()["id"]
    assert Conversation.objects.get().mode == "plain"
    assert asked(caller, mine) == list(suggestions.WITHOUT_TOOLS["en"])
    assert asked(caller, mine, "es") == list(suggestions.WITHOUT_TOOLS["es"])


def test_of_the_bridges_tools_those_count_that_its_credential_has(caller, configure, settings):
    bridge = replace(settings.VOCERO.apipilot, tools_url="http://bridge.test/tools", token="t")
    configure(apipilot=bridge)
    mine = caller.conversation()["id"]
    assert asked(caller, mine) == []
    moment = {"fetched_at": ago(hours=2), "expires_at": ago(hours=1)}
    tool = {"name": "list_reports", "description": "", "parameters": {}, "source": "x", "output_schema": None}
    fingerprint = toolbox.service().fingerprint
    CatalogSnapshot.objects.create(source="apipilot", caller_fingerprint=fingerprint, tools=[tool], **moment)
    assert asked(caller, mine) == ["List the latest reports."]


def test_every_tool_of_aquaportal_has_a_question_in_each_language():
    for language, questions in suggestions.QUESTIONS.items():
        assert set(questions) == set(EIGHT_TOOLS), language
        assert len(set(questions.values())) == len(questions), language
    assert set(suggestions.QUESTIONS) == set(suggestions.WITHOUT_TOOLS)
