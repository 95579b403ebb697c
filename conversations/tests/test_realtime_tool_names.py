"""Tools whose names no model API accepts have others for the model, and their own everywhere else."""

import json

import pytest

from conversations.core.records import CallOpened
from conversations.tests.live_call import LiveCall
from conversations.tests.memory_speech import MemoryService
from conversations.tests.speech_events import Calls, Says
from conversations.tests.virtual_time import in_virtual_time
from tools.naming import alias
from tools.testing import MemorySource, a_tool, answers

pytestmark = pytest.mark.every_dialect

LONG = "x" * 70
NAMES = ["calendar.update", "a/b", "my tool", "über", LONG + "left", LONG + "right"]


def a_source():
    return MemorySource(*((a_tool(name), answers({"ran": name})) for name in NAMES))


def picked(name, selection):
    if selection == "native":
        return Calls.one(alias(name))
    return Says(f"<<<VOCERO_MCP_CALL:NAME={alias(name)},ARGUMENTS={{}}>>>", audio_ms=0)


@pytest.mark.parametrize("selection", ["native", "marker"])
@pytest.mark.parametrize("name", NAMES)
@in_virtual_time
async def test_each_tool_runs_and_is_audited_under_its_own_name_case_064_case_065(name, selection):
    source, service = a_source(), MemoryService(picked(name, selection), Says("Done."))
    async with LiveCall(service, source, selection=selection) as call:
        await call.ready()
        call.types("Do it.")
        await call.shown("vocero.tool.completed")
    assert [ran.name for ran in source.calls] == [name]
    (row,) = [record for record in call.records if isinstance(record, CallOpened)]
    assert row.name == name
    started = call.shown_of("vocero.tool.started")[0]
    assert started["name"] == name
    told = json.dumps(service.lines[0].sent)
    assert alias(name) in told
    assert json.dumps(name) not in told
