"""What tests of conversations stand on: settings to bend, a backend to log in at, people with browsers."""

from dataclasses import replace

import pytest
from django.core.cache import cache

from conversations.identity import rates
from conversations.realtime.dialects import ALL, GA
from conversations.tests.core_play import Play
from conversations.tests.login_server import LoginServer
from conversations.tests.people import Browser
from conversations.tests.speech_script import Script
from vocero import doors

DIALECTS = "every_dialect"


def pytest_generate_tests(metafunc):
    """A module or test marked `every_dialect` runs over each; `except_in` names where it cannot exist."""
    if metafunc.definition.get_closest_marker(DIALECTS) is None:
        return
    left_out = {name for mark in metafunc.definition.iter_markers("except_in") for name in mark.args}
    names = [name for name in ALL if name not in left_out]
    metafunc.parametrize("speech_dialect", names, indirect=True)


@pytest.fixture(autouse=True)
def speech_dialect(request, monkeypatch):
    """What the scripted services of a test speak."""
    name = getattr(request, "param", GA.name)
    monkeypatch.setattr(Script, "dialect", name)
    monkeypatch.setattr(Play, "dialect", name)
    return name


@pytest.fixture(autouse=True)
def _no_rate_limits_from_other_tests():
    cache.clear()
    doors.TOLD.forget()


@pytest.fixture
def one_minute(monkeypatch):
    """All that a test attempts falls in one minute, whatever the clock says meanwhile."""
    counted = rates.retry_after
    monkeypatch.setattr(
        rates, "retry_after", lambda scope, who, limit, _now: counted(scope, who, limit, now=30.0)
    )


@pytest.fixture
def configure(settings):
    """Changes Vocero's own settings for one test."""

    def change(**changes):
        settings.VOCERO = replace(settings.VOCERO, **changes)

    return change


@pytest.fixture
def backend(configure):
    """A login service on loopback, which this deployment uses."""
    server = LoginServer()
    with server.running():
        configure(backend_login_url=server.url)
        yield server


@pytest.fixture
def portal(backend, configure):
    """A deployment with AquaPortal and the unsafe selector: phones log in at `backend`."""
    configure(mcp_url="http://127.0.0.1:9/mcp", unsafe_phone_selector=True)
    return backend


@pytest.fixture
def caller():
    return Browser()


@pytest.fixture
def other():
    return Browser()


@pytest.fixture
def stranger():
    return Browser()
