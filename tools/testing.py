"""For tests of what uses tools: a source and a cache in memory, and the contract that every source keeps."""

# ruff: noqa: S101, PT017 (assertions are what a contract is made of)

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from tools import catalog, executor
from tools.catalog import Listing, Offer
from tools.contract import CallContext, Caller, Progress, Tool, ToolFailure, ToolResult, ToolSource
from tools.executor import Outcome

ROOM = 64_000
TIMEOUT = 5.0
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}
ECHO_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"request": {"$ref": "#/$defs/Request"}},
    "$defs": {"Request": {"type": "object", "properties": {"cage": {"type": "integer"}}, "x-unit": "cage"}},
}

Answer = Callable[[Mapping[str, Any], CallContext], Awaitable[ToolResult]]


def a_caller(user_id: str = "user-1", token: str | None = None) -> Caller:
    """A caller with this credential, made up when none is given, and its fingerprint."""
    token = token or f"secret-token-of-{user_id}"
    return Caller(user_id, token, hashlib.sha256(token.encode()).hexdigest())


def a_tool(name: str, parameters: Mapping[str, Any] = NO_PARAMETERS, **fields: Any) -> Tool:
    """A tool of the in-memory source."""
    return Tool(name=name, description=f"Does {name}.", parameters=parameters, source="memory", **fields)


def a_context(caller: Caller | None = None, timeout: float = TIMEOUT, **fields: Any) -> CallContext:
    """The surroundings of one call."""
    return CallContext(caller or a_caller(), timeout, fields.pop("on_progress", _no_progress), **fields)


def answers(data: Any, **fields: Any) -> Answer:
    """An answer that is always this result."""

    async def answer(_arguments: Mapping[str, Any], _context: CallContext) -> ToolResult:
        return ToolResult(data, **fields)

    return answer


async def offer_of(*sources: ToolSource, allowed: Sequence[str] | None = None) -> Offer:
    """What the sources offer to a caller, uncached."""
    return await catalog.discover(sources, a_caller(), allowed, MemoryCache(), NOW)


async def run(offer: Offer, name: str, arguments: Any = "{}", room: int = ROOM, **context: Any) -> Outcome:
    """The outcome of one call of the offered tool."""
    return await executor.run(offer, name, arguments, a_context(**context), room)


async def failure_of(attempt: Awaitable[Any]) -> ToolFailure:
    """The ToolFailure in which an attempt ends."""
    try:
        await attempt
    except ToolFailure as failure:
        return failure
    raise AssertionError("it did not fail")


def reference_data(output: str) -> Any:
    """The JSON value of a successful output, whose first line is the label."""
    label, _, text = output.partition("\n")
    if not (label.startswith("[Reference data from tool ") and label.endswith("]")):
        raise AssertionError(f"no label: {label[:200]}")
    return json.loads(text)


@dataclass(frozen=True, slots=True)
class Call:
    """One call as a source got it."""

    name: str
    arguments: Mapping[str, Any]
    user_id: str


class MemorySource:
    """A ToolSource in this process, made of tools and what each answers.

    `calls` records what ran, `cancelled` the names of calls that were cancelled while they ran, `listed`
    counts the readings of its list; set `failure` to make every use of the source fail.
    """

    def __init__(self, *tools: tuple[Tool, Answer], name: str = "memory") -> None:
        self.name = name
        self.calls: list[Call] = []
        self.cancelled: list[str] = []
        self.listed = 0
        self.failure: ToolFailure | None = None
        self._tools = tuple(tool for tool, _ in tools)
        self._answers = {tool.name: answer for tool, answer in tools}
        self._closed = False

    async def tools(self, caller: Caller) -> Sequence[Tool]:
        """All tools, whoever asks."""
        self._refuse()
        self.listed += 1
        return self._tools

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """The answer of the tool."""
        self._refuse()
        if name not in self._answers:
            raise ToolFailure("tool_error", f"There is no {name}.")
        self.calls.append(Call(name, arguments, context.caller.user_id))
        try:
            return await self._answers[name](arguments, context)
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise

    async def aclose(self) -> None:
        """Refuses every later use."""
        self._closed = True

    def _refuse(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self._closed:
            raise ToolFailure("unavailable", "The source is closed.")


class MemoryCache:
    """A CatalogCache in this process; `listings` is what it holds."""

    def __init__(self, ttl: float = 300.0) -> None:
        self.ttl = ttl
        self.listings: dict[tuple[str, str], Listing] = {}

    async def get(self, source: str, fingerprint: str) -> Listing | None:
        """The listing of this source and credential."""
        return self.listings.get((source, fingerprint))

    async def put(self, listing: Listing) -> None:
        """Keeps the listing in place of the one before."""
        self.listings[listing.source, listing.fingerprint] = listing


@dataclass(slots=True)
class Workbench:
    """A source under test, with the tools `echo`, `wait`, `fail`, `nothing` and `halves`.

    `started` is set when a `wait` begins to work, `stopped` when that work is cancelled; `echo` answers
    `{"arguments", "user"}` and declares ECHO_PARAMETERS. Where the source's protocol has no way to tell
    progress, or to stop work for sure, say so.
    """

    source: ToolSource
    started: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    tells_progress: bool = True
    stops_work: bool = True


def memory_workbench() -> Workbench:
    """The in-memory source under test."""

    async def echo(arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        return ToolResult({"arguments": dict(arguments), "user": context.caller.user_id})

    async def wait(_arguments: Mapping[str, Any], _context: CallContext) -> ToolResult:
        bench.started.set()
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            bench.stopped.set()
            raise

    async def halves(_arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        context.on_progress(Progress(1, 2, "half"))
        return ToolResult({"done": True})

    bench = Workbench(
        MemorySource(
            (a_tool("echo", ECHO_PARAMETERS), echo),
            (a_tool("wait"), wait),
            (a_tool("fail"), answers("There is no such report.", is_error=True)),
            (a_tool("nothing"), answers({"items": []})),
            (a_tool("halves"), halves),
        )
    )
    return bench


class ToolSourceContract:
    """What every source keeps; subclass it and give it a `bench` fixture, a Workbench."""

    async def test_lists_its_tools_with_their_whole_schemas(self, bench: Workbench) -> None:
        listed = {tool.name: tool for tool in await bench.source.tools(a_caller())}
        assert listed.keys() >= {"echo", "wait", "fail", "nothing", "halves"}
        assert listed["echo"].parameters == ECHO_PARAMETERS

    async def test_answers_with_data_for_the_caller_who_asks(self, bench: Workbench) -> None:
        result = await bench.source.call("echo", {"request": {"cage": 4}}, a_context())
        assert result.data == {"arguments": {"request": {"cage": 4}}, "user": "user-1"}
        assert not result.is_error

    async def test_an_empty_answer_is_an_answer(self, bench: Workbench) -> None:
        result = await bench.source.call("nothing", {}, a_context())
        assert result.data == {"items": []}
        assert not result.is_error

    async def test_a_failure_of_the_tool_is_told_in_its_words(self, bench: Workbench) -> None:
        result = await bench.source.call("fail", {}, a_context())
        assert result.is_error
        assert result.data == "There is no such report."

    async def test_an_unknown_name_is_a_failure(self, bench: Workbench) -> None:
        try:
            result = await bench.source.call("no_such_tool", {}, a_context())
        except ToolFailure as failure:
            assert failure.code == "tool_error"
        else:
            assert result.is_error

    async def test_progress_is_told_before_the_answer(self, bench: Workbench) -> None:
        told: list[Progress] = []
        result = await bench.source.call("halves", {}, a_context(on_progress=told.append))
        assert told == ([Progress(1, 2, "half")] if bench.tells_progress else [])
        assert result.data == {"done": True}

    async def test_a_cancelled_call_stops_the_work_and_leaves_the_source_usable(
        self, bench: Workbench
    ) -> None:
        untold: list[bool] = []
        context = a_context(on_untold=lambda: untold.append(True))
        call = asyncio.create_task(cast(Any, bench.source.call("wait", {}, context)))
        async with asyncio.timeout(TIMEOUT):
            await bench.started.wait()
            call.cancel()
            await asyncio.wait({call})
            assert call.cancelled()
            await bench.stopped.wait()
        assert untold == ([] if bench.stops_work else [True])
        assert (await bench.source.call("nothing", {}, a_context())).data == {"items": []}

    async def test_calls_at_one_time_do_not_wait_for_each_other(self, bench: Workbench) -> None:
        slow = asyncio.create_task(cast(Any, bench.source.call("wait", {}, a_context())))
        async with asyncio.timeout(TIMEOUT):
            await bench.started.wait()
            assert (await bench.source.call("nothing", {}, a_context())).data == {"items": []}
            slow.cancel()
            await asyncio.wait({slow})

    async def test_closing_twice_is_closing_once_and_ends_its_tasks(self, bench: Workbench) -> None:
        before = asyncio.all_tasks()
        await bench.source.call("nothing", {}, a_context())
        await bench.source.aclose()
        await bench.source.aclose()
        left = asyncio.all_tasks() - before
        # A server in the same loop may take a moment to notice.
        assert not left or not (await asyncio.wait(left, timeout=TIMEOUT))[1]

    async def test_a_closed_source_stays_closed(self, bench: Workbench) -> None:
        await bench.source.aclose()
        try:
            await bench.source.call("nothing", {}, a_context())
        except ToolFailure as failure:
            assert failure.code == "unavailable"
        else:
            raise AssertionError("a closed source answered")


def _no_progress(_progress: Progress) -> None:
    return None
