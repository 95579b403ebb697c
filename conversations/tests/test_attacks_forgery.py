"""Another site's page sends what a browser lets it send, with the victim's cookies: nothing comes of it."""

import re
import uuid
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import URLPattern, get_resolver

from conversations.identity import binding, links
from conversations.models import PhoneLink
from conversations.tests import operators
from conversations.tests.login_server import ADMINISTRATOR, MANAGER
from conversations.tests.people import CSRF, Browser
from conversations.tests.stored import whole_database

pytestmark = pytest.mark.django_db

EVIL = "https://evil.example"
COMES_FROM = ({"Origin": EVIL}, {"Origin": "null"}, {"Referer": f"{EVIL}/page"})
JSON = "application/json"
# What stands for a path that is no plain route; one that is not here has to be added.
PATTERNS = {
    "^(?:api|v1)/": "api/anything",
    "^(?P<app_label>…)/$": "conversations/",
    "(?P<url>.*)$": "anything/",
}
# The admin names its applications in the order in which they were loaded.
APPLICATIONS = re.compile(r"(?<=<app_label>)[\w|]+")
PLACE = re.compile(r"<(?:\w+:)?(\w+)>")
# Not 400: whoever judges the body of a forged request has let it in. One route looks at the body first.
REFUSED = {401, 403, 404, 405, 413, 415}
BODY_FIRST = {"/api/apipilot/execute": {400}}


def routes(patterns, before=""):
    """Every address of the project, with `<name>` where something has to be filled in."""
    for pattern in patterns:
        here = APPLICATIONS.sub("…", str(pattern.pattern))
        path = before + (PATTERNS[here] if set("^$") & set(here) else here)
        if isinstance(pattern, URLPattern):
            yield f"/{path}"
        else:
            yield from routes(pattern.url_patterns, path)


ROUTES = sorted(set(routes(get_resolver().url_patterns)))


def bodies(fields):
    """One and the same message in every form that a page can send without asking first, and two it cannot."""
    text = '{"a": 1'
    members = "".join(f', "{name}": "{value}"' for name, value in fields.items())
    return {
        "application/x-www-form-urlencoded": urlencode(fields).encode(),
        MULTIPART_CONTENT: encode_multipart(BOUNDARY, fields),
        "text/plain": f"{text}{members}}}".encode(),
        "application/json": f"{text}{members}}}".encode(),
        "": f"{text}{members}}}".encode(),
    }


@pytest.fixture
def victim(portal):
    """A caller in an open conversation whose browser is signed in to the admin, too."""
    browser = Browser()
    browser.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    browser.client.cookies["csrftoken"] = CSRF
    browser.conversation_id = browser.conversation(phone=ADMINISTRATOR)["id"]
    signed_in = operators.signed_in("root", superuser=True)
    browser.client.cookies["sessionid"] = signed_in.cookies["sessionid"].value
    return browser


@pytest.fixture
def lure(victim):
    """The attacker's own phone link, which is to become the victim's session, and other things to send."""
    link = parse_qs(urlsplit(links.issue(MANAGER).address).query)["link"][0]
    # A token that was planted together with its cookie is no proof where the request comes from.
    return {"link": link, "phone": MANAGER, "text": "Hello.", "query": "x", "csrfmiddlewaretoken": CSRF}


def filled(route, victim):
    known = {"conversation_id": victim.conversation_id, "app_label": "conversations", "turn": "1"}
    return PLACE.sub(lambda found: known.get(found[1], str(uuid.UUID(int=1))), route)


def test_the_address_table_is_really_walked():
    own = {"/api/conversations", "/api/conversations/<conversation_id>", "/v1/chat/completions"}
    assert own | {"/admin/login/", "/", "/readyz"} <= set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
def test_a_forged_request_is_refused_and_changes_nothing_case_182(victim, lure, route):
    before, path = whole_database(), filled(route, victim)
    refused = REFUSED | BODY_FIRST.get(route, set())
    # One middleware stands before all of the admin.
    for headers in COMES_FROM[:1] if route.startswith("/admin/") else COMES_FROM:
        for kind, body in bodies(lure).items():
            answer = victim.client.generic("POST", path, body, kind, secure=True, headers=headers)
            assert answer.status_code in refused, (kind, headers, answer.status_code)
            assert binding.COOKIE not in answer.cookies
        for method in ("PUT", "PATCH", "DELETE"):
            answer = victim.client.generic(method, path, b"{}", JSON, secure=True, headers=headers)
            assert answer.status_code in refused, (method, headers, answer.status_code)
    assert whole_database() == before


def test_the_attackers_link_is_still_good_and_the_victim_is_who_they_were_case_182(victim, lure):
    held = victim.cookie
    for kind, body in bodies(lure).items():
        victim.client.generic("POST", "/api/conversations", body, kind, headers={"Origin": EVIL})
    assert PhoneLink.objects.get().used_at is None
    assert victim.cookie == held
    assert victim.get("/api/conversations/current").json()["id"] == victim.conversation_id
    attacker = Browser()
    assert attacker.bootstrap(link=lure["link"]).status_code == 201
