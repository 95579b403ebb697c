"""A speech service whose requests reach another process than the one that holds the call."""

import os

import pytest

from conversations.models import ToolCall
from conversations.tests.serving import database_url, environment, free_port, process, uvicorn_command
from conversations.tests.stored import rows
from conversations.tests.talking import ADMINISTRATOR, Person, eventually
from conversations.tests.thinking_kit import KEY, body, hears, instructions, post, streams

pytestmark = [pytest.mark.redis, pytest.mark.django_db(transaction=True)]
pytest_plugins = ("conversations.tests.deployment",)

QUICK = "conversations.tests.quick_asgi:application"


@pytest.fixture(scope="module")
def servers(django_db_setup, django_db_blocker, aquaportal_server, speech_port):
    """Two of them, with the tests' database and one Redis between them."""
    with django_db_blocker.unblock():
        settings = environment(
            DATABASE_URL=database_url(),
            REDIS_URL=os.environ["VOCERO_TEST_REDIS_URL"],
            S2S_SPEECH_URL=f"ws://127.0.0.1:{speech_port}/v1/realtime",
            S2S_BACKEND_LOGIN_URL=aquaportal_server.login_url,
            S2S_MCP_URL=aquaportal_server.mcp_url,
            S2S_BRAIN="conversations.tests.slow_brain.SlowBrain",
            S2S_BRAIN_AS_LLM="true",
            S2S_SERVICE_KEYS=KEY,
        )
        holds, other = (uvicorn_command(free_port(), QUICK) for _ in range(2))
        with process(holds, settings) as first, process(other, settings) as second:
            yield first.address, second.address


async def test_the_answer_the_tap_and_the_hanging_up_pass_between_the_processes(servers, speech):
    holds, other = servers
    person = Person(holds)
    await person.bootstrap(phone=ADMINISTRATOR)
    async with person.talks() as talk:
        await talk.ready()
        line = speech.lines[-1]
        told = instructions(line)
        hears(line, "hello")
        answer = await post(other, body(told, "hello"))
        assert answer.status_code == 200, answer.text
        assert answer.json()["choices"][0]["message"]["content"] == "Hello."

        hears(line, "ask", "spoken-2")
        async with streams(other, body(told, "ask")) as answer:
            asked = (await talk.shown("ui-command"))["data"]["payload"]
            data = {"t": "tapped", "d": {"nonce": asked["nonce"], "answer": "yes"}}
            await talk.send("client-message", label="rtvi-ai", id="1", data=data)
            assert (await answer.over()).endswith("They said yes.")

        hears(line, "work", "spoken-3")
        async with streams(other, body(told, "work")) as answer:
            await answer.until("One moment.")
            await eventually(lambda: rows(ToolCall, name="works"))
        await eventually(lambda: rows(ToolCall, name="works", code="cancelled"))

        hears(line, "work", "spoken-4")
        async with streams(other, body(told, "work")) as answer:
            await answer.until("One moment.")
            await eventually(lambda: rows(ToolCall, name="works", status="running"))
            hears(line, "Never mind.", "spoken-5")
            assert (await answer.over()).strip() == "One moment."
        await eventually(lambda: cancelled(2))
    assert (await post(other, body(told, "hello"))).status_code == 401


async def cancelled(count):
    return len(await rows(ToolCall, name="works", code="cancelled")) == count
