"""Invariants 1 and 2: one caller, and no leak."""

import re

from conversations.tests.machine.hostile import FORBIDDEN, PAGE_MARKER
from conversations.tests.machine.portal import RESULT
from conversations.tests.machine.replies import (
    ARGUMENT,
    AUDIO_DELTA,
    DELETE,
    PLANTED,
    SEARCH,
    SECRET_SOUND,
    SERVER_TOOLS,
    THOUGHT,
)
from conversations.tests.machine.story import Arrived, Glance, Logged, Put, Ran, Said, Shown, Wrote
from conversations.tests.machine.tracking import Sheets

ANYWHERE = (ARGUMENT, RESULT, THOUGHT, PLANTED, "drop_all", "You are a voice", "Reference data")
MARKER = ("<<", "MCP_CALL", "vocero_mcp", "VOCERO_MCP", "APIPILOT_CALL", "NAME=", "ARGUMENTS", "MCPCALL")
IDS = re.compile(r'"((?:item|call)_[^"]*)"')
TRANSCRIPT = "conversation.item.input_audio_transcription.completed"


def invariant_01_one_caller(story):
    """Tools run for the conversation's own caller; nothing of another's, nothing that a client made up."""
    sheets = Sheets()
    while True:
        _, thing = yield
        sheets.see(thing)
        match thing:
            case Ran(run):
                tapped = run.name != DELETE or run.call_id in sheets.approved
                assert tapped, "what needs a tap runs after it"
                assert run.caller is story.caller, "a tool runs for the caller"
                assert run.name in SERVER_TOOLS, "only what the source offers"
            case Wrote(record):
                of = getattr(record, "conversation_id", story.conversation_id)
                assert of == story.conversation_id, "a row is of its own conversation"
            case Shown(text) | Put(text) | Arrived(text):
                assert FORBIDDEN not in text, "a client sets only what it may"
                assert not any(other in text for other in story.foreign), "nothing of another's"
            case Glance(shared=shared):
                assert not shared, f"conversations share {shared[0]!r}"


def invariant_02_no_leak(story):
    """No token anywhere, and nothing of the server's in a frame of the browser's or in the log."""
    hidden = set()
    while True:
        _, thing = yield
        match thing:
            case Said(frame):
                hidden |= hidden_ids(frame)
            case Put(text, frame):
                assert_disarmed(frame)
            case Shown(text, frame):
                assert_fit_to_be_seen(text, frame)
                assert not hidden & set(IDS.findall(text)), f"no trace of a server's call: {text}"
            case Logged(_, text):
                leaked = [one for one in (*ANYWHERE, *MARKER, *story.tokens) if one in text]
                assert not leaked, f"the log does not tell {leaked}: {text}"
        text = getattr(thing, "text", "") or (str(thing.record) if isinstance(thing, Wrote) else "")
        assert not any(token in text for token in story.tokens), "no token leaves"


def hidden_ids(frame):
    items = [frame.get("item") or {}, *((frame.get("response") or {}).get("output") or [])]
    calls = [item for item in items if item.get("type") == "function_call" and item["name"] != SEARCH]
    return {one for item in calls for one in (item["id"], item["call_id"])}


def assert_disarmed(frame):
    """What a caller, a page or a tool wrote reaches the model as data."""
    item = frame.get("item") or {}
    words = [item.get("output") or "", *(part.get("text") or "" for part in item.get("content") or ())]
    assert not any("<<" in text or "MCP_CALL" in text for text in words), "data is disarmed"
    instructions = (frame.get("session") or frame.get("response") or {}).get("instructions") or ""
    assert PAGE_MARKER not in instructions, "a page's words are disarmed"


def markers_in(frame):
    """What would betray a marker; of what callers and pages wrote themselves, only an armed one."""
    item = frame.get("item") or {}
    own = item.get("role") == "user" or item.get("type") == "function_call_output"
    if frame["type"] == TRANSCRIPT:
        return ()
    return MARKER[:2] if own or frame["type"].startswith("session.") else MARKER


def assert_fit_to_be_seen(text, frame):
    leaked = [trace for trace in (*ANYWHERE, *markers_in(frame)) if trace in text]
    assert not leaked, f"the browser does not see {leaked}: {text}"
    if frame["type"] == AUDIO_DELTA:
        assert SECRET_SOUND not in frame["delta"], "nor hears a marker"
