"""The interface's own description: the contract's routes, true of real answers, and readable offline."""

import re

import jsonschema
import pytest
from django.test import Client
from django.urls import reverse

from conversations.api import problems
from conversations.api.reference import routes
from conversations.identity import keys
from conversations.tests.login_server import ADMINISTRATOR
from conversations.tests.people import Integrator

ROUTES = {
    ("GET", "/api/config"),
    ("POST", "/api/conversations"),
    ("GET", "/api/conversations/current"),
    ("GET", "/api/conversations/{conversation_id}"),
    ("DELETE", "/api/conversations/{conversation_id}"),
    ("POST", "/api/conversations/{conversation_id}/messages"),
    ("POST", "/api/reasoning"),
    ("POST", "/v1/realtime/client_secrets"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/api/search"),
    ("GET", "/api/apipilot/tools"),
    ("POST", "/api/apipilot/execute"),
}


@pytest.fixture(scope="module")
def schema():
    return Client().get("/api/openapi.json").json()


@pytest.fixture
def fits(schema):
    """Whether an answer is what the description says of that operation and status."""

    def check(response, method, path):
        described = schema["paths"][path][method.lower()]["responses"]
        assert str(response.status_code) in described, f"{response.status_code} is not described"
        content = described[str(response.status_code)].get("content")
        if not content:
            assert response.content in (b"", b"null")
            return
        [body] = [one["schema"] for one in content.values()]
        jsonschema.Draft202012Validator({**body, "components": schema["components"]}).validate(
            response.json()
        )

    return check


def test_it_is_openapi_3_1_with_every_route_of_the_contract(schema):
    assert schema["openapi"].startswith("3.1")
    described = {(method.upper(), path) for path, one in schema["paths"].items() for method in one}
    assert described >= ROUTES


@pytest.mark.django_db
def test_real_answers_are_as_described(portal, caller, stranger, fits):
    one = "/api/conversations/{conversation_id}"
    fits(caller.get("/api/config"), "GET", "/api/config")
    fits(caller.get("/api/conversations/current"), "GET", "/api/conversations/current")
    fits(caller.bootstrap(), "POST", "/api/conversations")
    fits(caller.bootstrap(phone="nonsense"), "POST", "/api/conversations")
    opened = caller.bootstrap(phone=ADMINISTRATOR)
    fits(opened, "POST", "/api/conversations")
    mine = f"/api/conversations/{opened.json()['id']}"
    fits(caller.get("/api/conversations/current"), "GET", "/api/conversations/current")
    fits(caller.get(mine), "GET", one)
    fits(stranger.get(mine), "GET", one)
    fits(caller.post("/api/search", {"query": "fish"}), "POST", "/api/search")
    fits(caller.post("/api/reasoning", {"text": "Hello"}), "POST", "/api/reasoning")
    fits(caller.post(f"{mine}/messages", {}), "POST", f"{one}/messages")
    fits(caller.get("/api/apipilot/tools"), "GET", "/api/apipilot/tools")
    secrets = "/v1/realtime/client_secrets"
    fits(Integrator(keys.make("shop").text).send("POST", secrets, {"phone": ADMINISTRATOR}), "POST", secrets)
    fits(Integrator("vk_wrong").send("POST", secrets, {"phone": ADMINISTRATOR}), "POST", secrets)
    fits(caller.delete(mine), "DELETE", one)
    fits(stranger.delete(mine), "DELETE", one)


def test_the_page_names_every_route_with_its_codes_and_an_example(schema):
    page = Client().get(reverse("reference")).content.decode()
    shown = {(one.method, one.path) for one in routes(schema)}
    assert shown >= ROUTES
    for route in routes(schema):
        assert f'id="{route.anchor}"' in page
        assert route.path in page
        assert route.curl.partition("\n")[0].split("$VOCERO")[0].split('"')[0] in page
    for code in problems.STATUSES:
        if code not in ("internal", "method_not_allowed", "unauthorized"):
            assert f"<code>{code}</code>" in page, code


def test_the_page_needs_no_script_and_nothing_from_elsewhere():
    response = Client().get(reverse("reference"))
    page = response.content.decode()
    assert response.status_code == 200
    assert not re.search(r"<script|<style|style=|onclick", page)
    addresses = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert [one for one in addresses if not one.startswith(("/", "#"))] == []
    assert "unsafe" not in response["Content-Security-Policy"]
    assert Client().post(reverse("reference")).status_code == 405
