"""Which tool a question is about: by words shared with its name, description and arguments."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from demo.speech.planner.slots import Asked, fill
from demo.speech.planner.tools import Tool
from demo.speech.planner.words import Question, stem, stems

_VERBS = frozenset(stems("list get read fetch find search open play query tell run call"))
_MEANS = {
    "alarm": "alert",
    "alert": "insight",
    "catch": "briefing",
    "died": "mortality",
    "dead": "mortality",
    "episode": "podcast",
    "eat": "feed",
    "happened": "insight",
    "issue": "problem",
    "news": "briefing",
    "pen": "cage",
    "problem": "insight",
    "show": "list",
    "summarize": "briefing",
    "summary": "briefing",
    "update": "briefing",
    "warm": "temperature",
    "warning": "insight",
    "weigh": "biomass",
    "wrong": "problem",
}
_MEANS_BY_STEM = {stem(word): stem(meant) for word, meant in _MEANS.items()}
_NAME, _VERB, _SYNONYM, _BODY, _SLOT_NAMED, _EXACT = 3.0, 0.8, 1.5, 1.0, 0.9, 0.4
_ENOUGH = 1.35


@dataclass(frozen=True, slots=True)
class Match:
    """A tool and how well a question fits it."""

    tool: Tool
    score: float


@dataclass(frozen=True, slots=True)
class _Words:
    """A tool's vocabulary: the stems of its name, the name's words as they are, the stems of all else."""

    name: frozenset[str]
    raw_name: frozenset[str]
    body: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Spread:
    """How many tools use a word, in their names and anywhere: a word of all tools tells nothing."""

    names: Counter[str]
    anywhere: Counter[str]


def best(asked: Asked, tools: Sequence[Tool]) -> Match | None:
    """The tool that fits a question best, or None when nothing fits well enough to act on."""
    vocabulary = [_vocabulary(tool) for tool in tools]
    spread = _Spread(
        Counter(word for words in vocabulary for word in words.name),
        Counter(word for words in vocabulary for word in words.name | words.body),
    )
    matches = [
        Match(tool, _score(asked.question, words, spread) + _named_values(asked, tool))
        for tool, words in zip(tools, vocabulary, strict=True)
    ]
    top = max(matches, key=lambda match: match.score, default=None)
    return top if top and top.score >= _ENOUGH else None


def name_nouns(tool: Tool) -> frozenset[str]:
    """The telling words of a tool's name: "report" for `get_report`."""
    return frozenset(stems(tool.name)) - _VERBS


def name_verbs(tool: Tool) -> frozenset[str]:
    """The verbs of a tool's name: "list" for `list_reports`."""
    return frozenset(stems(tool.name)) & _VERBS


def _vocabulary(tool: Tool) -> _Words:
    described = " ".join(
        f"{slot.name} {slot.description} {' '.join(map(str, slot.values))}" for slot in tool.slots
    )
    name = frozenset(stems(tool.name))
    return _Words(
        name, frozenset(tool.name.lower().split("_")), frozenset(stems(tool.description + " " + described))
    )


def _score(question: Question, words: _Words, spread: _Spread) -> float:
    said = set(question.stems)
    meant = {_MEANS_BY_STEM[word] for word in said if word in _MEANS_BY_STEM} - said
    total = sum(_weight(word, words, spread) for word in said)
    total += sum(_SYNONYM / spread.names[word] for word in meant & words.name)
    total += sum(_BODY / 2 / spread.anywhere[word] for word in meant & (words.body - words.name))
    return total + _EXACT * len(words.raw_name & question.words)


def _weight(word: str, words: _Words, spread: _Spread) -> float:
    verb = word in _VERBS
    if word in words.name:
        return _VERB / spread.anywhere[word] if verb else _NAME / spread.names[word]
    if word in words.body:
        return (_BODY * 0.3 if verb else _BODY) / spread.anywhere[word]
    return 0.0


def _named_values(asked: Asked, tool: Tool) -> float:
    """What the values that a question names are worth: most where the call needs them."""
    total = 0.0
    for slot in tool.slots:
        telling = bool(slot.values) or slot.kind in ("integer", "number")
        if telling and fill(slot, asked):
            total += _SLOT_NAMED * (1.5 if slot.required else 0.4)
    return total
