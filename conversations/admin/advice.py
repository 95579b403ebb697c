"""What an operator does next about a code of the audit: one sentence each."""

from __future__ import annotations

CALLS = {
    "unknown_tool": "Compare the name with this caller's catalog; a tool that should be offered belongs in "
    "S2S_MCP_TOOLS.",
    "invalid_arguments": "Compare the arguments with the tool's schema in the catalog; if the schema changed "
    "lately, look at “Tool changes”.",
    "malformed_selection": "If it repeats, the model cannot write markers: try S2S_TOOL_SELECTION=native, or "
    "another model.",
    "duplicate_call": "Nothing: the model was told to use the answer it had.",
    "call_limit": "Look whether the turn needed its calls; S2S_MAX_TOOL_CALLS sets the limit.",
    "result_budget": "Look which result filled the turn; S2S_TURN_RESULT_CHARS and S2S_RESULT_CHARS set the "
    "limits.",
    "confirmation_declined": "Nothing: the caller did not want it. A client without sheets cannot approve.",
    "confirmation_timeout": "Nothing, or give callers more time with S2S_CONFIRM_TIMEOUT.",
    "timeout": "See whether other callers waited too; if so the tool's service is slow. "
    "S2S_TOOL_TIMEOUT sets the limit.",
    "tool_error": "Read the beginning of the result: the tool's own words say why. Its owner can mend it.",
    "unauthorized": "The caller signs in again. If many do at once, look at the backend's sessions.",
    "forbidden": "If the caller should be allowed to, give them the permission at the backend.",
    "unavailable": "See whether all callers' calls fail: then the service is down or its address is wrong.",
    "connection_lost": "Look in the log whether a process ended or was restarted at that time.",
    "cancelled": "Nothing: the caller went on.",
    "stale": "Nothing: the caller went on before it was started.",
    "outcome_unknown": "Look at the backend whether it was done; nobody told the tool's server to stop.",
    "internal": "Search the log for the reference, and report what it says.",
}
TURNS = {
    "no_answer": "Look whether a call took the time. If none did, the speech service or its model was slow: "
    "its own log says more.",
    "speech_lost": "Look below why the session at the speech service ended, and in that service's log.",
    "response_incomplete": "Look in the speech service's log; a limit on the answer's length is one cause.",
    "response_failed": "Look in the speech service's log for this time.",
    "service_error": "Look in the speech service's log for this time.",
    "connection_lost": CALLS["connection_lost"],
    "call_limit": CALLS["call_limit"],
    "malformed_selection": CALLS["malformed_selection"],
}
SESSIONS = {
    "lost": "Vocero opened another one where it could; the speech service's log says why it ended.",
    "unreachable": "Try the address in S2S_SPEECH_URL from this machine; the caller could only type.",
}
NOT_KNOWN = "Search the log for the reference."


def for_call(code: str) -> str:
    """What to do about a tool call that ended with this code."""
    return CALLS.get(code, NOT_KNOWN)


def for_turn(code: str) -> str:
    """What to do about a turn that ended in trouble with this code."""
    return TURNS.get(code) or for_call(code)
