"""The bridge's own marker picks the bridge's tools, and no others."""

import json

import pytest

from conversations.tests.core_play import R, a_question, assert_no_tool_ran, assert_tool_ran, marker

pytestmark = pytest.mark.every_dialect


@pytest.mark.parametrize(
    ("source", "grammar", "runs"),
    [
        ("apipilot", "APIPILOT_CALL", True),
        ("apipilot", "VOCERO_MCP_CALL", False),
        ("aquaportal", "VOCERO_MCP_CALL", True),
        ("aquaportal", "APIPILOT_CALL", False),
        ("inprocess", "APIPILOT_CALL", True),
        ("inprocess", "VOCERO_MCP_CALL", True),
    ],
)
def test_a_marker_picks_only_tools_of_its_own_source(source, grammar, runs):
    play = a_question(server_tools={"get_report": source})
    play.writes(R, marker(grammar=grammar))
    play.ends_response(R, "cancelled")
    if runs:
        assert_tool_ran(play, "get_report", {"request": {"report_id": "r1"}})
    else:
        assert_no_tool_ran(play)
        assert [json.loads(message)["error"]["code"] for message in play.messages] == ["unknown_tool"]


@pytest.mark.parametrize("source", ["apipilot", "aquaportal"])
def test_a_native_call_picks_a_tool_wherever_it_lives(source):
    play = a_question(server_tools={"get_report": source})
    play.picks(R, "get_report", "{}")
    assert_tool_ran(play, "get_report", {})
