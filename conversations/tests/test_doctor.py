"""The doctor: what it reaches, what it says where something fails, and a turn with each of its hops."""

import asyncio
import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from conversations.doctor import own, services
from conversations.doctor.asking import Answer
from conversations.doctor.configured import configured, written_in
from conversations.doctor.findings import FAILED, OK, SKIPPED, WARNING, Finding, is_well
from conversations.doctor.turn import Place, take_turn
from conversations.models import Conversation
from conversations.tests.serving import free_port
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import rows
from conversations.tests.talking import ADMINISTRATOR
from demo.model.testing import KEY, running_model
from vocero.services import Reasoning

pytest_plugins = ("conversations.tests.deployment",)

QUESTION = "Give me my briefing."
BRIEFING = [Calls.one("get_my_briefing", {}), Says("Here it is.")]
UNKNOWN = "+34600000009"


# ---- what is configured


def test_it_says_what_is_set_and_from_where_and_no_value(tmp_path):
    file = tmp_path / ".env"
    file.write_text("# note\nS2S_MCP_URL=https://portal.example/mcp\nexport S2S_LLM_API_KEY='key-in-file'\n")
    environment = {
        "SECRET_KEY": "the-secret-key",
        "S2S_SPEECH_API_KEY_FILE": "/run/secrets/openai",
        "S2S_MCP_URL": "https://portal.example/mcp",
        "S2S_LLM_API_KEY": "key-in-file",
        "REDIS_URL": " ",
    }
    found = {one.name: one for one in configured(environment, written_in(file))}
    assert found["SECRET_KEY"].said == "set, from the environment"
    assert found["S2S_MCP_URL"].said == found["S2S_LLM_API_KEY"].said == "set, from .env"
    assert found["S2S_SPEECH_API_KEY"].said == "set, from the file that S2S_SPEECH_API_KEY_FILE names"
    assert (found["REDIS_URL"].status, found["REDIS_URL"].said) == (SKIPPED, "not set")
    said = " ".join(one.line() for one in found.values())
    assert not any(value.strip() in said for value in environment.values() if value.strip())
    assert written_in(tmp_path / "missing") == {}


# ---- the services, and each of them failing


def closed():
    return f"127.0.0.1:{free_port()}"


async def test_each_service_that_is_there_is_reached(deployed, configure):
    with running_model() as model:
        configure(reasoning=Reasoning(base_url=model.base_url, api_key=KEY, model="demo-planner"))
        found = [await look() for look in (services.speech, services.login, services.portal, services.model)]
        assert [(one.name, one.status) for one in found] == [
            ("speech service", OK),
            ("backend login", OK),
            ("AquaPortal (MCP)", OK),
            ("reasoning model", OK),
        ]
        assert all(one.ms is not None for one in found)
    assert (await services.clock()).status == OK


async def test_the_login_that_is_asked_is_nobodys(deployed, aquaportal):
    await services.login()
    assert aquaportal.accounts.tokens == {} or not any(
        services.NOBODY in str(one) for one in aquaportal.accounts.tokens
    )


@pytest.mark.parametrize(
    ("look", "setting", "address"),
    [
        ("speech", "speech_url", "ws://{}/v1/realtime"),
        ("login", "backend_login_url", "http://{}/login"),
        ("portal", "mcp_url", "http://{}/mcp"),
        ("collector", "otlp_endpoint", "http://{}"),
    ],
)
async def test_a_service_that_is_not_there_fails_with_the_setting_to_look_at(
    configure, look, setting, address
):
    configure(**{setting: address.format(closed())})
    found = await getattr(services, look)()
    assert found.status == FAILED
    assert ("OTEL_" if look == "collector" else f"S2S_{setting.upper()}") in found.mend
    configure(**{setting: ""})
    assert (await getattr(services, look)()).status == SKIPPED


@pytest.mark.parametrize(
    ("look", "status", "expected"),
    [
        ("login", 401, OK),
        ("login", 404, WARNING),
        ("login", 200, WARNING),
        ("login", 302, FAILED),
        ("login", 503, FAILED),
        ("model", 401, FAILED),
        ("model", 404, OK),
        ("portal", 401, OK),
        ("portal", 200, WARNING),
        ("portal", 404, FAILED),
        ("portal", 307, FAILED),
    ],
)
async def test_each_answer_is_judged(deployed, configure, monkeypatch, look, status, expected):
    async def answer(*args, **more):
        return Answer(status, 12)

    monkeypatch.setattr(services, "ask", answer)
    configure(reasoning=Reasoning(base_url="http://model.example/v1", api_key=KEY))
    found = await getattr(services, look)()
    assert found.status == expected
    assert bool(found.mend) == (expected != OK)


async def test_a_clock_that_is_off_is_a_warning(deployed, monkeypatch):
    async def late(*args, **more):
        return Answer(405, 3, skew=-90.0)

    monkeypatch.setattr(services, "ask", late)
    found = await services.clock()
    assert (found.status, found.said) == (WARNING, "90 s ahead of a service's")


async def test_a_search_is_only_paid_for_where_it_is_wished(configure, monkeypatch):
    asked = []

    async def answer(*args, **more):
        asked.append(args)
        return Answer(200, 5)

    monkeypatch.setattr(services, "ask", answer)
    configure(serper_api_key="k")
    assert (await services.search(False)).status == SKIPPED
    assert asked == []
    assert (await services.search(True)).status == OK
    assert len(asked) == 1


@pytest.mark.django_db
def test_what_vocero_stands_on_is_looked_at(settings, tmp_path):
    assert own.database().status == OK
    assert own.redis().status == SKIPPED
    settings.REDIS_URL = f"redis://{closed()}/0"
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": settings.REDIS_URL}
    }
    assert own.redis().status == FAILED
    settings.STATIC_ROOT = tmp_path
    assert "collectstatic" in own.static_files().mend
    (tmp_path / "staticfiles.json").write_text("{}")
    assert own.static_files().status == OK
    assert "manage.py cleanup" in own.cleanup().mend


# ---- a turn


def place(address):
    return Place(f"127.0.0.1:{address.port}", address.origin)


async def test_a_turn_tells_each_hop_and_leaves_nothing_open(vocero, speech):
    speech.replies += BRIEFING
    found = await take_turn(place(vocero), ADMINISTRATOR, QUESTION)
    assert [one.name for one in found] == [
        "bootstrap",
        "socket",
        "session",
        "selection",
        "tool request",
        "result",
        "answer",
        "end",
        "cleanup",
    ]
    assert is_well(found)
    assert all(one.ms is not None and one.ms >= 0 for one in found)
    assert found[3].said == "the model picked get_my_briefing"
    [conversation] = await rows(Conversation)
    assert (conversation.state, conversation.close_reason) == ("closed", "caller_cleanup")


async def failing(address, phone=ADMINISTRATOR):
    found = await take_turn(place(address), phone, QUESTION)
    assert not is_well(found)
    return found[-1]


async def test_a_turn_that_fails_says_where_and_what_to_do(vocero, speech, aquaportal):
    assert "login_rejected" in (await failing(vocero, UNKNOWN)).said
    speech.replies += [Says("I know that by heart.")]
    assert (await failing(vocero)).said == "the model answered without a tool"
    aquaportal.faults.add("status", on="tools/call", times=2, status=500)
    speech.replies += BRIEFING
    failed = await failing(vocero)
    assert failed.said == "the tool failed: unavailable"
    assert failed.mend.startswith("Search the admin for ")
    assert {one.state for one in await rows(Conversation)} == {"closed"}


async def test_a_turn_at_a_server_that_is_not_there_fails(transactional_db):
    address = closed()
    found = await take_turn(Place(address, f"http://{address}"), ADMINISTRATOR, QUESTION)
    assert "cannot be reached" in found[-1].said


# ---- the command


def doctor(*arguments):
    out = io.StringIO()
    try:
        call_command("doctor", *arguments, "--json", stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue()), str(error)
    return json.loads(out.getvalue()), ""


async def test_the_command_takes_a_turn_in_a_server_of_its_own(transactional_db, deployed, speech):
    speech.replies += BRIEFING
    told, error = await asyncio.to_thread(doctor, "--turn", "--phone", ADMINISTRATOR)
    assert (told["well"], error) == (True, "")
    assert [one["name"] for one in told["findings"]][-1] == "cleanup"


async def test_the_command_fails_where_a_service_does_and_prints_no_secret(
    transactional_db, deployed, speech, configure
):
    configure(mcp_url=f"http://{closed()}/mcp", speech_api_key="speech-key-0123456789")
    told, error = await asyncio.to_thread(doctor)
    assert told["well"] is False
    assert "AquaPortal (MCP)" in error
    assert "speech-key-0123456789" not in json.dumps(told)
    assert "database" in {one["name"] for one in told["findings"]}


def test_a_turn_needs_a_phone():
    with pytest.raises(CommandError, match="--phone"):
        call_command("doctor", "--turn")


def test_a_finding_is_one_line_and_its_mend():
    line = Finding("login", FAILED, "is not there", "Start it.", 12).line()
    assert line == "FAIL  login: is not there (12 ms)\n       Start it."
