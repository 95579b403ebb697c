"""Fixtures of whole deployments: AquaPortal, a scripted speech service, and Vocero before them."""

import logging

import pytest

from conversations.realtime import relay
from conversations.tests.serving import daphne_command, environment, free_port, in_thread, process
from conversations.tests.speech_script import scripted_speech
from conversations.tests.talking import ADMINISTRATOR, Person
from demo.aquaportal.testing import running_portal

MANY = 1_000_000


@pytest.fixture(scope="session")
def aquaportal_server():
    with running_portal() as portal:
        yield portal


@pytest.fixture
def aquaportal(aquaportal_server):
    """The demo AquaPortal, without the faults and requests of other tests."""
    aquaportal_server.reset()
    yield aquaportal_server
    aquaportal_server.reset()


@pytest.fixture(scope="session")
def speech_port():
    return free_port()


@pytest.fixture
async def speech(speech_port):
    """A scripted speech service, always on the same port."""
    async with scripted_speech(speech_port) as script:
        yield script


@pytest.fixture
def deployed(configure, aquaportal, speech):
    """Settings that name the other two."""
    configure(
        speech_url=speech.url,
        backend_login_url=aquaportal.login_url,
        mcp_url=aquaportal.mcp_url,
        unsafe_phone_selector=True,
        reconnect_grace=0.0,
        rate_bootstrap=MANY,
        rate_secrets=MANY,
        rate_sockets=MANY,
    )


@pytest.fixture
def quick_heartbeat(monkeypatch):
    """What a call learns from its row it learns soon."""
    monkeypatch.setattr(relay, "HEARTBEAT", 0.2)


@pytest.fixture
async def vocero(transactional_db, deployed):
    """A server in this process."""
    async with in_thread() as server:
        yield server.address


@pytest.fixture(scope="session")
def daphne_server(django_db_setup, django_db_blocker, aquaportal_server, speech_port):
    with django_db_blocker.unblock():
        settings = environment(
            S2S_SPEECH_URL=f"ws://127.0.0.1:{speech_port}/v1/realtime",
            S2S_BACKEND_LOGIN_URL=aquaportal_server.login_url,
            S2S_MCP_URL=aquaportal_server.mcp_url,
            S2S_RECONNECT_GRACE=0,
        )
    with process(daphne_command(free_port()), settings) as server:
        yield server


@pytest.fixture(params=["uvicorn", "daphne"])
async def either(request, transactional_db, aquaportal, speech):
    """Vocero on uvicorn, then on Daphne, with the same database; neither reports a fault of its own."""
    if request.param == "daphne":
        server = request.getfixturevalue("daphne_server")
        written = len(server.log)
        yield server.address
        assert [line for line in server.log[written:] if "Traceback" in line or "ERROR" in line] == []
        return
    request.getfixturevalue("deployed")
    caplog = request.getfixturevalue("caplog")
    async with in_thread() as server:
        yield server.address
        assert [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR] == []


@pytest.fixture
async def ada(vocero):
    """The administrator, with an open conversation."""
    person = Person(vocero)
    await person.bootstrap(phone=ADMINISTRATOR)
    return person
