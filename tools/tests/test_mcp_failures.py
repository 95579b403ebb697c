"""What the SDK raises says little; what is told of it says what happened, in few words and no secrets."""

import re
from importlib import metadata
from pathlib import Path

import anyio
import pytest
from mcp import MCPError

from tools import sentences
from tools.sources.mcp import transport
from tools.sources.mcp.failures import explain

STATUS = MCPError(transport.HTTP_STATUS, "HTTP 503", {"status": 503, "forgotten": False})
EMPTY = [
    (anyio.ClosedResourceError(), "connection_lost"),
    (anyio.BrokenResourceError(), "connection_lost"),
    (ExceptionGroup("unhandled errors in a TaskGroup (1 sub-exception)", [STATUS]), "unavailable"),
    (ExceptionGroup("outer", [ExceptionGroup("inner", [anyio.ClosedResourceError()])]), "connection_lost"),
    (RuntimeError(""), "tool_error"),
    (MCPError(-32000, "Connection closed"), "connection_lost"),
    (MCPError(-32000, "SSE stream ended without a response"), "connection_lost"),
    (MCPError(-32001, "Request 'tools/call' timed out"), "timeout"),
    (MCPError(-32603, ""), "tool_error"),
]


@pytest.mark.parametrize(("error", "code"), EMPTY, ids=lambda each: repr(each)[:60])
def test_an_error_without_words_of_its_own_is_told_in_ours_case_099(error, code):
    failure = explain(error)
    assert failure.code == code
    assert 10 < len(failure.message) <= 200
    assert "Group" not in failure.message
    assert "TaskGroup" not in failure.message


def test_a_lost_connection_is_named_as_such_case_099():
    assert explain(anyio.ClosedResourceError()).message == sentences.for_model("connection_lost")
    assert explain(ExceptionGroup("x", [STATUS])).message == sentences.for_model("unavailable")


@pytest.mark.parametrize("code", [-32000, -32001, -32602, 42])
def test_a_server_s_own_error_is_told_in_its_words_whatever_its_number(code):
    failure = explain(MCPError(code, "Cage 4 is being cleaned."))
    assert (failure.code, failure.message) == ("tool_error", "Cage 4 is being cleaned.")


def test_the_sdk_is_the_one_that_was_tried_case_081_096():
    pinned = (Path(__file__).resolve().parents[2] / "requirements.txt").read_text()
    for package in ("mcp", "mcp-types", "httpx2"):
        assert f"\n{package}=={metadata.version(package)}\n" in re.sub("_", "-", pinned)
