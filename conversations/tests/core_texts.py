"""Texts that a model might write, and every way to cut them into pieces."""

import itertools

from hypothesis import strategies as st

from conversations.tests.core_play import marker

FRAGMENTS = st.sampled_from(
    [
        marker(arguments="{}"),
        marker("a", '{"x":"}>>>","y":{}}'),
        marker("a", "{}", "APIPILOT_CALL"),
        "<<<VOCERO_MCP_CALL:NAME=",
        "<<<VOCERO",
        "VOCERO_MCP_CALL",
        "vocero_",
        "Vocero",
        "mcp_call",
        "apıpilot_call",
        "<",
        "<<",
        "<" * 33,
        ">>>",
        "<think>",
        "</think>",
        "<thinK>",
        " ",
        "\n",
        '{"a":"',
        "\\",
        '"}',
        ",ARGUMENTS={}",
        "İ",
    ]
)
TEXTS = st.lists(FRAGMENTS | st.text(max_size=6), max_size=7).map("".join)


@st.composite
def chunked(draw, texts=TEXTS):
    """A text and one way to cut it into pieces."""
    text = draw(texts)
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=12)))
    edges = [0, *[cut for cut in cuts if cut < len(text)], len(text)]
    return text, [text[start:end] for start, end in itertools.pairwise(edges)]


def pieces_of(text, size):
    return [text[start : start + size] for start in range(0, len(text), size)]
