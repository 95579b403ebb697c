"""Every tool has a name that model APIs accept, and the call finds back to the tool."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.naming import alias

# OpenAI takes any of these signs in any place, Gemini wants a letter or _ first.
LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_an_alias_is_legal_and_stays_what_it_is(name):
    assert LEGAL.fullmatch(alias(name))
    assert alias(alias(name)) == alias(name)


@given(st.from_regex(LEGAL, fullmatch=True))
def test_a_legal_name_is_its_own_alias(name):
    assert alias(name) == name


@given(st.text(max_size=80), st.text(max_size=80))
def test_different_names_have_different_aliases(one, other):
    assert (alias(one) == alias(other)) is (one == other)


@pytest.mark.parametrize("name", ["calendar.update", "a/b", "my tool", "über", "a\n", "3d_view", "-x"])
def test_what_is_legal_of_a_name_can_still_be_read_case_064(name):
    kept = re.findall("[a-z]+", name)[-1]
    assert kept in alias(name)


def test_long_names_that_begin_alike_are_told_apart_case_065():
    one, other = "x" * 70 + "_left", "x" * 70 + "_right"
    assert alias(one)[:40] == alias(other)[:40] == "x" * 40
    assert alias(one) != alias(other)
