"""What one turn may use: attempts, repeats, code points."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.core.policy import LEAST_ROOM, REPEATABLE, Allowance, Limits
from conversations.tests.core_play import PROFILE


@pytest.fixture
def allowance():
    return Allowance(Limits())


def test_six_attempts_and_no_seventh(allowance):
    assert [allowance.attempt() for _ in range(7)] == [True] * 6 + [False]
    assert allowance.spent


def test_a_result_may_be_64_000_code_points_and_a_turn_96_000(allowance):
    assert allowance.admit("a", "1") == ("", 64_000)
    allowance.ended("a", "1", "", 64_000)
    assert allowance.admit("b", "2") == ("", 32_000)
    allowance.ended("b", "2", "", 30_001)
    assert allowance.admit("c", "3") == ("result_budget", 0), "under 2,000 are left"


def test_what_a_result_did_not_fill_is_left_for_the_next(allowance):
    allowance.admit("a", "1")
    allowance.ended("a", "1", "", 500)
    assert allowance.admit("b", "2") == ("", 64_000)


def test_the_same_call_runs_once_a_turn(allowance):
    assert allowance.admit("a", "same")[0] == ""
    assert allowance.admit("b", "same")[0] == "duplicate_call", "also while it runs"
    allowance.ended("a", "same", "", 10)
    assert allowance.admit("c", "same")[0] == "duplicate_call"
    assert allowance.admit("d", "other")[0] == ""


@pytest.mark.parametrize("code", sorted(REPEATABLE))
def test_a_call_is_repeated_once_after_a_failure_of_the_line(allowance, code):
    allowance.admit("a", "same")
    allowance.ended("a", "same", code, 10)
    assert allowance.admit("b", "same")[0] == ""
    allowance.ended("b", "same", code, 10)
    assert allowance.admit("c", "same")[0] == "duplicate_call"


@pytest.mark.parametrize("code", ["forbidden", "tool_error", "invalid_arguments", "internal", "cancelled"])
def test_any_other_failure_is_not_repeated(allowance, code):
    allowance.admit("a", "same")
    allowance.ended("a", "same", code, 10)
    assert allowance.admit("b", "same")[0] == "duplicate_call"


def test_a_result_of_the_browser_s_counts_like_any_other(allowance):
    assert allowance.bring(64_000)
    assert not allowance.bring(64_001)
    assert allowance.bring(32_000)
    assert not allowance.bring(1)
    assert allowance.admit("a", "1") == ("result_budget", 0)


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 64_000), st.integers(0, 5)), max_size=30)


@PROFILE
@given(STEPS)
def test_calls_side_by_side_never_get_more_room_than_the_turn_has(steps):
    """Results begin and end in any order; each fills its room as far as it likes."""
    limits = Limits()
    allowance = Allowance(limits)
    running, used = {}, 0
    for number, (begins, wanted, which) in enumerate(steps):
        if begins or not running:
            code, room = allowance.admit(f"call {number}", f"digest {number}")
            assert (code, room) == ("result_budget", 0) or room >= LEAST_ROOM
            assert room <= limits.result_chars
            if not code:
                running[f"call {number}"] = (f"digest {number}", room)
        else:
            call_id = sorted(running)[which % len(running)]
            digest, room = running.pop(call_id)
            used += min(wanted, room)
            allowance.ended(call_id, digest, "", min(wanted, room))
        assert used + sum(room for _, room in running.values()) <= limits.turn_result_chars


@PROFILE
@given(st.integers(1, 6))
def test_six_calls_side_by_side_all_get_room(together):
    allowance = Allowance(Limits())
    assert all(allowance.admit(str(one), str(one))[0] == "" for one in range(together))
