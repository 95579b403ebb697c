"""Who may embed the assistant: the origins that are set, by CORS and by frame-ancestors, and nobody else."""

import json
import re

import pytest
from django.test import Client

from conversations.embed import STYLES
from conversations.identity.admission import COOKIE, SECRET, origin_allowed

SITE, STRANGER = "https://farms.example", "https://farms.example.evil.test"
ADDRESSES = ("/embed/vocero-assistant.js", "/embed/panel", "/embed/frame")


@pytest.fixture
def embedding(configure, settings):
    configure(embed_origins=(SITE,))
    settings.CORS_ALLOWED_ORIGINS = [SITE]


def asked(path, origin=SITE, **headers):
    return Client().get(path, headers={"Origin": origin, **headers})


@pytest.mark.parametrize("address", ADDRESSES)
def test_nothing_can_be_embedded_where_no_origin_is_set(address):
    assert Client().get(address).status_code == 404


@pytest.mark.parametrize("address", ["/embed/panel", "/api/config"])
def test_only_a_listed_origin_may_read(embedding, address):
    assert asked(address)["Access-Control-Allow-Origin"] == SITE
    for other in (STRANGER, "http://farms.example", f"{SITE}:8443", "null", "https://evil.test"):
        answer = asked(address, other)
        assert "Access-Control-Allow-Origin" not in answer
        assert "origin" in answer["Vary"].lower()


def test_a_guests_requests_pass_the_preflight_and_never_carry_a_cookie(embedding):
    wish = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    answer = Client().options("/api/reasoning", headers={"Origin": SITE, **wish})
    assert answer.status_code == 200
    assert {"authorization", "content-type", "x-vocero-conversation"} <= set(
        answer["Access-Control-Allow-Headers"].split(", ")
    )
    assert "Access-Control-Allow-Credentials" not in answer
    assert "retry-after" in asked("/api/config")["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("address", ["/", "/admin/login/", "/livez", "/v1/realtime/client_secrets"])
def test_what_is_not_for_guests_may_not_be_read_from_elsewhere(embedding, address, db):
    assert "Access-Control-Allow-Origin" not in asked(address)


@pytest.mark.parametrize("address", ["/", "/embed/frame"])
def test_the_client_may_be_framed_by_listed_origins_alone(embedding, address):
    answer = Client().get(address)
    assert f"frame-ancestors {SITE}" in answer["Content-Security-Policy"]
    assert "X-Frame-Options" not in answer


def test_nothing_else_may_be_framed(embedding, db):
    for address in ("/admin/login/", "/api/config", "/embed/panel"):
        assert f"{SITE}" not in Client().get(address).headers.get("Content-Security-Policy", "")
        assert Client().get(address)["X-Frame-Options"] == "DENY"


def test_nobody_may_frame_the_page_where_no_origin_is_set():
    answer = Client().get("/")
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert answer["X-Frame-Options"] == "DENY"


def test_the_module_keeps_its_address_and_names_the_hashed_file(embedding):
    answer = Client().get("/embed/vocero-assistant.js")
    assert answer["Content-Type"].startswith("text/javascript")
    assert answer["Access-Control-Allow-Origin"] if answer.has_header("Access-Control-Allow-Origin") else True
    assert answer.content.decode() == 'export * from "/static/conversations/embed/element.js";\n'


def test_the_module_can_be_loaded_from_a_listed_origin(embedding):
    assert asked("/embed/vocero-assistant.js")["Access-Control-Allow-Origin"] == SITE


def test_the_panel_holds_what_the_element_shows_and_nobodys_identity(embedding, configure):
    configure(unsafe_phone_selector=True, demo=True, demo_badge="Local speech")
    panel = asked("/embed/panel?link=a-link&phone=%2B34600000001").json()
    assert set(panel) == {"language", "direction", "html", "styles", "words", "boot"}
    assert len(panel["styles"]) == len(STYLES)
    assert 'id="microphone"' in panel["html"]
    boot = panel["boot"]
    assert (boot["link"], boot["phone"], boot["demo_callers"]) == (None, None, [])
    assert "34600000001" not in json.dumps(panel)
    assert "a-link" not in json.dumps(panel)
    assert "Local speech" not in panel["html"]


def test_the_element_has_every_style_of_the_page_but_those_of_its_frame(embedding):
    page = re.findall(r"conversations/css/(\w+)\.css", Client().get("/").content.decode())
    assert [name for name in page if name != "frame"] == list(STYLES[:-1])


def test_the_panel_speaks_the_language_that_is_asked_for_before_the_browsers(embedding):
    browser = {"Accept-Language": "es"}
    assert asked("/embed/panel", **browser).json()["language"] == "es"
    assert asked("/embed/panel?language=en", **browser).json()["language"] == "en"
    assert asked("/embed/panel?language=xx", **browser).json()["language"] == "es"


def test_a_guests_socket_may_come_from_an_embedding_page_and_a_cookies_may_not(configure):
    configure(embed_origins=(SITE,), allowed_origins=("https://other.example",))
    assert origin_allowed(SITE, "testserver", True, SECRET)
    assert not origin_allowed(STRANGER, "testserver", True, SECRET)
    assert not origin_allowed(SITE, "testserver", True, COOKIE)
