"""One tool of a call, between its row and its outcome."""

import asyncio

from conversations.core.effects import RunTool
from conversations.core.records import CallOpened
from conversations.realtime.toolrun import Runner
from conversations.tests.live_call import oxygen_source
from conversations.tests.virtual_time import in_virtual_time
from tools.testing import a_caller, offer_of


@in_virtual_time
async def test_a_database_that_never_answers_does_not_keep_the_caller_waiting():
    source, fed = oxygen_source(), []
    clock = asyncio.get_running_loop().time

    async def commit(_record):
        await asyncio.get_running_loop().create_future()

    row = CallOpened("call", "c", "turn", 1, "mcp", "native", "get_metric_history", "{}", "", 0, clock())
    runner = Runner(a_caller(), 30.0, fed.append, commit, clock, lambda: None)
    began = clock()
    await runner.run(await offer_of(source), RunTool("call", row.name, "{}", 4_000, row))
    assert clock() - began == 30.0
    assert [(event.status, event.code) for event in fed] == [("failed", "internal")]
    assert source.calls == []
