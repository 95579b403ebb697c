"""Questions for the web: those that ask for it in so many words, and those that no other tool answers."""

import re
from collections.abc import Mapping, Sequence

from demo.speech.planner.results import Outcome, plain
from demo.speech.planner.tools import Call, Tool
from demo.speech.planner.words import Question

_WEB = r"(?:the )?(?:web|internet|net)|online|google"
_ASKED = (
    re.compile(rf"\b(?:search|look|check|browse)\b(?: (?:on|in|through))? (?:{_WEB})\W+(?:for |about )?(.+)"),
    re.compile(rf"\b(?:search|look up|look for|find)(?: for)? (.+?) (?:on |in )?(?:{_WEB})\b"),
    re.compile(r"^\W*google (.+)"),
)
_WONDERING = re.compile(r"^\W*(?:what|who|where|when|why|how|which|is|are|do|does|will)\b(?:.*\b\w{3,}\b){2}")
_FREE = ("query", "question", "q")


def web_tool(tools: Sequence[Tool]) -> Tool | None:
    """The tool that searches the web, if the page has declared one."""
    return next((tool for tool in tools if "web" in tool.name.split("_") and _field(tool)), None)


def asked_for(tool: Tool, question: Question) -> Call | None:
    """The search that a question names as such: "search the web for sea lice"."""
    for pattern in _ASKED:
        if found := pattern.search(question.text):
            return _call(tool, found[1])
    return None


def wondered(tool: Tool, question: Question) -> Call | None:
    """The search for a question that nothing else answers, where it is one at all."""
    return _call(tool, question.raw) if _WONDERING.search(question.text) else None


def read_out(outcome: Outcome) -> str | None:
    """What the first page says, and what else was found; None where an outcome is no search's."""
    rows = outcome.data.get("results") if isinstance(outcome.data, Mapping) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "snippet" in row for row in rows):
        return None
    if not rows:
        return "I found nothing about that on the web."
    first = f"On the web, {plain(str(rows[0]['title'])).rstrip('.')}: {plain(str(rows[0]['snippet']))}"
    others = len(rows) - 1
    return (
        first if not others else f"{first} There {'is one more page' if others == 1 else 'are more pages'}."
    )


def _field(tool: Tool) -> str:
    return next((slot.name for slot in tool.slots if slot.name in _FREE), "")


def _call(tool: Tool, words: str) -> Call:
    return Call(tool.name, {_field(tool): words.strip(" .?!,\"'")})
