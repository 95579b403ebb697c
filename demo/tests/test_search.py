"""The stand-in for web search: it asks and answers as Serper does, and a planner searches with it."""

import httpx2
import pytest

from demo.search.engine import answer
from demo.search.testing import KEY, running_search
from demo.speech.planner import CallTools, declared
from demo.tests.planner_talk import TOOLS, call, decided, output, picked, spoken, user
from demo.tests.speech_caller import DECLARED, failed, labelled

SEARCH = {
    "type": "function",
    "name": "web_search",
    "description": "Searches the public web.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
WITH_WEB = declared([*DECLARED, SEARCH])


@pytest.fixture(scope="module")
def provider():
    with running_search() as running:
        yield running


def ask(provider, body, key=KEY, method="POST"):
    headers = {"X-API-KEY": key} if key else {}
    return httpx2.request(method, provider.search_url, json=body, headers=headers, trust_env=False)


def test_an_answer_has_serpers_fields(provider):
    body = ask(provider, {"q": "price of salmon", "num": 2}).json()
    assert body["searchParameters"]["q"] == "price of salmon"
    assert [entry["position"] for entry in body["organic"]] == [1, 2]
    assert {"title", "link", "snippet"} <= set(body["organic"][0])
    assert body["organic"][0]["title"] == "Price of salmon this week"
    assert body["credits"] == 1


@pytest.mark.parametrize(
    ("body", "key", "method", "expected"),
    [
        ({"q": "x"}, "", "POST", (403, "Unauthorized.")),
        ({"q": "x"}, "another", "POST", (403, "Unauthorized.")),
        ({}, KEY, "POST", (400, "Missing query parameter")),
        ({"q": " "}, KEY, "POST", (400, "Missing query parameter")),
        ({"q": "x"}, KEY, "PUT", (404, "Not Found")),
    ],
)
def test_what_it_refuses_it_refuses_as_serper(provider, body, key, method, expected):
    response = ask(provider, body, key, method)
    assert (response.status_code, response.json()["message"]) == expected


def test_nothing_that_fits_is_an_empty_list():
    assert answer("zzzz", 8)["organic"] == []


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Search the web for sea lice treatment.", "sea lice treatment"),
        ("Can you search the internet for the price of salmon?", "the price of salmon"),
        ("Look up the tides on the internet, please.", "the tides"),
        ("Google algae bloom", "algae bloom"),
        ("What is the price of salmon?", "What is the price of salmon"),
    ],
)
def test_a_question_for_the_web_is_searched(question, query):
    assert picked(question, WITH_WEB) == ("web_search", {"query": query})


@pytest.mark.parametrize(
    "question",
    [
        "List the latest reports.",
        "What is the oxygen level in cage four?",
        "Give me my briefing.",
        "List my podcasts.",
        "Read the transcript of the latest episode.",
        "Tell me more about the north center report.",
        "Any problems with sea lice?",
        "Find the health reports.",
    ],
)
def test_a_question_about_the_farm_is_none_for_the_web(question):
    assert picked(question, WITH_WEB) == picked(question)


@pytest.mark.parametrize("question", ["Hello.", "Thank you.", "Blue banana.", "Hmm what?"])
def test_what_is_no_question_is_not_searched(question):
    assert not isinstance(decided(user(question), tools=WITH_WEB), CallTools)


def test_without_the_tool_nothing_is_searched():
    assert "no tool for that" in spoken(user("Search the web for the price of salmon."), tools=TOOLS)


def test_the_first_page_is_read_out_and_the_others_are_mentioned():
    rows = [{"title": "Price of salmon", "url": "https://a.example", "snippet": "Eight euros a kilo."}] * 3
    made = (user("Search the web for salmon."), call("web_search", {"query": "salmon"}))
    found = output(labelled("web_search", {"results": rows}))
    said = spoken(*made, found, tools=WITH_WEB)
    assert said == "On the web, Price of salmon: Eight euros a kilo. There are more pages."
    nothing = output(labelled("web_search", {"results": []}))
    assert spoken(*made, nothing, tools=WITH_WEB) == "I found nothing about that on the web."
    broken = output(failed("unavailable", "The web cannot be searched right now."))
    assert spoken(*made, broken, tools=WITH_WEB) == "The web cannot be searched right now."
