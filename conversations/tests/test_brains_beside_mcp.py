"""A brain's own tools beside those of its caller's AquaPortal, over all three adapters."""

import json

import pytest

from conversations.brains.tooled import ToolBrain
from conversations.models import ToolCall
from conversations.tests.brain_kit import asks
from conversations.tests.fake_models import calls, says
from conversations.tests.providers import KINDS, provider_of, wired_into
from conversations.tests.serving import in_thread
from conversations.tests.stored import rows
from conversations.tests.talking import ADMINISTRATOR, Person
from demo.aquaportal.schemas import TOOLS
from tools.testing import reference_data

pytestmark = pytest.mark.django_db(transaction=True)
pytest_plugins = ("conversations.tests.deployment",)

OXYGEN = {"request": {"metric": "oxygen", "cage_number": 4}}


class Note(ToolBrain):
    def __init__(self, **more):
        super().__init__(system_instruction="You are a farm's assistant.", **more)

    @property
    def tools(self):
        return [self.note]

    async def note(self):
        """Notes it."""
        return "noted"


@pytest.fixture(params=KINDS)
async def farm(request, configure, aquaportal):
    """The administrator with a brain over this adapter."""
    configure(backend_login_url=aquaportal.login_url, mcp_url=aquaportal.mcp_url, unsafe_phone_selector=True)
    async with (
        provider_of(request.param) as provider,
        in_thread() as server,
        wired_into(configure, provider, Note, server) as wired,
    ):
        wired.person = Person(server.address)
        await wired.person.bootstrap(phone=ADMINISTRATOR)
        yield wired


async def test_both_are_declared_run_and_written_down_and_each_result_goes_to_its_call(farm):
    both = (calls("get_metric_history", OXYGEN), calls("note"))
    farm.fake.script((says("One moment."), *both), says("Seven point four."))
    async with asks(farm.person, "What is the oxygen in cage four?") as asking:
        await asking.over()
    assert asking.last["text"] == "One moment.\nSeven point four."
    declared = farm.fake.last.tools
    assert set(declared) == {"note", *(tool["name"] for tool in TOOLS)}
    assert declared["note"] is None
    assert "cage_number" in json.dumps(declared["get_metric_history"])
    (first, history), (second, noted) = farm.fake.last.results
    assert (first, second) == ("get_metric_history", "note")
    assert reference_data(history)["metric"] == "oxygen"
    assert noted.endswith("noted")
    assert {(row.name, row.source, row.status) for row in await rows(ToolCall)} == {
        ("get_metric_history", "aquaportal", "completed"),
        ("note", "inprocess", "completed"),
    }
