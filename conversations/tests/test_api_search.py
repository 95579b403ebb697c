"""Web search over HTTP: for an open conversation, the key on the server, bounded, noted without words."""

import asyncio
import json
import socket

import pytest

from conversations import lifecycle, toolbox
from conversations.identity import keys
from conversations.models import Conversation
from conversations.tests.login_server import ADMINISTRATOR, MANAGER
from conversations.tests.people import Integrator
from conversations.tests.rows import ago, changed
from demo.search.testing import KEY, running_search

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "sea lice treatment"


@pytest.fixture(scope="module")
def provider():
    with running_search() as running:
        yield running


@pytest.fixture
def web(provider, portal, configure):
    provider.reset()
    configure(serper_url=provider.search_url, serper_api_key=KEY, rate_search=3)
    return provider


@pytest.fixture
def ada(web, caller):
    caller.conversation(phone=ADMINISTRATOR)
    return caller


def search(person, query=QUESTION, **more):
    return person.send("POST", "/api/search", {"query": query}, **more)


def told(response):
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


def test_the_results_are_titles_addresses_and_snippets(ada):
    response = search(ada)
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    first = response.json()["results"][0]
    assert set(response.json()) == {"results"}
    assert set(first) == {"title", "url", "snippet"}
    assert first["url"] == "https://fishhealth.example/sea-lice"
    assert "sea lice" in first["snippet"]


def test_nothing_found_is_an_answer(ada):
    assert search(ada, "zzzzz").json() == {"results": []}


def test_the_key_stays_on_the_server_and_the_question_out_of_the_log(ada, web, caplog):
    caplog.set_level("INFO")
    response = search(ada)
    assert KEY not in response.content.decode()
    assert "search.executed" in caplog.text
    assert "lice" not in caplog.text
    assert KEY not in caplog.text
    (asked,) = web.requests
    assert "authorization" not in asked.headers


def test_three_people_may_search_as_far_as_they_have_a_conversation(ada, web, other, stranger):
    other.conversation(phone=MANAGER)
    assert search(ada).status_code == 200
    assert search(other).status_code == 200
    assert told(search(stranger)) == (401, "unauthorized")
    assert len(web.requests) == 2


def test_a_page_of_another_site_cannot_search(ada, web):
    assert told(search(ada, forged=True)) == (403, "csrf_failed")
    assert web.requests == []


@pytest.mark.parametrize("how", ["closed", "expired"])
def test_a_conversation_that_is_over_searches_no_more(ada, web, how):
    conversation = Conversation.objects.get()
    if how == "closed":
        lifecycle.close(str(conversation.pk), "operator")
    else:
        changed(conversation, expires_at=ago(seconds=1))
    assert told(search(ada)) == (409, "conversation_closed")
    assert web.requests == []


def test_a_client_searches_with_its_secret_and_without_csrf_until_its_conversation_ends(web, ada):
    shop = Integrator(keys.make("shop").text)
    granted = shop.send("POST", "/v1/realtime/client_secrets", {"phone": MANAGER}).json()
    client = Integrator(granted["value"])
    assert client.send("POST", "/api/search", {"query": QUESTION}).status_code == 200
    lifecycle.close(granted["conversation"]["id"], "operator")
    assert told(client.send("POST", "/api/search", {"query": QUESTION})) == (409, "conversation_closed")
    assert told(Integrator("ek_nobody").send("POST", "/api/search", {"query": "x"})) == (401, "unauthorized")
    assert told(shop.send("POST", "/api/search", {"query": QUESTION})) == (401, "unauthorized")


def test_without_a_key_there_is_no_search(ada, web, configure):
    configure(serper_api_key="")
    assert told(search(ada)) == (404, "web_search_disabled")
    assert ada.get("/api/config").json()["features"]["web_search"] is False
    configure(serper_api_key=KEY)
    assert ada.get("/api/config").json()["features"]["web_search"] is True


@pytest.mark.parametrize(
    "body", [{}, {"query": ""}, {"query": "  "}, {"query": 7}, {"query": "x" * 401}, {"query": "a", "num": 9}]
)
def test_a_body_of_another_shape_is_refused(ada, web, body):
    assert told(ada.post("/api/search", body)) == (400, "invalid")
    assert web.requests == []


@pytest.mark.usefixtures("one_minute")
def test_who_searches_too_often_is_told_when_to_come_back(ada, web):
    assert [search(ada).status_code for _ in range(4)] == [200, 200, 200, 429]
    response = search(ada)
    assert told(response) == (429, "rate_limited")
    assert 0 < int(response["Retry-After"]) <= 60
    assert len(web.requests) == 3


@pytest.mark.usefixtures("one_minute")
def test_the_address_of_many_conversations_is_limited_too(ada, web, other):
    other.conversation(phone=MANAGER)
    statuses = [search(person).status_code for person in (ada, other, ada, other)]
    assert statuses == [200, 200, 200, 429]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "status", "status": 500}, (503, "search_unavailable")),
        ({"kind": "status", "status": 403}, (503, "search_unavailable")),
        ({"kind": "status", "status": 429}, (503, "search_unavailable")),
        ({"kind": "drop"}, (503, "search_unavailable")),
        ({"kind": "redirect"}, (502, "search_contract")),
        ({"kind": "redirect", "other_origin": True}, (502, "search_contract")),
        ({"kind": "malformed"}, (502, "search_contract")),
        ({"kind": "html"}, (502, "search_contract")),
        ({"kind": "body", "text": '{"organic": "none"}'}, (502, "search_contract")),
        ({"kind": "body", "text": "[" * 100_000}, (502, "search_contract")),
        ({"kind": "body", "text": " " * 600_000}, (502, "search_contract")),
    ],
)
def test_a_provider_that_fails_is_told_in_our_words(ada, web, fault, expected):
    web.faults.add(**{"on": "search", "text": "SECRET-OF-THE-PROVIDER", **fault})
    response = search(ada)
    assert told(response) == expected
    assert "SECRET" not in response.content.decode()
    assert [entry.path for entry in web.requests] == ["/search"], "nothing is followed"


def test_what_the_provider_lists_is_cleaned(ada, web):
    entries = [
        {"title": "Script", "link": "javascript:alert(1)", "snippet": "x"},
        {"title": "Ftp", "link": "ftp://files.example/x", "snippet": "x"},
        {"title": "File", "link": "file:///etc/passwd", "snippet": "x"},
        {"title": "Login", "link": "https://user:pw@evil.example/", "snippet": "x"},
        {"title": "Broken", "link": "https://[half/", "snippet": "x"},
        {"title": "Gap", "link": "https://a.example/ b", "snippet": "x"},
        {"title": "", "link": "https://a.example/untitled", "snippet": "x"},
        {"title": ["list"], "link": "https://a.example/list"},
        {"link": 7},
        "text",
        None,
        {"title": "Good\u202e \x00one\n", "link": "http://a.example/1", "snippet": "y" * 900},
        {"title": "Again", "link": "http://a.example/1", "snippet": "x"},
        {"title": "Bare", "link": "https://a.example/2"},
    ]
    web.faults.add("body", on="search", text=json.dumps({"organic": entries}))
    good, bare = search(ada).json()["results"]
    assert (good["title"], good["url"]) == ("Good \ufffdone", "http://a.example/1")
    assert (len(good["snippet"]), good["snippet"][-1]) == (600, "…")
    assert bare == {"title": "Bare", "url": "https://a.example/2", "snippet": ""}


def test_a_provider_that_repeats_its_key_tells_nobody(ada, web):
    entries = [
        {"title": f"Key {KEY}", "link": "https://a.example/1", "snippet": f"It is {KEY}."},
        {"title": "Address", "link": f"https://a.example/?key={KEY}"},
    ]
    web.faults.add("body", on="search", text=json.dumps({"organic": entries}))
    response = search(ada)
    assert [page["title"] for page in response.json()["results"]] == ["Key [hidden]"]
    assert KEY not in response.content.decode()


def test_a_provider_whose_name_turns_private_is_not_asked_case_175(ada, web, configure, monkeypatch):
    async def inside(_loop, _host, port, **_kwargs):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", inside)
    configure(serper_url=web.search_url.replace("127.0.0.1", "search.example"))
    assert search(ada).status_code == 200, "a name may lead inside"
    names = toolbox.connect()(lambda: None)._were_public
    names.add("search.example")
    try:
        assert told(search(ada)) == (503, "search_unavailable")
    finally:
        names.discard("search.example")
    assert len(web.requests) == 1


def test_at_most_eight_pages_come_back(ada, web):
    entries = [{"title": f"Page {n}", "link": f"https://a.example/{n}", "snippet": "x"} for n in range(20)]
    web.faults.add("body", on="search", text=json.dumps({"organic": entries}))
    assert len(search(ada).json()["results"]) == 8


def test_the_interface_describes_the_search(client):
    described = client.get("/api/openapi.json").json()["paths"]["/api/search"]["post"]
    assert set(described["responses"]) >= {"200", "401", "404", "409", "429", "502", "503"}
    assert {"ClientSecret": []} in described["security"]
