"""The page on following a tool turn: its commands, run one after the other in one shell, do what it says."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conversations.models import BackendToken, Conversation, ToolCall
from conversations.tests.speech_events import Calls, Says
from conversations.tests.stored import rows

pytest_plugins = ("conversations.tests.deployment",)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "verify-a-tool-turn.md").read_text()
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ANSWER = "Here is your briefing."


@pytest.mark.skipif(os.name != "posix", reason="the page is for a shell")
async def test_a_reader_who_runs_the_commands_follows_a_turn_from_the_configuration_to_the_answer(
    vocero, speech, tmp_path
):
    speech.replies += [Calls.one("get_my_briefing", {}), Says(ANSWER)]
    script = "set -e\n" + "\n".join(f"echo '== {number}'\n{block}" for number, block in enumerate(COMMANDS))
    script = script.replace("http://127.0.0.1:8000", vocero.origin).replace(
        ".venv/bin/python", sys.executable
    )
    run = await asyncio.to_thread(
        subprocess.run,
        ["bash", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    _, _, config, opened, turn, record, counted, end = re.split(r"== \d+\n", run.stdout)
    assert '"mode": "mcp"' in config
    assert '"caller": {"name": ' in opened
    order = [
        "vocero.conversation.ready",
        "vocero.tool.started get_my_briefing",
        "vocero.tool.completed",
        ANSWER,
    ]
    assert [turn.index(one) for one in order] == sorted(turn.index(one) for one in order)
    assert ANSWER in record
    assert 'tool="get_my_briefing"' in counted
    assert end.strip() == "204"
    [call] = await rows(ToolCall)
    assert (call.name, call.status) == ("get_my_briefing", "completed")
    [conversation] = await rows(Conversation)
    assert conversation.close_reason == "caller_cleanup"
    assert [token.ciphertext for token in await rows(BackendToken)] == [""]
    assert list(tmp_path.iterdir()) == []
