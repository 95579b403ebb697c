"""Which page may open a socket."""

import pytest

from conversations.identity import admission, origins

HOST = "app.test"


def cookie_from(origin, host=HOST, secure=True, listed=(), public=""):
    return origins.allowed(origin, host, secure, "cookie", listed, public)


def test_the_pages_own_origin_may_open_a_socket():
    assert cookie_from("https://app.test")


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "https://evil.example",
        "http://app.test",
        "https://app.test:8443",
        "https://sub.app.test",
        "https://app.test.evil.com",
        "https://evilapp.test",
        "https://app.test.",
        "https://app.test/",
        "https://app.test/path",
        "https://user@app.test",
        "https://app.test\n",
        "https://app.te\tst",
        "https://app.test https://evil.example",
        "file://app.test",
        "https://",
        "https://app.test:",
        "https://app.test:99999999",
    ],
)
def test_any_other_origin_is_refused_to_a_cookie_case_168_169(origin):
    assert not cookie_from(origin)


@pytest.mark.parametrize("origin", ["HTTPS://APP.TEST", "https://App.Test:443", "https://app.test:443"])
def test_case_and_the_default_port_make_no_other_origin_case_168(origin):
    assert cookie_from(origin)
    assert cookie_from("https://app.test", host="APP.TEST:443")


def test_a_plain_request_has_a_plain_origin():
    assert cookie_from("http://localhost:8000", host="localhost:8000", secure=False)
    assert not cookie_from("https://localhost:8000", host="localhost:8000", secure=False)
    assert cookie_from("http://[::1]:8000", host="[::1]:8000", secure=False)


def test_the_public_address_counts_behind_a_proxy_that_ends_tls():
    public = "https://talk.example/vocero"
    assert cookie_from("https://talk.example", host="10.0.0.7:8000", secure=False, public=public)
    assert not cookie_from("http://talk.example", host="10.0.0.7:8000", secure=False, public=public)


def test_listed_origins_count_exactly_case_169():
    listed = ("https://shop.example", "http://localhost:3000")
    assert cookie_from("https://shop.example", listed=listed)
    assert cookie_from("http://localhost:3000", listed=listed)
    assert not cookie_from("http://localhost:3001", listed=listed)
    assert not cookie_from("http://shop.example", listed=listed)


@pytest.mark.parametrize("origin", [None, "null", "https://anywhere.example"])
def test_a_secret_may_come_from_anywhere(origin):
    assert origins.allowed(origin, HOST, True, "secret", ())


def test_a_secret_is_bound_to_listed_origins_once_there_are_some():
    listed = ("https://shop.example",)
    assert origins.allowed("https://shop.example", HOST, True, "secret", listed)
    assert not origins.allowed("https://anywhere.example", HOST, True, "secret", listed)
    assert not origins.allowed(None, HOST, True, "secret", listed)


def test_a_host_that_is_not_served_here_is_nobodys_own_origin(settings):
    settings.ALLOWED_HOSTS = ["app.test"]
    assert admission.origin_allowed("https://app.test", "app.test", True, "cookie")
    assert not admission.origin_allowed("https://evil.example", "evil.example", True, "cookie")
    assert not admission.origin_allowed("https://", "", True, "cookie")
