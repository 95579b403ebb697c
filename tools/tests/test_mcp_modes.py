"""The MCP source against the demo AquaPortal: JSON or streams, sessions or none, either protocol."""

import asyncio
import contextlib
from dataclasses import dataclass
from itertools import product

import pytest

from demo.aquaportal.testing import running_portal
from tools import catalog, sentences
from tools.contract import ToolFailure
from tools.sources.mcp import McpSource, Patience, Server
from tools.testing import NOW, TIMEOUT, MemoryCache, a_caller, a_context, failure_of, run

ADMINISTRATOR = "+34600000001"
OXYGEN = {"request": {"metric": "oxygen", "cage_number": 4}}
STATUSES = {
    401: "unauthorized",
    403: "forbidden",
    404: "unavailable",
    429: "unavailable",
    500: "unavailable",
    502: "unavailable",
    503: "unavailable",
}
BROKEN = {
    "drop": "connection_lost",
    "truncate": "connection_lost",
    "malformed": "tool_error",
    "html": "tool_error",
}


@dataclass(frozen=True)
class Mode:
    """One mood of a server; `str` of it names the tests."""

    json: bool
    stateless: bool
    legacy: bool

    def __str__(self):
        era = "2025-11-25" if self.legacy else "2026-07-28"
        return f"{era}, {'JSON' if self.json else 'SSE'}, {'stateless' if self.stateless else 'stateful'}"

    @property
    def sessions(self):
        return self.legacy and not self.stateless

    @property
    def stops_work(self):
        """As measured: where a cancellation arrives at the tool."""
        return self.sessions if self.legacy else not self.json

    @property
    def tells_progress(self):
        return not self.json

    @property
    def tells_news(self):
        return self.sessions if self.legacy else not self.json


MODES = [Mode(*each) for each in product((False, True), repeat=3)]


@pytest.fixture(scope="module")
def running():
    with running_portal() as portal:
        yield portal


@pytest.fixture(params=MODES, ids=str)
def mode(request):
    return request.param


@pytest.fixture
def portal(running, mode):
    running.reset()
    running.faults.switch(json_answers=mode.json, stateless=mode.stateless, legacy_only=mode.legacy)
    yield running
    running.reset()


@pytest.fixture
def caller(portal):
    return a_caller(ADMINISTRATOR, portal.log_in(ADMINISTRATOR))


@pytest.fixture
async def changed():
    """Set when the source says that the tools are others."""
    return asyncio.Event()


@pytest.fixture
async def source(portal, changed):
    opened = McpSource(Server(portal.mcp_url, Patience(connect=2, discovery=2), changed.set))
    yield opened
    await opened.aclose()


@pytest.fixture
async def call(source, caller):
    """Calls a tool and gives its data."""

    async def ask(name="list_podcasts", arguments=None, **context):
        return (await source.call(name, arguments or {}, a_context(caller, **context))).data

    return ask


@pytest.fixture
async def offer(source, caller):
    """What the portal offers to the caller."""
    return await catalog.discover([source], caller, None, MemoryCache(), NOW)


async def at_last(source, caller):
    """The list, from a source whose deadlines are so short that a busy machine may miss them."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            with contextlib.suppress(ToolFailure):
                return await source.tools(caller)


async def test_it_lists_and_answers_with_the_data_that_it_has(source, caller, call):
    assert len(await source.tools(caller)) == 8
    answer = await call("get_metric_history", OXYGEN)
    assert answer["series"][0]["cage_number"] == 4


async def test_every_status_has_its_code_and_the_next_call_works_case_073(portal, mode, caller, call):
    await call()
    # To a client with a session, 404 says that it is forgotten.
    statuses = {status: code for status, code in STATUSES.items() if status != 404 or not mode.sessions}
    for status, code in statuses.items():
        portal.faults.add("status", status=status, times=1)
        failure = await failure_of(call())
        assert (status, failure.code) == (status, code)
        assert caller.token not in failure.message
        assert await call()
    assert len(portal.calls()) == 1 + 2 * len(statuses), "nothing was repeated"


async def test_a_broken_answer_has_its_code_and_the_next_call_works(portal, call):
    for kind, code in BROKEN.items():
        portal.faults.add(kind, times=1)
        assert (kind, (await failure_of(call())).code) == (kind, code)
        assert await call()


async def test_a_redirect_is_refused_and_named_case_083_084(portal, call):
    for other_origin in (False, True):
        portal.faults.add("redirect", other_origin=other_origin, times=1)
        failure = await failure_of(call())
        assert failure.code == "unavailable"
        assert "redirects elsewhere (HTTP 307)" in failure.message
    assert [entry for entry in portal.requests if entry.path == "/moved"] == []


async def test_a_busy_server_is_asked_again_within_the_limit_of_the_call(portal, call):
    portal.faults.add("status", status=429, retry_after=0, times=1)
    assert await call()
    assert [entry.status for entry in portal.calls()] == [429, 200]


async def test_a_busy_server_that_wants_more_time_than_the_call_has_is_unavailable_at_once(portal, call):
    portal.faults.add("status", status=429, retry_after=30, times=1)
    async with asyncio.timeout(TIMEOUT):
        failure = await failure_of(call(timeout=20))
    assert failure.code == "unavailable"
    assert len(portal.calls()) == 1


async def test_a_server_that_is_always_busy_is_believed_in_the_end(portal, call):
    portal.faults.add("status", status=429, retry_after=0)
    assert (await failure_of(call())).code == "unavailable"
    assert len(portal.calls()) == 3


async def test_a_busy_server_is_asked_again_for_its_list(portal, source, caller):
    portal.faults.add("status", status=429, retry_after=0, times=1, on="tools/list")
    assert len(await source.tools(caller)) == 8


async def test_all_pages_are_read_and_an_endless_list_is_given_up(portal, source, caller):
    portal.faults.switch(tools_page_size=3)
    assert len({tool.name for tool in await source.tools(caller)}) == 8
    portal.faults.switch(repeat_cursor=True)
    assert (await failure_of(source.tools(caller))).code == "tool_error"


async def test_a_server_without_a_stream_of_news_is_used_without_it(portal, call):
    portal.faults.switch(refuses_get=True)
    assert await call()
    assert all(entry.status == 405 for entry in portal.requests if entry.method == "GET")


@pytest.mark.parametrize("refusal", [{"kind": "forgotten"}, {"kind": "status", "status": 404}], ids=str)
async def test_a_forgotten_session_is_opened_again_once_where_there_is_one(portal, mode, call, refusal):
    await call()
    portal.faults.add(**refusal, times=1)
    if mode.sessions:
        assert await call()
    else:
        assert (await failure_of(call())).code in ("tool_error", "unavailable")
    assert [entry.rpc for entry in portal.requests].count("initialize") == mode.legacy + mode.sessions


async def test_progress_is_told_where_the_server_can_tell_it(portal, mode, call):
    told = []
    portal.faults.add("slow", seconds=0.03, steps=3)
    assert await call(on_progress=told.append)
    steps = [(one.progress, one.total, one.message) for one in told]
    expected = [(step, 3, "Reading the sensors") for step in range(3)]
    assert steps == (expected if mode.tells_progress else [])


async def test_a_cancelled_call_is_stopped_or_its_outcome_is_unknown(portal, mode, call):
    portal.faults.add("slow", times=1, seconds=20 if mode.stops_work else 0.3)
    untold = asyncio.Event()
    slow = asyncio.create_task(call(on_untold=untold.set))
    await portal.seen(lambda entry: entry.started, TIMEOUT)
    slow.cancel()
    await asyncio.wait({slow})
    assert slow.cancelled()
    assert untold.is_set() is not mode.stops_work
    if mode.stops_work:
        await portal.seen(lambda entry: entry.cancelled, TIMEOUT)
    else:
        await portal.seen(lambda entry: entry.finished, TIMEOUT)
    assert await call()


async def test_a_call_has_its_deadline_and_the_next_one_works(portal, call):
    portal.faults.add("slow", times=1)
    assert (await failure_of(call(timeout=0.2))).code == "timeout"
    assert await call()


async def test_a_listing_has_its_deadline(portal, caller):
    source = McpSource(Server(portal.mcp_url, Patience(discovery=0.2)))
    portal.faults.add("slow", on="tools/list", times=1)
    assert (await failure_of(source.tools(caller))).code == "timeout"
    assert len(await at_last(source, caller)) == 8
    await source.aclose()


async def test_an_opening_has_its_deadline(portal, mode, caller):
    source = McpSource(Server(portal.mcp_url, Patience(connect=0.2)))
    portal.faults.add("slow", on="initialize" if mode.legacy else "server/discover", times=1)
    assert (await failure_of(source.open(caller))).code == "unavailable"
    assert len(await at_last(source, caller)) == 8
    await source.aclose()


async def test_changed_tools_are_told_where_the_server_can_tell_it(portal, mode, source, caller, changed):
    await source.tools(caller)
    if mode.sessions:
        await portal.seen(lambda entry: entry.method == "GET" and entry.status == 200, TIMEOUT)
    elif mode.tells_news:
        await portal.seen(lambda entry: entry.rpc == "subscriptions/listen" and entry.status, TIMEOUT)
    portal.change_tools(withdrawn_tools=("get_podcast",))
    if mode.tells_news:
        async with asyncio.timeout(TIMEOUT):
            await changed.wait()
    assert len(await source.tools(caller)) == 7
    assert (await failure_of(source.call("get_podcast", {}, a_context(caller)))).code == "tool_error"


async def test_after_a_reopening_changes_may_have_been_missed(portal, caller, changed):
    source = McpSource(Server(portal.mcp_url, Patience(idle=0.01), changed.set))
    await source.tools(caller)
    assert not changed.is_set()
    owner = next(task for task in asyncio.all_tasks() if task.get_name() == "mcp-session")
    await asyncio.wait({owner}, timeout=TIMEOUT)
    await source.tools(caller)
    assert changed.is_set()
    await source.aclose()


async def test_a_result_unlike_its_schema_is_used_and_noted_case_087(portal, offer, caller):
    for kind in ("wrong_shape", "text_only"):
        portal.faults.add(kind, times=1)
        outcome = await run(offer, "list_podcasts", caller=caller)
        assert outcome.status == "completed"
        assert outcome.excerpt.startswith("[does not fit its output schema: ")


async def test_a_refusal_in_words_is_told_in_words(portal, offer, caller):
    portal.faults.add("tool_error", text="The sensors are being cleaned.", times=1)
    outcome = await run(offer, "list_podcasts", caller=caller)
    assert outcome.code == "tool_error"
    assert "The sensors are being cleaned." in outcome.output
    assert sentences.for_model("tool_error") not in outcome.output


async def test_a_source_leaves_no_task_and_no_session_behind_case_076(portal, mode, source, caller):
    before = asyncio.all_tasks()
    await source.tools(caller)
    await asyncio.create_task(source.aclose())
    assert asyncio.all_tasks() == before
    assert [entry.status for entry in portal.requests if entry.method == "DELETE"] == [200] * mode.sessions
