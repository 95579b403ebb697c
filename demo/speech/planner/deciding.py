"""The planner's one decision: which tools to call now, or what to say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property

from demo.speech.planner import phrases, web
from demo.speech.planner.choosing import chosen, named, offering
from demo.speech.planner.filling import Unclear, by_row, calls, changed, is_identifier, paged, titles
from demo.speech.planner.history import Exchange, Item, Turn, turns
from demo.speech.planner.matching import best, name_nouns, name_verbs
from demo.speech.planner.results import Outcome, Row, spoken
from demo.speech.planner.schema import Slot
from demo.speech.planner.slots import Asked
from demo.speech.planner.tools import Call, Tool
from demo.speech.planner.words import Question, stems

MOST_CALLS = 4
# Only instructions that are nothing but this order: longer ones may well quote something.
_ORDER = re.compile(
    r"\A\s*(?:please )?(?:say|speak|tell the caller)\b[^\"“]{0,120}[\"“](.+?)[\"”]\W*\Z",
    re.IGNORECASE | re.DOTALL,
)
_MORE = re.compile(
    r"^\W*(?:yes\W+)?(?:please )?"
    r"(?:continue|go on|more|next(?: page)?|keep (?:going|reading)|read (?:on|more))\b.{0,12}$"
    r"|^\W*yes(?: please)?\W*$"
)
_FOLLOW_UP = re.compile(r"^\W*(?:and|what about|how about|now)\b")
_REFERENCE = re.compile(
    r"\b(?:that|this|first|second|third|fourth|fifth|last) (?:one|report|podcast|episode|item)\b"
)


@dataclass(frozen=True, slots=True)
class Say:
    """Words to be spoken."""

    text: str


@dataclass(frozen=True, slots=True)
class CallTools:
    """Tools to be called, all at once."""

    calls: tuple[Call, ...]


Decision = Say | CallTools


@dataclass(frozen=True)
class Context:
    """All that a decision rests on; `order` is a response's own instructions, `may_call` false for `none`."""

    items: Sequence[Item]
    tools: Sequence[Tool]
    today: date
    may_call: bool = True
    order: str = ""

    @cached_property
    def turns(self) -> list[Turn]:
        """The conversation as turns, the current one last."""
        return turns(self.items)

    @property
    def turn(self) -> Turn:
        """The current turn."""
        return self.turns[-1]

    @property
    def before(self) -> Turn | None:
        """The turn before the current one."""
        return self.turns[-2] if len(self.turns) > 1 else None

    def tool(self, name: str) -> Tool | None:
        """The declared tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def asked(self, tool: Tool | None = None, question: Question | None = None) -> Asked:
        """The current question, with the titles of earlier results that a tool may be asked about."""
        heard = [outcome for turn in reversed(self.turns) for outcome in turn.outcomes]
        return Asked(question or self.turn.question, self.today, titles(heard, tool) if tool else ())


def decide(context: Context) -> Decision:
    """What to do now in a conversation; pure, and the same for the same conversation."""
    if order := _ORDER.search(context.order):
        return Say(order[1])
    if not context.turns:
        return Say(phrases.greeting(context.tools))
    turn = context.turn
    if turn.exchanges:
        return _after_results(context)
    if turn.pending:
        return Say(phrases.ONE_MOMENT)
    if not turn.question.raw:
        return Say(phrases.NOT_HEARD)
    if words := phrases.answer(turn.question, context.tools, context.before.said if context.before else ""):
        return Say(words)
    return _with_web(context)


def _with_web(context: Context) -> Decision:
    """The first step, in which a search is what is asked for as such, or what is left."""
    tool, question = web.web_tool(context.tools), context.turn.question
    if tool is None or not context.may_call:
        return _first_step(context)
    if search := web.asked_for(tool, question):
        return CallTools((search,))
    others = replace(context, tools=tuple(other for other in context.tools if other != tool))
    decision = _first_step(others)
    search = web.wondered(tool, question) if decision == _nothing(others) else None
    return CallTools((search,)) if search else decision


def _nothing(context: Context) -> Say:
    return Say(phrases.nothing_fits(context.turn.question, context.tools))


def _after_results(context: Context) -> Decision:
    exchanges = context.turn.exchanges
    last = exchanges[-1]
    if found := web.read_out(last.outcome):
        return Say(found)
    if last.outcome.failure is None and context.may_call and len(exchanges) < MOST_CALLS:
        step = _next_step(context, last)
        if step is not None:
            return step
    if last.outcome.candidates:
        return Say(_which(last.outcome.candidates, spoken(last.outcome)))
    return Say(_all_spoken(exchanges))


def _next_step(context: Context, last: Exchange) -> Decision | None:
    """The call that the question still needs after this result, or a question to the caller before it."""
    goal = best(context.asked(), context.tools)
    if goal is None or last.outcome.candidates or context.turn.pending:
        return None
    done = sum(exchange.tool_name == goal.tool.name for exchange in context.turn.exchanges)
    if not done and not any(slot.required and is_identifier(slot) for slot in goal.tool.slots):
        return None
    found = calls(goal.tool, context.asked(goal.tool), context.turn.outcomes)
    if isinstance(found, Unclear):
        return None if done else _clearing(context, goal.tool, found)
    return CallTools((found[done],)) if done < len(found) else None


def _all_spoken(exchanges: Sequence[Exchange]) -> str:
    """The words of the results that answer: all those of the tool that was called last."""
    name = exchanges[-1].tool_name
    answers = [exchange.outcome for exchange in exchanges if exchange.tool_name == name]
    return " ".join(dict.fromkeys(spoken(outcome) for outcome in answers))


def _first_step(context: Context) -> Decision:
    question = context.turn.question
    if not context.tools:
        return _nothing(context)
    if not context.may_call:
        return Say(phrases.NOT_NOW)
    for step in (_chosen_candidate, _next_page, _follow_up, _referred, _completed):
        decision = step(context)
        if decision is not None:
            return decision
    return _matched(context, question) or _nothing(context)


def _matched(context: Context, question: Question, known: Sequence[Outcome] = ()) -> Decision | None:
    match = best(context.asked(question=question), context.tools)
    if match is None:
        return None
    found = calls(match.tool, context.asked(match.tool, question), known)
    return _clearing(context, match.tool, found) if isinstance(found, Unclear) else CallTools(tuple(found))


def _clearing(context: Context, tool: Tool, unclear: Unclear) -> Decision:
    """What makes an unclear call clear: the tool that knows the missing id, or a question to the caller."""
    slot = unclear.slot
    if unclear.rows:
        return Say(_which(unclear.rows, ""))
    if is_identifier(slot) and (provider := _provider(context, tool, slot)):
        return CallTools((provider,))
    thing = " ".join(slot.name.split("_"))
    if unclear.out_of_bounds:
        return Say(
            f"The {thing} must be between {slot.minimum:g} and {slot.maximum:g}. Which one do you mean?"
        )
    if slot.values:
        return Say(
            f"Which {thing} do you mean: {', '.join(str(value).replace('_', ' ') for value in slot.values)}?"
        )
    return Say(f"Which {thing.removesuffix(' id')} do you mean?")


def _provider(context: Context, tool: Tool, slot: Slot) -> Call | None:
    """A call, new in this turn, to the tool that the id's description names or that lists such things."""
    made = {exchange.tool_name for exchange in context.turn.exchanges} | {tool.name}
    wanted = set(stems(slot.name)) | name_nouns(tool)
    ranked = sorted(
        (other for other in context.tools if other.name not in made),
        key=lambda other: (
            other.name in slot.description,
            len(wanted & name_nouns(other)),
            "list" in name_verbs(other),
        ),
        reverse=True,
    )
    for other in ranked:
        if other.name not in slot.description and not wanted & name_nouns(other):
            return None
        found = calls(other, context.asked(other), context.turn.outcomes)
        if not isinstance(found, Unclear):
            return found[0]
    return None


def _chosen_candidate(context: Context) -> Decision | None:
    """The call for the thing that the caller picks, when the turn before ended with "which one"."""
    before = context.before
    candidates = before.exchanges[-1].outcome.candidates if before and before.exchanges else ()
    tool = context.tool(before.exchanges[-1].tool_name) if before and candidates else None
    if tool is None or _another_subject(context, tool):
        return None
    rows = chosen(context.asked(), candidates)
    if not rows and changed(Call(tool.name, {}), tool, context.asked(tool)):
        return None
    call = by_row(tool, rows[0]) if len(rows) == 1 else None
    return CallTools((call,)) if call else Say(phrases.which([named(row) for row in rows or candidates]))


def _another_subject(context: Context, tool: Tool) -> bool:
    """Whether the question is a new one of its own, and no answer to "which one"."""
    fresh = best(context.asked(), context.tools)
    if fresh is None:
        return False
    return not name_nouns(fresh.tool) & name_nouns(tool) or bool(
        name_verbs(fresh.tool) & set(context.turn.question.stems) and fresh.tool != tool
    )


def _next_page(context: Context) -> Decision | None:
    last = context.before.exchanges[-1] if context.before and context.before.exchanges else None
    if last is None or last.call is None or not _MORE.search(context.turn.question.text):
        return None
    tool, offset = context.tool(last.tool_name), last.outcome.next_offset()
    if tool is None or offset is None:
        return Say(phrases.NO_MORE)
    call = paged(last.call, tool, offset)
    return CallTools((call,)) if call else None


def _follow_up(context: Context) -> Decision | None:
    """The same call with another value: "and in cage five?"."""
    last = context.before.exchanges[-1] if context.before and context.before.exchanges else None
    if last is None or last.call is None or not _FOLLOW_UP.search(context.turn.question.text):
        return None
    tool = context.tool(last.tool_name)
    call = changed(last.call, tool, context.asked(tool)) if tool else None
    return CallTools((call,)) if call else None


def _referred(context: Context) -> Decision | None:
    """The call for "the second one" or "that report" among what was just listed."""
    question = context.turn.question
    if context.before is None or not _REFERENCE.search(question.text):
        return None
    match = best(context.asked(), context.tools)
    listed = context.tool(context.before.exchanges[-1].tool_name) if context.before.exchanges else None
    tools = [match.tool] if match else []
    tools += [
        tool for tool in context.tools if listed and tool != listed and name_nouns(tool) & name_nouns(listed)
    ]
    for tool in tools:
        if row := _pointed_at(context.asked(), tool, context.before.outcomes):
            call = by_row(tool, row)
            return CallTools((call,)) if call else None
    return None


def _pointed_at(asked: Asked, tool: Tool, outcomes: Sequence[Outcome]) -> Row | None:
    for slot in tool.slots:
        if is_identifier(slot) and (offered := offering(slot, outcomes)):
            rows = tuple(row for _, row in offered)
            picked = rows if len(rows) == 1 else chosen(asked, rows)
            return picked[0] if len(picked) == 1 else None
    return None


def _completed(context: Context) -> Decision | None:
    """The question before, completed by this answer, where it ended with a question of our own."""
    before = context.before
    if before is None or not before.said.endswith("?") or (before.exchanges and "Which " not in before.said):
        return None
    # The answer first: of two cages the one that is named now is meant.
    whole = Question(f"{context.turn.question.raw} {before.question.raw}")
    fresh, match = best(context.asked(), context.tools), best(context.asked(question=whole), context.tools)
    if fresh and match and fresh.tool != match.tool:
        return None
    return _matched(context, whole, before.outcomes)


def _which(rows: Sequence[Row], said: str) -> str:
    return said if "?" in said else f"{said} {phrases.which([named(row) for row in rows])}".strip()
