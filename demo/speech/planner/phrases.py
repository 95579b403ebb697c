"""What needs no tool: greetings, thanks, stop, repeat, help, and what to say when nothing fits."""

import re
from collections.abc import Sequence

from demo.speech.planner.tools import Tool
from demo.speech.planner.words import Question

NOT_HEARD = "Sorry, I did not catch that. Please say it again."
NOT_NOW = "I cannot look that up just now."
NO_MORE = "There is no more of it."
ONE_MOMENT = "One moment, I am still looking."
_STOP = re.compile(
    r"^\W*(?:please )?(?:stop|be quiet|quiet|silence|cancel|enough|shut up)"
    r"(?: (?:it|please|talking|now))?\W*$"
)
_REPEAT = re.compile(
    r"\b(?:repeat (?:that|it|please)|say (?:that|it) again|once more|pardon)\b|^\W*repeat\W*$"
)
_HELP = re.compile(
    r"\bwhat (?:else )?can (?:you|i) (?:do|ask|say)\b|\bhelp(?: me)?\W*$|^\W*help\b"
    r"|\bhow does this work\b|\bwho are you\b"
)
_SOCIAL = (
    (re.compile(r"^\W*(?:many )?(?:thanks|thank you)\b.{0,20}$"), "You are welcome."),
    (re.compile(r"^\W*(?:bye|goodbye|good night|see you)\b"), "Goodbye."),
    (re.compile(r"^\W*(?:no|no thanks|nothing|never mind)\W*$"), "All right."),
)
_HELLO = re.compile(r"^\W*(?:hello|hi|hey|good (?:morning|afternoon|evening))\b.{0,12}$")
_PLAIN = "I am only the demo's voice: no tools are connected, so I cannot look anything up."
_EXAMPLES = 6


def answer(question: Question, tools: Sequence[Tool], last_said: str) -> str | None:
    """The words for a question that needs no tool, or None."""
    text = question.text
    if _STOP.search(text):
        return "Okay."
    if _REPEAT.search(text):
        return last_said or "There is nothing to repeat yet."
    for pattern, words in _SOCIAL:
        if pattern.search(text):
            return words
    if _HELLO.search(text):
        return greeting(tools)
    return abilities(tools) if _HELP.search(text) else None


def greeting(tools: Sequence[Tool]) -> str:
    """The first words of a call."""
    return "Hello. " + (abilities(tools[:3]) if tools else _PLAIN)


def abilities(tools: Sequence[Tool]) -> str:
    """What the connected tools let a caller ask for, in their own words."""
    return f"I can {_joined([_ability(tool) for tool in tools[:_EXAMPLES]], 'and')}." if tools else _PLAIN


def nothing_fits(question: Question, tools: Sequence[Tool]) -> str:
    """What to say to a question that no tool answers."""
    if not tools:
        return f"I heard: {question.raw.strip().rstrip('.?!')}. {_PLAIN}"
    return f"I have no tool for that. {abilities(tools[:3])}"


def which(names: Sequence[str]) -> str:
    """The question which of several things is meant."""
    return f"Which one do you mean: {_joined(names, 'or')}?"


def _ability(tool: Tool) -> str:
    clause = re.split(r"[.:;,(]", tool.description, maxsplit=1)[0].strip() or tool.name.replace("_", " ")
    return re.sub(r"\b(?:the caller's|my)\b", "your", clause[:1].lower() + clause[1:])


def _joined(names: Sequence[str], word: str) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
