"""Two server processes and one database: whoever asks finds the same conversation."""

import contextlib
import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from urllib.parse import urlsplit

import psycopg
import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from django.db import connection

from conversations import lifecycle, refreshing
from conversations.realtime import relay
from conversations.refreshing import Refreshed
from conversations.tests.serving import (
    ROOT,
    Process,
    database_url,
    environment,
    free_port,
    process,
    uvicorn_command,
)
from conversations.tests.speech_events import Calls, Says
from conversations.tests.talking import ADMINISTRATOR, Person, eventually

pytest_plugins = ("conversations.tests.deployment",)

QUICK = "conversations.tests.quick_asgi:application"
REPORTS = Calls.one("list_reports", {"request": {}})
WITHIN = 10.0


class TestsDatabase:
    """The database of the tests."""

    url = property(lambda self: database_url())

    @database_sync_to_async
    def ask(self, query):
        with connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall() if cursor.description else []


class Postgres:
    """A fresh database on the PostgreSQL that the tests may use."""

    def __init__(self, server):
        self._server = server
        self._name = f"vocero_{uuid.uuid4().hex[:12]}"
        self.url = urlsplit(server)._replace(path=f"/{self._name}").geturl()

    def __enter__(self):
        self._command(f"CREATE DATABASE {self._name}")
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env={**os.environ, "DATABASE_URL": self.url}, check=True)
        return self

    def __exit__(self, *_error):
        self._command(f"DROP DATABASE {self._name} WITH (FORCE)")

    def _command(self, command):
        with psycopg.connect(self._server, autocommit=True) as server:
            server.execute(command)

    @sync_to_async
    def ask(self, query):
        with psycopg.connect(self.url) as opened:
            cursor = opened.execute(query)
            return cursor.fetchall() if cursor.description else []


@dataclass
class Deployment:
    """A database, the settings of servers on it, and server A, which sweeps all the time."""

    database: object
    settings: dict
    a: Process


DATABASES = ["tests", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="module", params=DATABASES)
def deployment(request, django_db_setup, django_db_blocker, aquaportal_server, speech_port):
    with contextlib.ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        database = TestsDatabase()
        if request.param == "postgres":
            database = stack.enter_context(Postgres(os.environ["VOCERO_TEST_POSTGRES_URL"]))
        settings = environment(
            DATABASE_URL=database.url,
            S2S_SPEECH_URL=f"ws://127.0.0.1:{speech_port}/v1/realtime",
            S2S_BACKEND_LOGIN_URL=aquaportal_server.login_url,
            S2S_MCP_URL=aquaportal_server.mcp_url,
        )
        a = stack.enter_context(process(uvicorn_command(free_port(), QUICK), settings))
        yield Deployment(database, settings, a)


@pytest.fixture
def b(deployment, transactional_db):
    """Server B, another process."""
    with process(uvicorn_command(free_port(), QUICK), deployment.settings) as server:
        yield server


@pytest.fixture
async def person(deployment, transactional_db):
    """The administrator, let in by A."""
    person = Person(deployment.a.address)
    await person.bootstrap(phone=ADMINISTRATOR)
    return person


def of(person):
    """Rows of that person's conversation, whichever way the database writes a UUID."""
    return f"REPLACE(CAST(conversation_id AS text), '-', '') = '{uuid.UUID(person.conversation).hex}'"


async def slow_tool(talk, speech, aquaportal):
    """The caller asks, and the tool works for a minute."""
    aquaportal.faults.add("slow", tool="list_reports", seconds=60)
    speech.replies.append(REPORTS)
    await talk.types("List the latest reports.")
    await aquaportal.seen(lambda entry: entry.tool == "list_reports" and entry.started)


def test_a_call_reads_its_row_every_few_seconds():
    assert 2 <= relay.HEARTBEAT <= 5 < lifecycle.LEASE.total_seconds() / 2


async def test_bootstrap_in_a_talk_in_b_move_to_a_and_back_cleanup_from_a(
    deployment, b, person, speech, aquaportal
):
    speech.replies += [REPORTS, Says("There are three.")]
    async with person.talks(b.address) as talk:
        await talk.ready()
        await talk.types("List the latest reports.")
        await talk.shown("vocero.tool.completed")
        await talk.shown("response.output_audio_transcript.done")
        await talk.shown("response.done")
        (turn,) = await person.turns()
        assert turn["heard_text"] == "There are three."
        async with person.talks() as moved:
            await moved.ready()
            error, code = await talk.error()
            assert (error["code"], code) == ("taken_over", 4409)
    async with person.talks(b.address) as talk:
        await talk.ready()
        await person.cleans_up()
        error, code = await talk.error()
    assert (error["code"], code) == ("caller_cleanup", 4410)
    ended = f"SELECT ciphertext FROM conversations_backendtoken WHERE {of(person)}"
    assert await deployment.database.ask(ended) == [("",)]
    await speech.lines[-1].gone()


async def test_kill_9_in_mid_tool_leaves_exactly_one_closed_row_and_an_open_conversation(
    deployment, b, person, speech, aquaportal
):
    ask = deployment.database.ask
    async with person.talks(b.address) as talk:
        await talk.ready()
        speech.replies.append(Says("Hello Ada."))
        await talk.types("Hello.")
        await talk.shown("response.done")
        await person.turns(1)
        await slow_tool(talk, speech, aquaportal)
        await sync_to_async(b.kill)()
        assert await talk.closed() == 1006
    calls = f"SELECT name, status, code FROM conversations_toolcall WHERE {of(person)}"
    turns = f"SELECT outcome, code FROM conversations_turn WHERE {of(person)}"
    assert await ask(calls) == [("list_reports", "running", "")]
    await ask("UPDATE conversations_conversation SET lease_expires_at = '2020-01-01 00:00:00+00:00'")
    await eventually(lambda: ask(f"{calls} AND status <> 'running'"))
    await eventually(lambda: ask(f"{turns} AND outcome = 'failed'"))
    assert await ask(calls) == [("list_reports", "failed", "connection_lost")]
    assert await ask(f"{turns} ORDER BY started_at") == [("done", ""), ("failed", "connection_lost")]
    aquaportal.reset()
    speech.replies += [REPORTS, Says("There are three.")]
    async with person.talks() as talk:
        await talk.ready()
        await talk.types("List them again.")
        await talk.shown("vocero.tool.completed")
        await talk.shown("response.output_audio_transcript.done")
        await talk.shown("response.done")
        assert talk.text() == "There are three."
        items = [event["item"] for event in speech.lines[-1].sent_of("conversation.item.create")]
    said = [item["content"][0]["text"] for item in items if item["type"] == "message"]
    assert said == ["Hello.", "Hello Ada.", "List the latest reports.", "List them again."]


async def test_a_caller_who_comes_back_to_another_process_ends_the_held_call_and_goes_on_with_the_history(
    deployment, b, person, speech, aquaportal
):
    async with person.talks(b.address) as talk:
        await talk.ready()
        speech.replies.append(Says("Hello Ada."))
        await talk.types("Hello.")
        await talk.shown("response.done")
        await person.turns(1)
        await slow_tool(talk, speech, aquaportal)
        talk.reset()

    async def held():
        return any("conversation.held" in line for line in b.log)

    await eventually(held)
    async with person.talks() as talk:
        await talk.ready()
        await speech.lines[0].gone()
        items = [event["item"] for event in speech.lines[1].sent_of("conversation.item.create")]
        assert [item["content"][0]["text"] for item in items][:2] == ["Hello.", "Hello Ada."]
        calls = f"SELECT status, code FROM conversations_toolcall WHERE {of(person)}"
        await eventually(lambda: deployment.database.ask(f"{calls} AND status <> 'running'"))
        assert await deployment.database.ask(calls) == [("failed", "cancelled")]


@pytest.mark.parametrize("deployment", ["tests"], indirect=True)
async def test_a_server_that_is_told_to_stop_closes_its_rows_itself(
    deployment, b, person, speech, aquaportal
):
    ask = deployment.database.ask
    async with person.talks(b.address) as talk:
        await talk.ready()
        await slow_tool(talk, speech, aquaportal)
        began = time.monotonic()
        await sync_to_async(b.stop)()
        assert time.monotonic() - began < WITHIN
        assert await talk.closed() == 1012
    assert await ask("SELECT status, code FROM conversations_toolcall") == [("failed", "cancelled")]
    assert await ask("SELECT outcome FROM conversations_turn") == [("cancelled",)]
    assert await ask("SELECT owner FROM conversations_conversation") == [("",)]
    assert "Traceback" not in "".join(b.log)


def offered(line):
    """The names of the tools in the last declaration that the service got."""
    return {tool["name"] for tool in line.sent_of("session.update")[-1]["session"]["tools"]}


@pytest.mark.parametrize("deployment", ["tests"], indirect=True)
async def test_a_refresh_reaches_five_calls_in_two_processes_and_a_running_tool_finishes_case_196(
    deployment, b, speech, aquaportal
):
    """There is no Redis here: the calls learn it from their rows, by heartbeat."""
    people = [Person(deployment.a.address) for _ in range(5)]
    async with contextlib.AsyncExitStack() as stack:
        talks = []
        for number, one in enumerate(people):
            await one.bootstrap(phone=ADMINISTRATOR)
            address = b.address if number % 2 else None
            talks.append(await stack.enter_async_context(one.talks(address)))
            await talks[-1].ready()
        busy, line = talks[0], speech.lines[0]
        await slow_tool(busy, speech, aquaportal)
        aquaportal.faults.switch(withdrawn_tools=("get_my_briefing",))
        assert all("get_my_briefing" in offered(each) for each in speech.lines)
        for each in speech.lines:
            each.skip()
        assert await database_sync_to_async(refreshing.refresh)() == Refreshed(catalogs=5, calls=5)
        for each in speech.lines[1:]:
            await each.asked("session.update")
        assert "get_my_briefing" in offered(line), "the turn that runs keeps its tools"
        speech.replies.append(Says("There are three."))
        aquaportal.faults.release()
        assert (await busy.shown("vocero.tool.completed"))["name"] == "list_reports"
        await line.asked("session.update")
        assert [len(offered(each)) for each in speech.lines] == [7] * 5
        assert not any("get_my_briefing" in offered(each) for each in speech.lines)


@pytest.mark.postgres
@pytest.mark.parametrize("deployment", ["postgres"], indirect=True)
async def test_a_call_outlives_the_database_connections_that_are_cut_case_106(deployment, person, speech):
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    others = "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    speech.replies += [Says("One."), Says("Two.")]
    async with person.talks() as talk:
        await talk.ready()
        await talk.types("First?")
        await talk.shown("response.done")
        await person.turns(1)
        assert await deployment.database.ask(f"{cut} {others}")
        await talk.types("Second?")
        await talk.shown("response.done")
        turns = await person.turns(2)
    assert [turn["heard_text"] for turn in turns] == ["One.", "Two."]
