"""Questions that lean on earlier answers, for a model whose history holds words but no results.

What an earlier turn looked up is looked up again first, and then counts as that turn's own. Only tools that
read are called again.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from demo.speech.planner import CallTools, Context, Decision, decide
from demo.speech.planner.history import Item, text_of
from demo.speech.planner.results import parsed

MOST_AGAIN = 4
_READS = ("list_", "get_", "read_", "find_", "search_", "show_")
_LEANS = re.compile(
    r"^\W*(?:yes\W+)?(?:please )?"
    r"(?:continue|go on|more|next|keep (?:going|reading)|read (?:on|more))\b.{0,12}$"
    r"|^\W*yes(?: please)?\W*$|^\W*(?:and|what about|how about|now)\b"
    r"|\b(?:that|this|first|second|third|fourth|fifth|last) (?:one|report|podcast|episode|item)\b",
    re.IGNORECASE,
)


def decided(context: Context) -> Decision:
    """What to do now; like `decide`, but with the memory that words alone do not give."""
    told = _split(context.items)
    leading = _leading(told)
    if not leading or not context.may_call:
        return decide(context)
    *before, current = told
    work: Sequence[Item] = current[1:]
    items: list[Item] = [item for turn in before[:-leading] for item in turn]
    for turn in before[-leading:]:
        decision, items, work = _again(context, items, turn, work)
        if decision is not None:
            return decision
    return decide(replace(context, items=[*items, current[0], *work]))


def _again(
    context: Context, items: list[Item], turn: Sequence[Item], work: Sequence[Item]
) -> tuple[Decision | None, list[Item], Sequence[Item]]:
    """One earlier turn, with so much of the present work as it needs; or the call that it still needs."""
    said = [item for item in turn if item.get("role") == "assistant"]
    items = [*items, turn[0]]
    while True:
        decision = decide(replace(context, items=items))
        if not isinstance(decision, CallTools) or not all(c.name.startswith(_READS) for c in decision.calls):
            return None, [*items, *said], work
        done = _step(work)
        if not done:
            return decision, items, work
        items, work = [*items, *done], work[len(done) :]


def _step(work: Sequence[Item]) -> Sequence[Item]:
    """The calls that were made at once, each with its output."""
    calls = 0
    while calls < len(work) and work[calls].get("type") != "function_call_output":
        calls += 1
    ids = {item.get("call_id") for item in work[:calls] if item.get("type") == "function_call"}
    end = calls
    while end < len(work) and work[end].get("call_id") in ids:
        end += 1
    return work[:end] if ids and end > calls else ()


def _leading(told: Sequence[Sequence[Item]]) -> int:
    """How many of the turns before lead to the present question, which leans on them; 0 where none does."""
    count = 0
    while count < MOST_AGAIN and len(told) > count + 1:
        current, before = told[-1 - count], told[-2 - count]
        if not _leans(text_of(current[0]), before) or _has_results(before):
            return count
        count += 1
    return count


def _leans(question: str, before: Sequence[Item]) -> bool:
    asked_back = any(text_of(item).endswith("?") for item in before[-1:] if item.get("role") == "assistant")
    return asked_back or _LEANS.search(question) is not None


def _has_results(turn: Sequence[Item]) -> bool:
    return any(item.get("type") == "function_call_output" for item in turn)


def _split(items: Sequence[Item]) -> list[list[Item]]:
    """The items by turn; what comes before the first question is left out."""
    found: list[list[Item]] = []
    for item in items:
        if item.get("role") == "user" and parsed(text_of(item)) is None:
            found.append([item])
        elif found:
            found[-1].append(item)
    return found
