"""Invariants 7 and 8: bounds hold, and the reader never waits."""

from conversations.core.policy import REPEATABLE
from conversations.core.records import CallClosed
from conversations.realtime import endings
from conversations.tests.machine.conversation import LIMITS, TOOL_TIMEOUT
from conversations.tests.machine.portal import STUBBORN
from conversations.tests.machine.queues import CHARACTERS, ENTRIES
from conversations.tests.machine.story import Glance, Over, Put, Ran, Wrote
from conversations.tests.machine.tracking import Turns

LABEL = "[Reference data"
NAMED = {ending.error for ending in vars(endings).values() if isinstance(ending, endings.Ending)}


def invariant_07_bounds_hold(story):
    """Attempts, repeats, results, time and memory of a turn stay within their limits."""
    turns, codes, working, results = Turns(), {}, set(), {}
    last_of = ""
    while True:
        at, thing = yield
        turns.see(thing)
        match thing:
            case Wrote(CallClosed(call_id, code=code)):
                codes[call_id] = code
            case Ran(run):
                working.add(run)
                row = turns.calls[run.call_id]
                assert row.sequence <= LIMITS.attempts, "a turn has so many attempts"
                assert row.turn_id != last_of, "after the last attempt no tool runs"
                assert_no_repeat(row, turns.calls_of(row.turn_id), codes)
            case Put(_, {"type": "response.create", "response": options}):
                if attempts_of(turns) >= LIMITS.attempts:
                    assert options["tool_choice"] == "none", "the last answer picks no tool"
                    assert "MCP_CALL" not in options.get("instructions", ""), "nor is told how"
                    last_of = turns.current
            case Put(_, {"type": "conversation.item.create", "item": item}):
                text = item.get("output") or "".join(part["text"] for part in item.get("content") or ())
                if text.startswith(LABEL):
                    assert len(text) <= LIMITS.result_chars, "a result has so many characters"
                    results.setdefault(turns.current, set()).add(text)
                sizes = [sum(map(len, texts)) for texts in results.values()]
                assert max(sizes, default=0) <= LIMITS.turn_result_chars, "and a turn's results together"
            case Glance() as glance:
                working = {run for run in working if not run.over}
                assert_in_time(at, working)
                assert glance.characters <= CHARACTERS, f"memory is bounded: {glance}"
                assert glance.entries <= ENTRIES, f"and so is every container: {glance}"
            case Over(ending):
                assert ending.code != endings.BROKEN.code or ending.error in NAMED - {"internal"}, ending


def attempts_of(turns):
    """How many attempts the turn on the floor has made, which is none where none has it."""
    return len(turns.calls_of(turns.current)) if turns.current else 0


def assert_no_repeat(row, rows, codes):
    same = [one for one in rows if (one.name, one.argument_digest) == (row.name, row.argument_digest)]
    ran = [codes.get(one.call_id) for one in same if one.sequence < row.sequence]
    again = [code for code in ran if code != "duplicate_call"]
    assert len(again) <= 1, "the same call runs once, and once more"
    assert set(again) <= REPEATABLE, f"after a failure of the line only: {again}"


def assert_in_time(at, working):
    late = [run for run in working if at - run.began_at > TOOL_TIMEOUT + 0.5]
    stubborn = [run for run in late if run.mood in STUBBORN]
    assert len(late) == len(stubborn), f"a tool has so much time: {late}"


def invariant_08_the_reader_never_waits(story):
    """Whatever the service said is read, whoever else is slow."""
    while True:
        _, thing = yield
        if isinstance(thing, Glance) and thing.settled and thing.live:
            assert not thing.unread, f"{thing.unread} frames of the service are unread"
