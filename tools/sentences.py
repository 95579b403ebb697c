"""What a failure code says, to the caller and to the model: one table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Sentences(NamedTuple):
    """One failure in words: `caller` is shown on the page, `model` is the tool's output."""

    caller: str
    model: str


FAILURES: Mapping[str, Sentences] = MappingProxyType(
    {
        "unknown_tool": Sentences("I tried something that does not exist.", "There is no tool of this name."),
        "invalid_arguments": Sentences(
            "I asked for this in the wrong way.",
            "The arguments are not one valid JSON object that fits the tool's schema.",
        ),
        "malformed_selection": Sentences(
            "I asked for this in the wrong way.", "The tool call was malformed and was not run."
        ),
        "duplicate_call": Sentences(
            "I already looked this up.", "This call was already made in this turn. Use the answer it gave."
        ),
        "call_limit": Sentences(
            "I looked up as much as I may for one question.",
            "No more tools may be called in this turn. Answer with what is known.",
        ),
        "result_budget": Sentences(
            "I have read as much as I may for one question.",
            "There is no room left for results in this turn. Answer with what is known.",
        ),
        "confirmation_declined": Sentences(
            "You declined this.", "The caller declined this action. Do not repeat it."
        ),
        "confirmation_timeout": Sentences(
            "You did not confirm this in time.", "The caller did not confirm in time; nothing was done."
        ),
        "timeout": Sentences("This took too long.", "The tool did not answer in time."),
        "tool_error": Sentences("This did not work.", "The tool reported an error."),
        "unauthorized": Sentences(
            "You are no longer signed in.",
            "The caller's sign-in is no longer valid. They have to sign in again.",
        ),
        "forbidden": Sentences(
            "You may not see this.", "The caller has no permission for this. Tell them so."
        ),
        "unavailable": Sentences(
            "The data cannot be reached right now.", "The service cannot be reached right now."
        ),
        "connection_lost": Sentences(
            "The connection to the data was lost.", "The connection was lost before the tool answered."
        ),
        "cancelled": Sentences("This was cancelled.", "The call was cancelled because the caller went on."),
        "stale": Sentences("This is no longer needed.", "The caller has moved on; the result was not used."),
        "outcome_unknown": Sentences(
            "This was stopped, but it may already have happened.",
            "The call was stopped, but it is not known whether it took effect.",
        ),
        "internal": Sentences("Something went wrong here.", "The tool failed for an internal reason."),
    }
)


def for_caller(code: str) -> str:
    """The sentence that the page shows for a failure code."""
    return FAILURES[code].caller


def for_model(code: str) -> str:
    """The sentence that the model reads for a failure code."""
    return FAILURES[code].model


TITLES: Mapping[str, str] = MappingProxyType(
    {"aquaportal": "AquaPortal", "apipilot": "ApiPilot", "inprocess": "This process"}
)


def for_discovery(code: str, source: str) -> str:
    """Why the tools of a source are missing, for the caller."""
    title = TITLES.get(source, source)
    match code:
        case "unauthorized":
            return f"{title} no longer accepts this sign-in."
        case "forbidden":
            return f"{title} does not offer its tools to this caller."
        case "unavailable" | "connection_lost" | "timeout":
            return f"{title} cannot be reached."
        case _:
            return f"{title} gave an answer that cannot be used."
