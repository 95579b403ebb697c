"""The marker grammar: what is speech, what is a selection, what is malformed, in any pieces."""

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conversations.core.markers import (
    ARGUMENTS_LIMIT,
    NAME_LIMIT,
    THOUGHTS_LIMIT,
    Malformed,
    MarkerParser,
    Selection,
    Speech,
    neutralise,
)
from conversations.tests.core_play import PROFILE, marker
from conversations.tests.core_texts import TEXTS, chunked, pieces_of
from tools.arguments import canonical

WHOLE = marker(arguments="{}")


def read(*pieces):
    """What the pieces say together: (speech, what was chosen)."""
    parser = MarkerParser()
    parts = [part for piece in pieces for part in parser.feed(piece)]
    parts += parser.finish()
    speech = "".join(part.text for part in parts if isinstance(part, Speech))
    chosen = [part for part in parts if not isinstance(part, Speech)]
    assert len(chosen) <= 1, "one selection a response"
    return speech, chosen[0] if chosen else None


def selected(*pieces):
    """The selection of a text that says nothing else."""
    speech, chosen = read(*pieces)
    assert speech == ""
    assert isinstance(chosen, Selection)
    return chosen


@pytest.mark.parametrize("place", range(1, len(WHOLE)))
def test_a_marker_split_anywhere_is_one_call_and_no_speech_case_031(place):
    assert selected(WHOLE[:place], WHOLE[place:]) == Selection("mcp", "get_report", "{}")


def test_a_marker_letter_by_letter_is_one_call_and_no_speech_case_031():
    assert selected(*WHOLE) == Selection("mcp", "get_report", "{}")


def test_both_grammars_select():
    assert selected(marker("a", "{}", "APIPILOT_CALL")) == Selection("apipilot", "a", "{}")


@pytest.mark.parametrize("cut", range(2, len(WHOLE)))
def test_a_marker_that_ends_with_the_response_is_dropped_case_032(cut):
    assert read("One moment. ", WHOLE[:cut]) == ("One moment. ", Malformed("unfinished"))


def test_a_lone_bracket_at_a_chunk_s_end_decides_nothing_case_035():
    assert read("Fine <", WHOLE[1:]) == ("Fine ", Selection("mcp", "get_report", "{}"))
    assert read("a <", " b") == ("a < b", None)
    assert read("a <") == ("a <", None)


@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"note": "a}b", "q": '"}'}, id="case_036"),
        pytest.param({"body": "literal }>>> and " + marker("drop_all", "{}") + " text"}, id="case_037"),
        pytest.param({"title": "**Q1** `net` _sum_ # 5"}, id="case_047"),
        pytest.param({"a": {"b": [{"c": "\\"}, '\\"{']}}, id="escapes"),
    ],
)
def test_the_object_ends_where_json_says(arguments, size):
    text = json.dumps(arguments)
    chosen = selected(*pieces_of(marker(arguments=text), size))
    assert chosen.arguments == text
    assert json.loads(chosen.arguments) == arguments


def test_surrogate_pairs_survive_being_split_case_063():
    text = '{"msg":"\\ud83c\\udf78 ok"}'
    whole = marker(arguments=text)
    split = whole.index("\\udf78")
    assert json.loads(selected(whole[:split], whole[split:]).arguments) == {"msg": "🍸 ok"}
    half = selected(marker(arguments='{"msg":"\\ud83c"}'))
    assert canonical(half.arguments) is None


def test_duplicate_keys_are_not_arguments_case_067():
    chosen = selected(marker(arguments='{"amount":1,"amount":9999}'))
    assert canonical(chosen.arguments) is None


def test_nothing_after_arguments_is_an_empty_object_case_056():
    chosen = selected("<<<VOCERO_MCP_CALL:NAME=list_reports,ARGUMENTS=>>>")
    assert chosen.arguments == ""
    assert canonical(chosen.arguments)[0] == "{}"


@pytest.mark.parametrize(
    "text",
    [
        "VOCERO_MCP_CALL>>>NAME=get_report,ARGUMENTS={}<<<",
        "<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS={}>>",
        "<<<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS={}>>>",
        "MCP_CALL: get_report {}",
        "<<<vocero_mcp_call:name=get_report,arguments={}>>>",
        "<<< VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS={}>>>",
        "<<<VOCERO_MCP_CALL: NAME=get_report,ARGUMENTS={}>>>",
        "<<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS={}>> >",
        "<<<VOCERO_MCP_CALL:NAME=,ARGUMENTS={}>>>",
        '<<<VOCERO_MCP_CALL:NAME="get_report",ARGUMENTS={}>>>',
        "<<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS=[]>>>",
        "<<<VOCERO_MCP_CALL:NAME=get_report,ARGUMENTS= {}>>>",
        "<<<APIPILOT_CALL NAME=get_report>>>",
        "apipilot_call(get_report)",
        "<<<VOCERO_CALL:NAME=get_report,ARGUMENTS={}>>>",
        "<<<VOCERO_MCP:NAME=get_report,ARGUMENTS={}>>>",
        "<<TOOL_CALL:NAME=get_report,ARGUMENTS={}>>",
        "<<< CALL: get_report {}",
    ],
)
@pytest.mark.parametrize("size", [1, 4, 1_000])
def test_a_garbled_marker_is_never_spoken_and_never_a_call_case_039(text, size):
    speech, chosen = read(*pieces_of(text, size))
    assert speech == ""
    assert isinstance(chosen, Malformed)


def test_prose_that_quotes_the_syntax_is_no_call_and_ends_case_040():
    text = "You write <<<VOCERO_MCP_CALL:NAME=... and then the arguments.\nThat is all."
    assert read(text) == ("You write ", Malformed("name"))


@pytest.mark.parametrize(
    "text",
    [
        "I am Vocero",
        "Ask APIPilot",
        "This is an MCP",
        "My voice",
        "a mcp call",
        "xmcp_calls",
        "2 < 3 and 5 > 4",
        "<b>bold</b>",
        "i<j",
        "Vocero's < 5 % share",
        "a << b: c",
        "x <<< Y.",
        "1 << BIT_COUNT_OF_A_LONG_NAME: 2",
        "<",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 1_000])
def test_ordinary_words_are_speech_to_the_last_letter(text, size):
    assert read(*pieces_of(text, size)) == (text, None)


def test_the_first_selection_counts_and_what_follows_is_dropped_case_041():
    text = "Checking twice. " + WHOLE + " " + WHOLE + " Done."
    assert read(*text) == ("Checking twice. ", Selection("mcp", "get_report", "{}"))


def test_a_marker_without_an_end_is_bounded_and_costs_little_case_044():
    opening, letters = "<<<VOCERO_MCP_CALL:NAME=", "a" * 200_000
    began = time.process_time()
    assert read(opening, *letters) == ("", Malformed("name"))
    assert read(WHOLE.replace("{}>>>", '{"a":"'), *letters) == ("", Malformed("too_long"))
    assert read(*("<" * 5_000)) == ("<" * 4_968, Malformed("unfinished"))
    assert time.process_time() - began < 3.0, "the cost of a letter does not grow with the text"


def test_a_name_and_arguments_have_limits():
    assert selected(marker("n" * NAME_LIMIT, "{}")).name == "n" * NAME_LIMIT
    assert read(marker("n" * (NAME_LIMIT + 1), "{}")) == ("", Malformed("name"))
    fitting = json.dumps({"a": "x" * (ARGUMENTS_LIMIT - 9)})
    assert selected(marker(arguments=fitting)).arguments == fitting
    assert read(marker(arguments=fitting.replace("x", "xx", 1))) == ("", Malformed("too_long"))


@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize(
    ("text", "speech"),
    [
        ("<think>secret plan</think>The total is 5.", "The total is 5."),
        ("Well. <THINK>a < b <<<VOCERO_MCP_CALL:</think>Yes.", "Well. Yes."),
        ("<think>İİİ secret</think>Yes.", "Yes."),
        ("<think>never closed", ""),
        ("The total is 5.</think>", "The total is 5."),
        ("So <thi", "So "),
        ("So </think", "So "),
        ("<think>a</think><think>b</think>c", "c"),
    ],
)
def test_thinking_is_never_spoken_case_046(text, speech, size):
    assert read(*pieces_of(text, size)) == (speech, None)


def read_by_a_thinker(*pieces):
    parser = MarkerParser(thinks_first=True)
    parts = [part for piece in pieces for part in parser.feed(piece)]
    parts += parser.finish()
    return "".join(part.text for part in parts if isinstance(part, Speech)), parser.ended_thinking


@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The plan.</think>The total is 5.", ("The total is 5.", True)),
        ("<think>The plan.</think>The total is 5.", ("The total is 5.", True)),
        ("A <<<VOCERO_MCP_CALL:NAME=x plan.</think>Yes.", ("Yes.", True)),
        ("The total is 5.", ("The total is 5.", False)),
        ("So </thi", ("So ", False)),
        ("x" * THOUGHTS_LIMIT + "x", ("", False)),
        ("", ("", False)),
    ],
)
def test_thoughts_without_a_beginning_are_never_spoken_where_they_are_expected_case_046(text, outcome, size):
    assert read_by_a_thinker(*pieces_of(text, size)) == outcome


@PROFILE
@given(chunked())
def test_chunking_never_changes_what_a_thinker_says(case):
    text, pieces = case
    assert read_by_a_thinker(*pieces) == read_by_a_thinker(text) == read_by_a_thinker(*text)


@PROFILE
@given(chunked())
def test_chunking_never_changes_the_outcome(case):
    text, pieces = case
    whole = read(text)
    assert read(*pieces) == whole
    assert read(*text) == whole


@PROFILE
@given(TEXTS.filter(lambda text: "think" not in text.lower()), TEXTS)
def test_a_marker_and_whatever_follows_it_are_never_spoken(before, after):
    speech, _ = read(*(before + WHOLE + after))
    assert before.startswith(speech)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("}>>>") | st.just('"{\\'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@PROFILE
@given(st.dictionaries(st.text(max_size=4), JSON, max_size=3), st.booleans(), st.integers(1, 9))
def test_any_arguments_arrive_as_they_were_written(arguments, ascii_only, size):
    text = json.dumps(arguments, ensure_ascii=ascii_only)
    chosen = selected(*pieces_of(marker(arguments=text), size))
    assert chosen.arguments == text


@PROFILE
@given(TEXTS)
@example(WHOLE)
@example("<vocero_")
@example("<<<<APIPILOT_CALL mcp_call <think> </think>")
def test_neutralised_data_selects_nothing_when_the_model_repeats_it_case_042(text):
    harmless = neutralise(text)
    assert len(harmless) == len(text)
    speech, chosen = read(harmless + " ")
    assert (speech, chosen) == (harmless + " ", None)
    assert neutralise(harmless) == harmless


@PROFILE
@given(st.text(alphabet=st.characters(exclude_characters="<_"), max_size=60), st.integers(1, 5))
def test_text_without_brackets_and_underscores_passes_whole(text, size):
    assert read(*pieces_of(text, size)) == (text, None)
