"""What `manage.py check --deploy` says about a deployment as a whole, and that the docs list all of it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from vocero import production, telemetry
from vocero.services import Reasoning

ROOT = Path(__file__).parents[2]
LONG = "a-long-token-0123456789-abcdefgh"


@pytest.fixture
def said(settings):
    """The ids of what the checks say after changes to a sound deployment; capitals are Django's settings."""
    settings.ALLOWED_HOSTS = ["talk.example"]
    settings.LOG_LEVEL = "INFO"
    settings.REDIS_URL = ""

    def check(**changes):
        for name in [one for one in changes if one.isupper()]:
            setattr(settings, name, changes.pop(name))
        sound = {"public_url": "https://talk.example", "trusted_proxies": 1}
        settings.VOCERO = replace(settings.VOCERO, **{**sound, **changes})
        found = [*production.whole(None), *production.production(None)]
        assert all(message.hint for message in found)
        return {message.id.removeprefix("vocero.") for message in found}

    return check


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, set()),
        ({"retention_transcripts": 400}, {"W040"}),
        ({"retention_payloads": 31, "retention_rows": 30}, {"W040"}),
        ({"trusted_proxies": 0}, {"W041"}),
        ({"trusted_proxies": 0, "public_url": "http://talk.example"}, set()),
        ({"ALLOWED_HOSTS": ["*"]}, {"W042"}),
        ({"REDIS_URL": "redis://127.0.0.1/0"}, {"W043"}),
        ({"allowed_origins": ("http://shop.example",)}, {"W044"}),
        ({"allowed_origins": ("https://shop.example", "http://localhost:3000")}, set()),
        ({"metrics_token": "short"}, {"W045"}),
        ({"metrics_token": LONG, "reasoning": Reasoning(service_keys=(LONG,))}, set()),
        ({"reasoning": Reasoning(service_keys=(LONG, "short"))}, {"W045"}),
        ({"LOG_LEVEL": "DEBUG"}, {"W046"}),
        ({"otlp_endpoint": "http://127.0.0.1:4318"}, set()),
    ],
)
def test_what_does_not_fit_is_named_with_its_mend(said, settings, changes, expected):
    if "sqlite" not in settings.DATABASES["default"]["ENGINE"]:
        expected = expected - {"W043"}
    assert said(**changes) == expected


def test_spans_that_cannot_be_sent_are_an_error(said, monkeypatch):
    monkeypatch.setattr(telemetry, "is_installed", lambda: False)
    assert said(otlp_endpoint="http://127.0.0.1:4318") == {"E005"}


def test_the_docs_list_each_of_these():
    made = set(re.findall(r'id="(vocero\.[EW]\d+)"', (ROOT / "vocero" / "production.py").read_text()))
    listed = set(re.findall(r"`(vocero\.[EW]\d+)`", (ROOT / "docs" / "operations.md").read_text()))
    assert made <= listed
