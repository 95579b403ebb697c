"""A turn on one time axis: who was at work when, how long, and where it was cut."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.admin import words
from conversations.admin.waterfall import Axis, draw, gaps, milliseconds
from conversations.models import Conversation, ToolCall, Turn
from conversations.realtime.words import FOR_CALLER
from conversations.tests.operators import NOON
from tools.contract import FAILURE_CODES


def after(seconds):
    return None if seconds is None else NOON + timedelta(seconds=seconds)


def turn(spoken=1.0, answered=2.0, ended=5.0, **values):
    defaults = {"origin": "voice", "outcome": "done", "index": 1}
    times = {"caller_done_at": after(spoken), "answered_at": after(answered), "ended_at": after(ended)}
    return Turn(started_at=NOON, **{**defaults, **times, **values})


def call(start, end, **values):
    defaults = {"name": "get_report", "source": "aquaportal", "selection": "native", "status": "completed"}
    took = None if end is None else round((end - start) * 1000)
    return ToolCall(started_at=after(start), ended_at=after(end), duration_ms=took, **{**defaults, **values})


def lanes(of_turn, *calls, now=60.0):
    return {f"{lane.kind}:{lane.label}": lane for lane in draw(of_turn, calls, after(now)).lanes}


def places(lane):
    return [(bar.left, bar.width) for bar in lane.bars]


def test_all_lanes_share_the_axis_of_the_turn():
    drawn = lanes(turn(), call(1.5, 1.75))
    assert places(drawn["caller:Caller speaks"]) == [("0.00%", "20.00%")]
    assert places(drawn["thinking:Thinking"]) == [("20.00%", "10.00%"), ("35.00%", "5.00%")]
    assert places(drawn["call:get_report"]) == [("30.00%", "5.00%")]
    assert places(drawn["answer:Answer"]) == [("40.00%", "60.00%")]


def test_durations_are_in_milliseconds():
    drawn = lanes(turn(), call(1.5, 1.75))
    shown = [lane.duration for lane in drawn.values()]
    assert shown == ["1,000 ms", "750 ms", "250 ms", "3,000 ms"]


def test_an_interrupted_answer_carries_the_cut_where_it_ended():
    drawn = lanes(turn(outcome="interrupted"), call(1.2, 9.0))
    assert (drawn["answer:Answer"].cut, drawn["answer:Answer"].outcome) == ("55.56%", "interrupted")


def test_an_answer_that_ended_by_itself_carries_no_cut():
    assert lanes(turn())["answer:Answer"].cut == ""
    assert lanes(turn(outcome="failed"))["answer:Answer"].cut == ""


def test_a_turn_without_an_answer_says_so():
    answer = lanes(turn(answered=None, outcome="failed"))["answer:Answer"]
    assert (answer.bars, answer.outcome, answer.tone) == ((), "none, failed", "bad")


def test_a_running_turn_reaches_to_now_and_its_answer_is_still_to_come():
    running = turn(answered=None, ended=None, outcome="running")
    drawn = lanes(running, call(2.0, None, status="running"), now=10.0)
    assert places(drawn["call:get_report"]) == [("20.00%", "80.00%")]
    assert drawn["call:get_report"].outcome == "running"
    assert drawn["answer:Answer"].outcome == "still to come"


def test_a_typed_turn_starts_with_thinking():
    drawn = lanes(turn(spoken=None, origin="text"))
    assert places(drawn["thinking:Thinking"]) == [("0.00%", "40.00%")]
    assert drawn["caller:Caller typed"].duration == ""


@pytest.mark.parametrize(
    ("status", "code", "shown"),
    [
        ("completed", "", ("completed", "good")),
        ("running", "", ("running", "live")),
        ("failed", "timeout", ("timeout", "bad")),
        ("failed", "cancelled", ("cancelled", "quiet")),
        ("failed", "confirmation_declined", ("confirmation_declined", "quiet")),
        ("failed", "outcome_unknown", ("outcome_unknown", "warn")),
        ("failed", "", ("failed", "bad")),
    ],
)
def test_an_outcome_is_a_word_and_a_tone(status, code, shown):
    lane = lanes(turn(), call(1.5, 1.7, status=status, code=code))["call:get_report"]
    assert (lane.outcome, lane.tone) == shown


def test_a_tool_that_waited_for_a_tap_shows_the_wait_and_the_run_apart():
    drawn = lanes(turn(), call(1.5, 4.0, approved_at=after(3.5)))
    assert places(drawn["caller:Caller is asked"]) == [("30.00%", "40.00%")]
    assert drawn["caller:Caller is asked"].duration == "2,000 ms"
    assert drawn["caller:Caller is asked"].outcome == "approved"
    assert places(drawn["call:get_report"]) == [("70.00%", "10.00%")]


def test_every_code_and_reason_of_the_audit_has_a_sentence():
    assert set(words.CALL_CODES) == FAILURE_CODES
    assert set(words.CLOSE_REASONS) == set(Conversation.CloseReason.values)
    assert set(words.TURN_OUTCOMES) == set(Turn.Outcome.values)
    assert set(words.MODES) == set(Conversation.Mode.values)
    assert set(words.SELECTIONS) == set(ToolCall.Selection.values)
    assert set(words.ORIGINS) == set(Turn.Origin.values)


def test_every_code_that_the_caller_is_told_has_a_sentence_for_the_operator():
    ends_no_turn = {"service_error", "too_late", "forbidden_event", "slow_tool"}
    for code in set(FOR_CALLER) - ends_no_turn:
        assert "It ended with the code" not in words.turn_sentence("failed", code), code


def test_an_unknown_code_is_shown_as_it_is():
    assert words.turn_sentence("failed", "new_code") == "It ended with the code “new_code”."
    assert words.call_sentence("new_code") == "It ended with the code “new_code”."


@pytest.mark.parametrize(
    ("length", "labels"),
    [
        (0, ["0", "20 ms", "40 ms", "60 ms", "80 ms", "100 ms"]),
        (900, ["0", "200 ms", "400 ms", "600 ms", "800 ms"]),
        (5_000, ["0", "1 s", "2 s", "3 s", "4 s", "5 s"]),
        (38_000, ["0", "10 s", "20 s", "30 s"]),
    ],
)
def test_the_axis_has_a_handful_of_round_marks(length, labels):
    assert [tick.label for tick in Axis(length).ticks()] == labels


def test_milliseconds_are_whole_and_never_negative():
    assert [milliseconds(ms) for ms in (-3, 0.4, 1_234.5)] == ["0 ms", "0 ms", "1,234 ms"]


MOMENTS = st.floats(0, 1_000, allow_nan=False)
SPANS = st.tuples(MOMENTS, MOMENTS).map(lambda pair: (min(pair), max(pair)))


@settings(deadline=None)
@given(SPANS, st.lists(SPANS, max_size=8))
def test_gaps_and_what_was_taken_fill_the_span_without_overlap(span, taken):
    left = gaps(span, taken)
    assert left == sorted(left)
    for start, end in left:
        assert span[0] <= start < end <= span[1]
        assert not any(begins < end and start < ends for begins, ends in taken if begins < ends)
    edges = sorted({span[0], span[1], *(edge for each in [*taken, *left] for edge in each)})
    for begins, ends in pairwise(edges):
        middle = (begins + ends) / 2
        if begins < middle < ends and span[0] < middle < span[1]:
            covered = any(a < middle < b for a, b in [*taken, *left])
            assert covered


@settings(deadline=None)
@given(
    st.lists(st.tuples(MOMENTS, st.none() | MOMENTS), max_size=6), st.none() | MOMENTS, st.none() | MOMENTS
)
def test_any_rows_are_drawn_inside_the_axis(calls, answered, ended):
    rows = [call(start, end) for start, end in calls]
    drawn = draw(turn(answered=answered, ended=ended), rows, after(2_000))
    for lane in drawn.lanes:
        for bar in lane.bars:
            left, width = float(bar.left[:-1]), float(bar.width[:-1])
            assert 0 <= left <= 100
            assert width >= 0
            assert left + width <= 100.02
