"""Phone numbers in every notation."""

import pytest

from conversations.identity import phones


@pytest.mark.parametrize(
    "text",
    [
        "+34600000001",
        " 34600000001",
        "34600000001",
        "0034600000001",
        "+34 600 000 001",
        "+34-600-000-001",
        "+34 (600) 000.001",
        "+34600000001\n",
    ],
)
def test_every_notation_of_a_number_is_one_number(text):
    assert phones.normalised(text) == "+34600000001"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "+",
        "12345",
        "+0600000001",
        "+3460000000112345",
        "6x",
        "++34600000001",
        "+34６00000001",
        "' OR 1",
    ],
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="international form"):
        phones.normalised(text)


def test_a_refused_number_is_not_repeated():
    with pytest.raises(ValueError, match="international form") as refused:
        phones.normalised("+0600000001")
    assert "0600000001" not in str(refused.value)
