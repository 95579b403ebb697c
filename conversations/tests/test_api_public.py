"""What anybody may ask: configuration, the interface's description, the probes, the page."""

import json
import re

import pytest
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from redis.exceptions import ConnectionError as RedisGone

from conversations import probes

SECRETS = {
    "speech_api_key": "key-0123456789",
    "speech_url": "wss://speech.example/v1",
    "mcp_url": "https://portal.example",
}


def boot_of(response):
    found = re.search(r'<script id="boot" type="application/json">(.*?)</script>', response.content.decode())
    return json.loads(found[1])


def test_the_configuration_says_what_there_is_and_no_secret(configure):
    configure(**SECRETS, backend_login_url="https://login.example")
    response = Client().get("/api/config")
    body = response.json()
    assert (body["mode"], body["connection"]) == ("mcp", "relay")
    assert body["realtime"] == {
        "path": "/v1/realtime",
        "audio": {"type": "audio/pcm", "rate": 24000, "channels": 1},
    }
    assert body["features"] == {
        "speech": True,
        "login": True,
        "unsafe_phone_selector": False,
        "web_search": False,
        "reasoning": False,
        "demo": False,
    }
    assert body["limits"]["conversation_ttl"] == 3600
    assert not any(secret in response.content.decode() for secret in (*SECRETS.values(), "login.example"))


def test_without_aquaportal_the_mode_is_plain():
    assert Client().get("/api/config").json()["mode"] == "plain"


def test_the_interface_describes_itself():
    schema = Client().get("/api/openapi.json").json()
    assert schema["openapi"].startswith("3.1")
    paths = {(method, path) for path, methods in schema["paths"].items() for method in methods}
    assert {
        ("get", "/api/config"),
        ("post", "/api/conversations"),
        ("get", "/api/conversations/current"),
        ("get", "/api/conversations/{conversation_id}"),
        ("delete", "/api/conversations/{conversation_id}"),
        ("post", "/v1/realtime/client_secrets"),
    } <= paths
    schemes = schema["components"]["securitySchemes"]
    assert {"ClientSecret", "Browser", "Integrator"} <= set(schemes)


def test_the_description_page_loads_nothing_from_elsewhere():
    response = Client().get("/api/docs")
    assert response.status_code == 200
    assert "//" not in re.sub(r"<!--.*?-->", "", response.content.decode()).replace("</", "")
    assert "script-src 'self'" in response["Content-Security-Policy"]


def test_a_process_is_alive_without_its_database():
    response = Client().get("/livez")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.django_db
def test_a_process_with_all_it_needs_is_ready():
    response = Client().get("/readyz")
    ready = {"status": "ready", "failing": [], "details": {"retention": "ok"}}
    assert (response.status_code, response.json()) == (200, ready)
    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db
def test_a_missing_migration_is_named():
    MigrationRecorder.Migration.objects.filter(app="conversations").delete()
    response = Client().get("/readyz")
    assert (response.status_code, response.json()["failing"]) == (503, ["migrations"])


@pytest.mark.django_db
def test_a_database_that_is_away_is_named_without_its_words(monkeypatch):
    def refuse(*args):
        raise OperationalError("password authentication failed for user vocero")

    monkeypatch.setattr(probes.connection, "cursor", refuse)
    response = Client().get("/readyz")
    assert (response.status_code, response.json()["failing"]) == (503, ["database"])
    assert "password" not in response.content.decode()


@pytest.mark.django_db
def test_the_cache_counts_where_it_is_redis(settings, monkeypatch):
    def refuse(*args, **kwargs):
        raise RedisGone("down")

    monkeypatch.setattr(probes.cache, "set", refuse)
    assert Client().get("/readyz").status_code == 200
    settings.REDIS_URL = "redis://127.0.0.1:9"
    assert Client().get("/readyz").json()["failing"] == ["cache"]


def test_the_page_is_told_what_it_needs_and_is_not_kept():
    response = Client().get("/")
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert response.cookies["csrftoken"].value
    boot = boot_of(response)
    assert set(boot) == {
        "link",
        "phone",
        "unsafe_phone_selector",
        "demo_callers",
        "demo_badge",
        "mode",
        "reasoning",
        "worklets",
        "realtime_path",
        "web_search",
        "csrf_cookie",
        "language",
        "catalog",
    }
    assert (boot["link"], boot["phone"], boot["demo_callers"], boot["demo_badge"]) == (None, None, [], "")
    assert boot["realtime_path"] == "/v1/realtime"
    assert {url.startswith("/static/conversations/audio/") for url in boot["worklets"].values()} == {True}


def test_a_link_in_the_address_reaches_the_page_as_data_case_181():
    wild = '</script><script>alert(1)</script>&"'
    response = Client().get("/", {"link": wild})
    assert boot_of(response)["link"] == wild
    assert "<script>alert" not in response.content.decode()


@pytest.mark.parametrize(
    ("query", "phone"),
    [
        ("phone=+34600000001", "+34600000001"),
        ("phone=%2B34600000001", "+34600000001"),
        ("phone=34600000001", "+34600000001"),
        ("phone=nonsense", None),
        ("", None),
    ],
)
def test_a_phone_in_the_address_counts_only_where_that_is_switched_on(configure, query, phone):
    assert boot_of(Client().get(f"/?{query}"))["phone"] is None
    configure(unsafe_phone_selector=True)
    assert boot_of(Client().get(f"/?{query}"))["phone"] == phone


def test_the_demos_callers_are_offered_in_the_demo_only(configure):
    configure(demo=True, demo_badge="Light speech")
    boot = boot_of(Client().get("/"))
    assert boot["demo_badge"] == "Light speech"
    assert [caller["phone"][-1] for caller in boot["demo_callers"]] == ["1", "2", "3", "8", "9"]


def test_the_page_takes_no_posts():
    assert Client().post("/").status_code == 405
