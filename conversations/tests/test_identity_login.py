"""The backend's phone login, against a real server."""

import socket

import pytest

from conversations.identity.login import BODY_LIMIT, log_in
from conversations.identity.refusal import Refused
from conversations.tests.login_server import ADMINISTRATOR, UNKNOWN

GOOD = {"sessionToken": "token-0123456789", "user": {"id": "u-1", "name": "Ada"}}


async def refusal(phone=ADMINISTRATOR):
    with pytest.raises(Refused) as refused:
        await log_in(phone)
    return refused.value


async def test_a_known_phone_brings_an_identity_with_its_token(backend):
    identity = await log_in(ADMINISTRATOR)
    assert (identity.user_id, identity.name, identity.token) == ("u-1", "Ada Admin", backend.tokens[0])
    assert backend.seen[0]["body"] == {"phone": ADMINISTRATOR}


async def test_the_token_is_in_no_repr_case_166(backend):
    identity = await log_in(ADMINISTRATOR)
    assert not any(identity.token[i : i + 6] in repr(identity) for i in range(len(identity.token) - 6))


async def test_an_unknown_phone_is_rejected_without_the_backends_words(backend):
    refused = await refusal(UNKNOWN)
    assert refused.code == "login_rejected"
    assert "token-of-nobody" not in refused.detail


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_client_error_is_a_rejection(backend, status):
    backend.answer_with(status, {"error": "no"})
    assert (await refusal()).code == "login_rejected"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_a_backend_in_trouble_is_unavailable(backend, status):
    backend.answer_with(status, b"<html>stack trace</html>")
    refused = await refusal()
    assert refused.code == "backend_unavailable"
    assert "stack" not in refused.detail


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed_case_176(backend, status):
    backend.answer_with(status, b"", Location=backend.url + "/elsewhere")
    assert (await refusal()).code == "backend_contract"
    assert len(backend.seen) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[" * 60_000,
        b"\xff\xfe",
        [],
        "text",
        {},
        {**GOOD, "sessionToken": None},
        {**GOOD, "sessionToken": ""},
        {**GOOD, "sessionToken": 7},
        {**GOOD, "sessionToken": "two words"},
        {**GOOD, "sessionToken": "line\r\nX-Evil: 1"},
        {**GOOD, "sessionToken": "x" * 9000},
        {**GOOD, "user": None},
        {**GOOD, "user": {"name": "Ada"}},
        {**GOOD, "user": {"id": "", "name": "Ada"}},
        {**GOOD, "user": {"id": True, "name": "Ada"}},
        {**GOOD, "user": {"id": "u" * 201, "name": "Ada"}},
        {**GOOD, "user": {"id": "u\u0000", "name": "Ada"}},
        {**GOOD, "user": {"id": "u-1"}},
        {**GOOD, "user": {"id": "u-1", "name": "  "}},
        {**GOOD, "user": {"id": "u-1", "name": 5}},
    ],
)
async def test_an_answer_without_token_id_or_name_breaks_the_contract(backend, body):
    backend.answer_with(200, body)
    assert (await refusal()).code == "backend_contract"


async def test_an_endless_answer_is_cut_off(backend):
    backend.answer_with(200, b'{"sessionToken": "' + b"x" * (4 * BODY_LIMIT))
    assert (await refusal()).code == "backend_contract"


async def test_a_number_as_id_and_a_wild_name_are_taken(backend):
    backend.answer_with(200, {**GOOD, "user": {"id": 17, "name": " A\u0000da\n" + "x" * 300}})
    identity = await log_in(ADMINISTRATOR)
    assert identity.user_id == "17"
    assert identity.name.startswith("A da x")
    assert len(identity.name) == 200


async def test_a_closed_port_is_unavailable(configure):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        configure(backend_login_url=f"http://127.0.0.1:{closed.getsockname()[1]}/login")
        assert (await refusal()).code == "backend_unavailable"


async def test_a_backend_that_never_answers_is_given_up(configure, monkeypatch):
    monkeypatch.setattr("conversations.identity.login.TIME_LIMIT", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        configure(backend_login_url=f"http://127.0.0.1:{silent.getsockname()[1]}/login")
        assert (await refusal()).code == "backend_unavailable"


async def test_without_an_address_login_is_unavailable():
    assert (await refusal()).code == "backend_unavailable"


async def test_a_proxy_of_the_environment_is_not_asked(backend, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert (await log_in(ADMINISTRATOR)).user_id == "u-1"
