"""Whoever is turned away because of a setting leaves one line that names it."""

import asyncio
import json
import logging

import pytest
from django.test import Client
from structlog.stdlib import ProcessorFormatter

from conversations.tests.people import CSRF
from vocero import doors
from vocero.doors import Knock, Sparingly, noticing, setting_for

EVIL = "https://evil.example"


@pytest.fixture
def told(caplog):
    """The lines that name a setting, or may."""

    def lines(word):
        return [record.getMessage() for record in caplog.records if word in record.getMessage()]

    return lines


def test_a_kind_is_told_once_a_minute_with_how_many_were_kept_back():
    time = 0.0
    sparingly = Sparingly(now=lambda: time)
    assert [sparingly.may_tell("a") for _ in range(4)] == [0, None, None, None]
    assert sparingly.may_tell("b") == 0
    time = 59.9
    assert sparingly.may_tell("a") is None
    time = 60.0
    assert [sparingly.may_tell("a"), sparingly.may_tell("a")] == [4, None]


@pytest.mark.parametrize(
    ("knock", "served", "proxies", "named"),
    [
        (Knock(EVIL, "app.test", True), True, 0, "S2S_ALLOWED_ORIGINS"),
        (Knock("", "app.test", True), True, 0, "S2S_ALLOWED_ORIGINS"),
        (Knock("https://app.test", "app.test", True), False, 0, "ALLOWED_HOSTS"),
        (Knock("https://app.test", "app.test", False, "https"), True, 0, "S2S_TRUSTED_PROXIES"),
        (Knock("https://app.test", "app.test", False), True, 0, "S2S_PUBLIC_URL"),
        (Knock("https://App.test", "app.test", False, "http"), True, 1, "S2S_PUBLIC_URL"),
        (Knock("https://app.test:8443", "app.test", False, "https"), True, 0, "S2S_ALLOWED_ORIGINS"),
    ],
)
def test_the_setting_to_change_follows_from_what_came(knock, served, proxies, named):
    assert setting_for(knock, served, proxies, "S2S_ALLOWED_ORIGINS") == named


def test_a_host_that_is_not_served_is_told_once_with_its_setting_case_195(told):
    for _ in range(3):
        assert Client().get("/", headers={"Host": "evil.example"}).status_code == 400
    (line,) = told("HTTP_HOST")
    assert "'evil.example'" in line
    assert "ALLOWED_HOSTS" in line


@pytest.mark.django_db
def test_a_form_of_another_origin_is_told_once_with_its_setting_case_195(told):
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = CSRF
    for number in range(3):
        sent = {"Origin": f"{EVIL}-{number}", "X-CSRFToken": CSRF}
        path = ("/admin/login/", "/api/conversations", "/api/conversations")[number]
        assert client.generic("POST", path, b"{}", "application/json", headers=sent).status_code == 403
    (line,) = told("Origin checking failed")
    assert f"{EVIL}-0" in line
    assert "CSRF_TRUSTED_ORIGINS" in line


@pytest.mark.django_db
def test_a_page_behind_an_untrusted_proxy_is_told_which_setting_is_missing_case_195(told):
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = CSRF
    sent = {"Origin": "https://testserver", "Host": "testserver", "X-Forwarded-Proto": "https"}
    answer = client.post("/admin/login/", headers={**sent, "X-CSRFToken": CSRF})
    assert answer.status_code == 403
    (line,) = told("Origin checking failed")
    assert "S2S_TRUSTED_PROXIES" in line


@pytest.mark.django_db
def test_a_missing_token_is_no_matter_of_settings(told):
    answer = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "x"})
    assert answer.status_code == 403
    (line,) = told("CSRF cookie not set")
    assert "Setting" not in line


async def _called(scope):
    async def app(*_call):
        return None

    await noticing(app)(scope, None, None)


def forwarded(name, **scope):
    return {"type": "http", "client": ("10.0.0.7", 4711), "headers": [(name, b"198.51.100.7")], **scope}


def test_a_proxys_header_that_is_ignored_is_told_once_case_195(told, configure):
    for kind in ("http", "websocket"):
        asyncio.run(_called(forwarded(b"x-forwarded-for", type=kind)))
    asyncio.run(_called(forwarded(b"accept")))
    asyncio.run(_called({"type": "lifespan"}))
    (line,) = told("proxy.ignored")
    assert "S2S_TRUSTED_PROXIES" in line
    doors.TOLD.forget()
    configure(trusted_proxies=1)
    asyncio.run(_called(forwarded(b"x-forwarded-proto")))
    assert len(told("proxy.ignored")) == 1


def test_what_a_stranger_sent_is_cut_and_escaped_in_one_line_case_195(caplog):
    doors.refused_socket(Knock("https://evil\n\x1b[31m" + "x" * 10_000, "y" * 10_000, secure=True))
    (record,) = [one for one in caplog.records if "origin_refused" in one.getMessage()]
    ours = next(one for one in logging.getLogger().handlers if isinstance(one.formatter, ProcessorFormatter))
    line = ours.format(record)
    assert line.isprintable()
    assert len(line) < 1000
    entry = json.loads(line)
    assert (entry["mend"], entry["level"], entry["kept_back"]) == ("ALLOWED_HOSTS", "warning", 0)
    assert entry["origin"].startswith("https://evil\n")


def test_the_filter_stands_before_djangos_loggers():
    for name in ("csrf", "DisallowedHost"):
        filters = logging.getLogger(f"django.security.{name}").filters
        assert any(isinstance(one, doors.NamesTheSetting) for one in filters)
