"""Five hundred broken calls leave nothing behind: no socket, no task, no slowness."""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest

from tools.contract import ToolFailure
from tools.sources.mcp import McpSource, Server
from tools.testing import a_caller, a_context
from tools.tests import fault_server as faults
from tools.tests.fault_server import fault_server

CALLS = 500
BROKEN = [
    faults.stream(b"data: {nonsense\n\n"),
    faults.stream(b": ping\n\n"),
    faults.stream(b'id: 1\nretry: 1\ndata: {"half'),
    faults.status(200, b"{", "application/json"),
    faults.status(500),
    faults.status(307, location="/elsewhere"),
    faults.reset,
    faults.close,
    faults.cut,
    faults.stream(b"data: [1]\n\n"),
    faults.status(202, b""),
    faults.hang,
]


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


async def broken_calls(server, source, count):
    """So many calls, each broken in the next of the ways; one that is not answered is cancelled or late."""
    for number in range(count):
        server.fault = BROKEN[number % len(BROKEN)]
        call = asyncio.create_task(source.call("get_report", {}, a_context(timeout=0.02)))
        if server.fault is faults.hang and number % 20 < 10:
            await asyncio.wait({call}, timeout=0.005)
            call.cancel()
        await asyncio.wait({call})
        assert call.cancelled() or isinstance(call.exception(), ToolFailure), number
    server.fault = None


async def settled(count_before, count):
    """What is counted, once it is no more than before or stays that way: a closed socket takes a moment."""
    for _ in range(200):
        if count() <= count_before:
            break
        await asyncio.wait({asyncio.get_running_loop().create_future()}, timeout=0.01)
    return count()


@pytest.mark.parametrize("legacy", [False, True], ids=["2026-07-28", "2025-11-25"])
async def test_broken_calls_leave_no_socket_and_no_task_case_085(legacy):
    async with fault_server(legacy=legacy) as server:
        at_rest = open_files(), len(asyncio.all_tasks())
        source = McpSource(Server(server.url))
        await source.open(a_caller())
        await broken_calls(server, source, 2 * len(BROKEN))
        files, tasks = open_files(), len(asyncio.all_tasks())
        await broken_calls(server, source, CALLS)
        assert await settled(files, open_files) <= files + 1
        assert await settled(tasks, lambda: len(asyncio.all_tasks())) <= tasks + 1
        began = time.monotonic()
        assert (await source.call("get_report", {}, a_context())).data == {"ok": True}
        assert time.monotonic() - began < 1, "as quick as the first one"
        await source.aclose()
        assert await settled(at_rest[0], open_files) <= at_rest[0]
        # The server's side of each connection is a task, too.
        assert await settled(at_rest[1], lambda: len(asyncio.all_tasks())) <= at_rest[1]


async def test_openings_that_fail_leave_no_socket_and_no_task():
    async with fault_server() as server:
        files, tasks = open_files(), len(asyncio.all_tasks())
        for fault in BROKEN[:-1] * 5:
            server.fault, server.spoiled = fault, "server/discover"
            source = McpSource(Server(server.url))
            with contextlib.suppress(ToolFailure):
                await source.call("get_report", {}, a_context(timeout=1))
            await source.aclose()
        assert await settled(files, open_files) <= files
        assert await settled(tasks, lambda: len(asyncio.all_tasks())) <= tasks
