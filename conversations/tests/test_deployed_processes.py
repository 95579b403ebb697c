"""Two processes behind a proxy, on PostgreSQL and Redis, while one after the other goes away."""

import asyncio
import contextlib
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx2
import psycopg
import pytest
from asgiref.sync import sync_to_async

from conversations.tests.own_servers import OwnServer, own_postgres, own_redis
from conversations.tests.proxy import proxy_before
from conversations.tests.serving import Process, daphne_command, environment, free_port, uvicorn_command
from conversations.tests.speech_events import Calls, Says
from conversations.tests.talking import ADMINISTRATOR, Person, eventually

pytest_plugins = ("conversations.tests.deployment",)
pytestmark = pytest.mark.own_servers

QUICK = "conversations.tests.quick_asgi:application"
SERVERS = {"uvicorn": uvicorn_command, "daphne": daphne_command}
# uvicorn closes its door first. Daphne answers to the end, and cannot send 1012.
ENDS = {"uvicorn": ("refused", {1012}), "daphne": ((["draining"], "restarting"), {1011})}
REPORTS = Calls.one("list_reports", {"request": {}})
ANSWER = Says("There are three.")
EXPIRED = "UPDATE conversations_conversation SET lease_expires_at = '2020-01-01 00:00:00+00'"


@pytest.fixture(scope="module")
def postgres():
    with own_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def redis():
    with own_redis() as server:
        yield server


@dataclass
class Deployment:
    """Two processes of one kind of server, and how one that is told to stop answers until it has."""

    command: object
    settings: dict
    postgres: OwnServer
    redis: OwnServer
    a: Process
    b: Process
    ends: object
    codes: set

    @sync_to_async
    def ask(self, query, *values):
        with psycopg.connect(self.postgres.url) as opened:
            cursor = opened.execute(query, values)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="module", params=SERVERS)
def deployment(request, postgres, redis, aquaportal_server, speech_port):
    settings = environment(
        DATABASE_URL=postgres.url,
        REDIS_URL=redis.url,
        S2S_SPEECH_URL=f"ws://127.0.0.1:{speech_port}/v1/realtime",
        S2S_BACKEND_LOGIN_URL=aquaportal_server.login_url,
        S2S_MCP_URL=aquaportal_server.mcp_url,
        S2S_TRUSTED_PROXIES=1,
    )
    command = SERVERS[request.param]
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        a, b = (Process(command(free_port(), QUICK), settings) for _ in "ab")
        stack.callback(a.stop)
        stack.callback(b.stop)
        list(pool.map(Process.wait_until_ready, (a, b)))
        yield Deployment(command, settings, postgres, redis, a, b, *ENDS[request.param])


@pytest.fixture
async def proxy(deployment):
    async with proxy_before(deployment.a.address, deployment.b.address) as proxy:
        yield proxy


@pytest.fixture
async def person(proxy, deployment, aquaportal, speech):
    """The administrator, let in by A."""
    person = Person(proxy.address)
    proxy.leads_to(deployment.a.address)
    await person.bootstrap(phone=ADMINISTRATOR)
    return person


async def asks(talk, speech, *replies, text="List the latest reports."):
    speech.replies += replies
    await talk.types(text)


async def is_answered(talk):
    await talk.shown("response.output_audio_transcript.done")
    await talk.shown("response.done")


async def audit(deployment, person):
    """The conversation's attempts as they are in the record."""
    mine = uuid.UUID(person.conversation)
    query = "SELECT id::text, status, code FROM conversations_toolcall WHERE conversation_id = %s"
    return await deployment.ask(f"{query} ORDER BY started_at", mine)


async def closed_turns(deployment, person, count):
    """So many turns, once all of them have ended."""
    mine = uuid.UUID(person.conversation)
    query = 'SELECT outcome, heard_text FROM conversations_turn WHERE conversation_id = %s ORDER BY "index"'

    async def all_closed():
        turns = await deployment.ask(query, mine)
        return turns if len(turns) >= count and all(outcome != "running" for outcome, _ in turns) else None

    turns = await eventually(all_closed)
    assert len(turns) == count, "a turn is in the record twice"
    return turns


async def readiness(person):
    answer = await person.send("GET", "/readyz")
    return answer.status_code, answer.json()["failing"]


async def is_ready(person):
    return await readiness(person) == (200, [])


def ran(talk):
    """The audit ids of the tools that the caller saw begin."""
    return [frame["call_id"] for frame in talk.shown_of("vocero.tool.started")]


async def test_a_call_begins_moves_and_is_cleaned_up_wherever_its_requests_lead(
    deployment, proxy, person, speech
):
    a, b = deployment.a.address, deployment.b.address
    proxy.leads_to(b)
    async with person.talks() as first:
        await first.ready()
        await asks(first, speech, REPORTS, ANSWER)
        await is_answered(first)
        proxy.leads_to(a)
        async with person.talks() as second:
            await second.ready()
            error, code = await first.error()
            assert (error["code"], code) == ("taken_over", 4409)
            await asks(second, speech, Says("Again three."), text="And now?")
            await is_answered(second)
            proxy.leads_to(b)
            await person.cleans_up()
            error, code = await second.error()
    assert (error["code"], code) == ("caller_cleanup", 4410)
    assert await audit(deployment, person) == [(ran(first)[0], "completed", "")]
    assert await closed_turns(deployment, person, 2) == [
        ("done", "There are three."),
        ("done", "Again three."),
    ]


async def test_whoever_cleans_up_where_the_call_runs_ends_it_too(deployment, proxy, person, speech):
    async with person.talks() as talk:
        await talk.ready()
        await person.cleans_up()
        error, code = await talk.error()
    assert (error["code"], code) == ("caller_cleanup", 4410)


@pytest.fixture
def owner(deployment):
    """A third process, to be ended."""
    server = Process(deployment.command(free_port(), QUICK), deployment.settings)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.stop()


async def test_a_killed_owner_leaves_one_lost_row_and_the_caller_goes_on(
    deployment, proxy, person, owner, speech, aquaportal
):
    proxy.leads_to(owner.address)
    aquaportal.faults.add("slow", tool="list_reports", seconds=60, times=1)
    async with person.talks() as talk:
        await talk.ready()
        await asks(talk, speech, REPORTS)
        await talk.shown("vocero.tool.started")
        await aquaportal.seen(lambda entry: entry.tool == "list_reports" and entry.started)
        await sync_to_async(owner.kill)()
        assert await talk.closed() == 1006
    await deployment.ask(EXPIRED)
    assert [outcome for outcome, _ in await closed_turns(deployment, person, 1)] == ["failed"]
    proxy.leads_to(None)
    async with person.talks() as again:
        await again.ready()
        await asks(again, speech, REPORTS, ANSWER, text="List them again.")
        await is_answered(again)
        assert again.text() == ANSWER.text
    assert [outcome for outcome, _ in await closed_turns(deployment, person, 2)] == ["failed", "done"]
    assert await audit(deployment, person) == [
        (ran(talk)[0], "failed", "connection_lost"),
        (ran(again)[0], "completed", ""),
    ]


async def test_a_process_that_is_told_to_stop_takes_nothing_new_tells_everybody_and_writes_it_all_down(
    deployment, proxy, person, owner, speech, aquaportal
):
    proxy.leads_to(owner.address)
    aquaportal.faults.add("slow", tool="list_reports", seconds=60, times=1)
    async with person.talks() as talk:
        await talk.ready()
        await asks(talk, speech, REPORTS)
        await aquaportal.seen(lambda entry: entry.tool == "list_reports" and entry.started)
        with psycopg.connect(deployment.postgres.url) as slow:
            # What is to be written down waits for this: there is time to look.
            slow.execute("SELECT FROM conversations_toolcall WHERE id = %s FOR UPDATE", ran(talk))
            stopped = asyncio.create_task(asyncio.to_thread(owner.stop))
            assert await eventually(lambda: takes_nothing(deployment, owner, person)) == deployment.ends
        assert await talk.closed() in deployment.codes
        await stopped
    assert [line for line in owner.log if "Traceback" in line] == []
    assert await audit(deployment, person) == [(ran(talk)[0], "failed", "cancelled")]
    proxy.leads_to(None)
    async with person.talks() as again:
        await again.ready()
        item = (await speech.lines[-1].asked("conversation.item.create"))["item"]
        assert item["content"][0]["text"] == "List the latest reports."
        await asks(again, speech, ANSWER, text="Are you there?")
        await is_answered(again)
    turns = await closed_turns(deployment, person, 2)
    assert [outcome for outcome, _ in turns] == ["cancelled", "done"]


async def takes_nothing(deployment, owner, person):
    """How a process that ends answers at its own port, once it takes no more."""
    try:
        answer = await Person(owner.address).send("GET", "/readyz")
    except httpx2.TransportError:
        # A server that answers to the end may still lose the request that came with the signal.
        return "refused" if deployment.ends == "refused" else None
    if answer.status_code == 200:
        return None
    async with person.talks(owner.address) as talk:
        error, _ = await talk.error()
    return answer.json()["failing"], error["code"]


@contextlib.asynccontextmanager
async def without(server):
    """The time in which this server is stopped."""
    await sync_to_async(server.stop)()
    try:
        yield
    finally:
        await sync_to_async(server.start)()


async def test_without_redis_calls_go_on_and_new_ones_begin(deployment, proxy, person, speech):
    async with person.talks() as talk:
        await talk.ready()
        await asks(talk, speech, REPORTS, ANSWER)
        await is_answered(talk)
        async with without(deployment.redis):
            assert await readiness(person) == (503, ["cache"])
            await asks(talk, speech, Says("Again three."), text="And now?")
            await is_answered(talk)
            proxy.leads_to(deployment.b.address)
            another = Person(proxy.address)
            await another.bootstrap(phone=ADMINISTRATOR)
            async with another.talks() as new:
                await new.ready()
                await asks(new, speech, REPORTS, ANSWER)
                await is_answered(new)
    assert await closed_turns(deployment, person, 2) == [
        ("done", "There are three."),
        ("done", "Again three."),
    ]
    assert await audit(deployment, person) == [(ran(talk)[0], "completed", "")]
    assert await closed_turns(deployment, another, 1) == [("done", "There are three.")]
    assert await audit(deployment, another) == [(ran(new)[0], "completed", "")]


async def test_without_redis_a_call_moves_and_once_it_is_back_everybody_is_told_as_before(
    deployment, proxy, person, speech
):
    async with person.talks() as talk:
        await talk.ready()
        async with contextlib.AsyncExitStack() as stack:
            async with without(deployment.redis):
                proxy.leads_to(deployment.b.address)
                moved = await stack.enter_async_context(person.talks())
                await moved.ready()
                error, code = await talk.error()
                assert (error["code"], code) == ("taken_over", 4409)
            proxy.leads_to(deployment.a.address)
            assert await eventually(lambda: is_ready(person))
            await person.cleans_up()
            error, code = await moved.error()
            assert (error["code"], code) == ("caller_cleanup", 4410)


async def test_a_database_that_restarts_in_a_call_costs_no_row_and_no_answer(
    deployment, proxy, person, speech, aquaportal
):
    aquaportal.faults.add("slow", tool="list_reports", seconds=60, times=1)
    async with person.talks() as talk:
        await talk.ready()
        await asks(talk, speech, REPORTS, ANSWER)
        await aquaportal.seen(lambda entry: entry.tool == "list_reports" and entry.started)
        async with without(deployment.postgres):
            aquaportal.faults.release()
            await is_answered(talk)
            await asks(talk, speech, Says("Still here."), text="Are you there?")
            await is_answered(talk)
            assert await readiness(person) == (503, ["database"])
            refused = await Person(proxy.address).send("POST", "/api/conversations", {"phone": ADMINISTRATOR})
            assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
            assert refused.headers["Retry-After"] == "5"
            await asks(talk, speech, REPORTS, ANSWER, text="List them again.")
        # As after an outage that was longer than a lease.
        await deployment.ask(EXPIRED)
        await is_answered(talk)
        assert await eventually(lambda: is_ready(person))
        await closed_turns(deployment, person, 3)
        await asks(talk, speech, Says("Yes."), text="Is it written?")
        await is_answered(talk)
    turns = await closed_turns(deployment, person, 4)
    assert turns == [("done", said) for said in (ANSWER.text, "Still here.", ANSWER.text, "Yes.")]
    assert await audit(deployment, person) == [(call, "completed", "") for call in ran(talk)]
    assert len(ran(talk)) == 2
