"""What the codes of the audit mean, in sentences for an operator."""

from __future__ import annotations

CALL_CODES = {
    "unknown_tool": "The model asked for a tool that is not offered to this caller.",
    "invalid_arguments": "The model's arguments do not fit the tool's schema, so nothing was sent.",
    "malformed_selection": "The model wrote a tool selection that cannot be read, so nothing was run.",
    "duplicate_call": "The same tool with the same arguments had already run in this turn.",
    "call_limit": "The turn had used all its tool calls.",
    "result_budget": "The turn had no room left for another result.",
    "confirmation_declined": "The caller tapped no, went on without a tap, or has a client without sheets.",
    "confirmation_timeout": "The caller did not answer the confirmation in time.",
    "timeout": "The tool did not answer in time.",
    "tool_error": "The tool itself reported an error.",
    "unauthorized": "The backend no longer accepts the caller's session, so the conversation was closed.",
    "forbidden": "The caller has no permission for this at the backend.",
    "unavailable": "The tool's service could not be reached or answered with a server error.",
    "connection_lost": "The process or the connection that ran this tool went away before the answer came.",
    "cancelled": "The turn moved on (new speech, a hang-up, a cleanup) and the tool was told to stop.",
    "stale": "The turn moved on before this tool was started.",
    "outcome_unknown": "The turn moved on, but the tool's server could not be told to stop; it may be done.",
    "internal": "Vocero itself failed; the log has the details under this reference.",
}
# What ended a turn in an apology; the core's codes, beside those of tool calls.
TURN_CODES = {
    "no_answer": "No answer came for too long, or it was empty.",
    "speech_lost": "The speech service was lost in the middle of the question or of its answer.",
    "response_incomplete": "The speech service broke its answer off.",
    "response_failed": "The speech service failed to make an answer.",
    "call_limit": "The model asked for yet another tool after the last one that a turn may use.",
    "malformed_selection": "The model wrote tool selections that cannot be read, and none was run.",
    "service_error": "The speech service reported a problem.",
    "connection_lost": "The connection to the speech service, or the process that held the call, went away.",
}
TURN_OUTCOMES = {
    "running": ("running", "live", "This turn is still running."),
    "done": ("answered", "good", ""),
    "interrupted": ("interrupted", "warn", "The caller spoke over the answer; it was cut at the mark."),
    "cancelled": ("cancelled", "quiet", "The turn ended before its answer was finished."),
    "failed": ("failed", "bad", "The caller heard an apology or saw an error."),
}
CLOSE_REASONS = {
    "caller_cleanup": "The caller, or their page, ended it.",
    "superseded": "The same browser started a conversation for another caller.",
    "expired": "It reached its longest allowed time.",
    "idle": "Nothing was heard from the caller for too long.",
    "auth_expired": "The backend no longer accepted the caller's session.",
    "operator": "An operator ended it.",
    "error": "It ended because of an error.",
}
MODES = {
    "mcp": "AquaPortal tools over MCP",
    "apipilot": "Tools over the ApiPilot bridge",
    "plain": "No tools, a plain voice relay",
}
SELECTIONS = {
    "native": "native function call",
    "marker": "marker in the assistant's text",
    "brain": "a brain's model API",
}
# By the names of conversations.realtime.dialects.
DIALECTS = {
    "ga": "OpenAI Realtime, GA",
    "beta": "OpenAI Realtime, before GA",
    "s2s-1.1": "speech-to-speech 1.x",
    "s2s-2026-08b": "speech-to-speech of late August 2026",
    "s2s-2026-08a": "speech-to-speech of early August 2026",
    "s2s-0.2.12": "speech-to-speech 0.2",
}
ORIGINS = {"voice": "spoken", "text": "typed", "http": "over HTTP"}
CLEANUP = {
    "ended": "Open conversations: end",
    "expired": "Conversations at the end of their time: close",
    "idle": "Idle conversations: close",
    "tokens": "Session tokens left behind: erase",
    "turns": "Turns of calls that are gone: close",
    "tool_calls": "Tool calls of calls that are gone: close",
    "upstream_sessions": "Sessions at the speech service of calls that are gone: close",
    "phone_links": "Phones of expired links: erase",
    "transcripts": "Turns whose words are past their days: erase the words",
    "payloads": "Tool calls whose payloads are past their days: erase arguments and results",
    "old_tool_calls": "Tool calls past their days: delete",
    "old_turns": "Turns past their days: delete",
    "surplus_tool_calls": "Tool calls beyond the most that are kept: delete",
    "surplus_turns": "Turns beyond the most that are kept: delete",
    "old_upstream_sessions": "Speech sessions past their days: delete",
    "old_conversations": "Conversations past their days: delete",
    "old_phone_links": "Phone links past their days: delete",
    "old_catalogs": "Cached catalogs past their days: delete",
    "erasures": "Erasures that were asked for: finish",
    "old_cleanup_runs": "Notes of cleanups past their days: delete",
}
# Ends that belong to a normal conversation: the caller changed their mind, nothing broke.
QUIET_CODES = ("cancelled", "stale", "confirmation_declined", "confirmation_timeout")


def call_outcome(status: str, code: str) -> tuple[str, str]:
    """The word and the tone (`good`, `bad`, `warn`, `quiet`, `live`) of a tool call."""
    if status != "failed":
        return ("running", "live") if status == "running" else ("completed", "good")
    if code in QUIET_CODES:
        return code, "quiet"
    return code or "failed", "warn" if code == "outcome_unknown" else "bad"


def call_sentence(code: str) -> str:
    """What happened to a tool call; empty where nothing did."""
    return CALL_CODES.get(code, f"It ended with the code “{code}”." if code else "")


def turn_sentence(outcome: str, code: str) -> str:
    """What happened to a turn; empty for one that was simply answered."""
    if not code:
        return TURN_OUTCOMES.get(outcome, ("", "", ""))[2]
    return TURN_CODES.get(code) or call_sentence(code)
