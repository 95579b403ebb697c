"""No piece of a live credential is in a line, whoever wrote it."""

import json
import secrets
import uuid

import pytest

from vocero.apps import configured_secrets
from vocero.hiding import HIDDEN, Hiding

TOKEN = "aqp_Zk3vT9xQm2LrB7wYc5nHd8sJ"


@pytest.fixture
def hiding():
    hiding = Hiding()
    hiding.keep(TOKEN)
    return hiding


def test_every_piece_of_six_characters_is_covered_case_166(hiding):
    random_part = TOKEN.removeprefix("aqp_")
    pieces = [random_part[start : start + 6] for start in range(len(random_part) - 5)]
    for piece in pieces:
        covered = hiding.without(f'{{"event": "token begins with {piece}…"}}')
        assert piece not in covered
        assert json.loads(covered)["event"] == f"token begins with {HIDDEN}…"


def test_a_whole_one_is_covered_once_wherever_it_stands(hiding):
    assert hiding.without(f"a={TOKEN}&b=1 '{TOKEN}'") == f"a={HIDDEN}&b=1 '{HIDDEN}'"


@pytest.mark.parametrize("written", ["+34600000001", "34600000001", "600000001", "%2B34600000001"])
def test_a_phone_is_covered_with_and_without_its_country(hiding, written):
    hiding.keep("+34600000001")
    assert "600000001" not in hiding.without(f"caller {written} came")
    assert hiding.without("took 600000002 ns") == "took 600000002 ns"


def test_words_alone_are_covered_only_where_many_of_them_agree(hiding):
    hiding.keep("any-key-will-do-for-the-stand-in")
    assert hiding.without("any key, will do, stand-in") == "any key, will do, stand-in"
    assert "any-key" not in hiding.without("key=any-key-will-do-for-the-stand-in;")


def test_ids_and_times_stay_readable_beside_a_thousand_credentials(hiding):
    for _ in range(1000):
        hiding.keep(secrets.token_urlsafe(32))
    for _ in range(200):
        line = json.dumps(
            {
                "event": "tool.executed",
                "conversation": str(uuid.uuid4()),
                "request_id": uuid.uuid4().hex,
                "timestamp": "2026-12-01T01:09:16.123456Z",
            }
        )
        assert hiding.without(line) == line


def test_the_oldest_are_forgotten_and_what_others_share_is_not():
    hiding = Hiding(most=2)
    for name in ("First1Secret9Value", "Second2Secret8Value", "Third3Secret7Value"):
        hiding.keep(name)
    assert hiding.without("First1Secret9Value").startswith("First1")
    assert hiding.without("Third3Secret7Value") == HIDDEN
    assert hiding.without("Second2Secret8Value") == HIDDEN


def test_it_holds_no_credential(hiding):
    held = repr(vars(hiding))
    assert not any(TOKEN[start : start + 6] in held for start in range(len(TOKEN) - 5))


def test_short_and_empty_ones_hide_nothing(hiding):
    for nothing in ("", "none", "abcde"):
        hiding.keep(nothing)
    assert hiding.without("none of abcde") == "none of abcde"


def test_the_settings_own_secrets_are_known(settings):
    from dataclasses import replace

    from vocero.services import ApiPilot, Reasoning

    settings.REDIS_URL = "redis://user:redis-password@127.0.0.1/0"
    reasoning = Reasoning(api_key="llm", gemini_key="gemini", service_keys=("service",))
    settings.VOCERO = replace(
        settings.VOCERO,
        speech_api_key="speech",
        serper_api_key="serper",
        metrics_token="metrics",
        token_keys=("vault",),
        apipilot=ApiPilot(token="pilot"),
        reasoning=reasoning,
    )
    known = set(configured_secrets(settings))
    assert {"speech", "serper", "metrics", "vault", "pilot", "llm", "gemini", "service"} <= known
    assert {"redis-password", settings.SECRET_KEY} <= known
