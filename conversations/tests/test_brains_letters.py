"""Characters that a model's server cut in half."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.brains.letters import Letters


def said(pieces):
    letters = Letters()
    return "".join([*map(letters.take, pieces), letters.rest()])


def halves(text):
    """The text in pieces of one UTF-16 unit."""
    units = text.encode("utf-16-le")
    return [chr(units[i] | units[i + 1] << 8) for i in range(0, len(units), 2)]


@given(st.text(st.sampled_from("a á🎣🐟𝄞\ufffd\x00")))
def test_a_text_cut_anywhere_is_said_whole(text):
    assert said(halves(text)) == text
    assert said([text]) == text


@given(st.lists(st.text(st.characters(categories=["L", "Cs"]))))
def test_whatever_comes_can_be_sent(pieces):
    said(pieces).encode()


@pytest.mark.parametrize("pieces", [["a\ud83c", "b"], ["a", "\udf78b"], ["a\ud83cb"]])
def test_half_a_character_is_told_as_one_that_is_not_known(pieces):
    assert said(pieces) == "a\ufffdb"


def test_only_half_a_character_is_kept_back():
    letters = Letters()
    assert (letters.take("ab"), letters.take("c\ud83c"), letters.take("\udf78")) == ("ab", "c", "🍸")
