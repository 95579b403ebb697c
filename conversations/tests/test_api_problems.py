"""Every error of the HTTP interface is a problem with a code and a request id."""

import json
import logging

import pytest
from django.test import AsyncClient, Client

from conversations import entry
from conversations.api import conversations as routes
from conversations.api.envelope import HEADER
from conversations.tests.people import CSRF

pytestmark = pytest.mark.django_db
PATH = "/api/conversations"


@pytest.fixture
def anybody():
    """Sends bytes as any program on the network might."""

    def send(method, path, body=b"", kind="application/json", **headers):
        client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        client.cookies["csrftoken"] = CSRF
        headers = {"X-CSRFToken": CSRF, **headers}
        return client.generic(method, path, body, kind, headers=headers)

    return send


def told(response):
    body = response.json()
    assert response["Content-Type"] == "application/problem+json"
    assert set(body) == {"type", "title", "status", "detail", "code", "request_id", "errors"}
    assert body["status"] == response.status_code
    assert body["request_id"] == response[HEADER]
    assert body["title"]
    assert body["detail"]
    return response.status_code, body["code"]


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/api/", "/api/mcp/tool", "/v1/nothing", "/v1/realtime/x", "/api/x/"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_address_is_a_problem(anybody, path, method):
    assert told(anybody(method, path)) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", PATH),
        ("GET", PATH),
        ("DELETE", PATH),
        ("POST", "/api/config"),
        ("GET", "/v1/realtime/client_secrets"),
    ],
)
def test_an_unknown_method_is_a_problem_that_names_the_known_ones(anybody, method, path):
    response = anybody(method, path)
    assert told(response) == (405, "method_not_allowed")
    assert response["Allow"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe\x00",
        b"\x00" * 1000,
        b'{"phone": NaN}',
        b"[" * 50_000,
        b'{"a":' * 20_000,
        b'{"link": "\\ud800"}',
        b"9" * 10_000,
    ],
)
def test_a_body_that_is_no_json_object_is_invalid(anybody, body):
    assert told(anybody("POST", PATH, body)) == (400, "invalid")


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/jsonx", ""])
def test_a_body_of_another_type_is_refused(anybody, kind):
    assert told(anybody("POST", PATH, b"{}", kind)) == (415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_is_refused_even_with_the_token(anybody, kind):
    assert told(anybody("POST", PATH, b"{}", kind)) == (415, "unsupported_media_type")
    assert told(anybody("POST", PATH, b"{}", kind, **{"X-CSRFToken": "x"})) == (415, "unsupported_media_type")


def test_a_charset_is_no_other_type(anybody):
    assert anybody("POST", PATH, b"{}", "application/json; charset=utf-8").status_code == 201


def test_a_body_over_the_limit_is_too_large(anybody, settings):
    body = json.dumps({"link": "x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE}).encode()
    assert told(anybody("POST", PATH, body)) == (413, "too_large")


def test_many_faults_are_told_up_to_a_number(anybody):
    body = json.dumps({f"field-{number}-{'x' * 500}": 1 for number in range(100)}).encode()
    response = anybody("POST", PATH, body)
    assert told(response) == (400, "invalid")
    assert len(response.json()["errors"]) == 20
    assert len(response.content) < 10_000


def broken(*args, **kwargs):
    raise RuntimeError("password=hunter2 in /srv/app.py")


@pytest.mark.parametrize("debug", [False, True])
def test_a_bug_is_told_without_its_words_and_logged_with_its_trace(
    anybody, monkeypatch, settings, caplog, debug
):
    settings.DEBUG = debug
    monkeypatch.setattr(entry, "enter", broken)
    with caplog.at_level(logging.ERROR):
        response = anybody("POST", PATH, b"{}")
    assert told(response) == (500, "internal")
    assert "hunter2" not in response.content.decode()
    [record] = [record for record in caplog.records if "request.failed" in record.getMessage()]
    assert response.json()["request_id"] in record.getMessage()


def test_a_bug_in_a_synchronous_route_is_told_alike(anybody, monkeypatch):
    monkeypatch.setattr(routes.lifecycle, "current", broken)
    client = Client(raise_request_exception=False)
    client.cookies["vocero_browser"] = "anything"
    assert told(client.get("/api/conversations/current")) == (500, "internal")


def test_a_host_that_is_not_served_here_is_a_problem_on_the_api(anybody):
    assert told(anybody("GET", "/api/config", Host="evil.example"))[0] == 400


def test_every_answer_has_an_id_of_its_own(anybody):
    ids = {anybody("GET", path)[HEADER] for path in ("/api/config", "/api/config", "/livez", "/nowhere")}
    assert len(ids) == 4


def test_pages_keep_their_own_errors(anybody):
    response = anybody("GET", "/nowhere")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")


@pytest.mark.django_db(transaction=True)
async def test_an_asynchronous_server_answers_alike():
    client = AsyncClient(raise_request_exception=False)
    missing = await client.get("/api/nothing")
    assert told(missing) == (404, "not_found")
    assert (await client.get("/api/config")).status_code == 200
    assert told(await client.put("/api/config")) == (405, "method_not_allowed")


def test_a_refused_start_is_in_the_log_under_the_id_that_the_page_shows(anybody, caplog):
    with caplog.at_level(logging.INFO):
        refused = anybody("POST", PATH, b'{"link": "nonsense"}')
    [line] = [r.getMessage() for r in caplog.records if "request.refused" in r.getMessage()]
    assert refused.json()["request_id"] in line
    assert refused.json()["code"] in line
    assert "nonsense" not in line
