"""The planner alone: which tool, which arguments, which words; pure, so each case is one line."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demo.speech.planner import Say, declared, in_instructions
from demo.tests.planner_talk import (
    METRIC,
    REPORT,
    TOOLS,
    call,
    decided,
    output,
    picked,
    spoken,
    user,
)
from demo.tests.speech_caller import DECLARED, failed, labelled


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("List the latest reports.", ("list_reports", {})),
        ("What is the oxygen level in cage four?", (METRIC, {"metric": "oxygen", "cage_number": 4})),
        ("Give me my briefing.", ("get_my_briefing", {})),
        ("List my podcasts.", ("list_podcasts", {})),
        ("Read the transcript of the latest episode.", ("read_podcast_transcript", {"latest": True})),
        ("Tell me more about the north center report.", (REPORT, {"center": "north center"})),
        ("What's the oxygen in K4?", (METRIC, {"metric": "oxygen", "cage_number": 4})),
        ("How warm is the water in Caj2?", (METRIC, {"metric": "temperature", "cage_number": 2})),
        ("oxygen in cage for", (METRIC, {"metric": "oxygen", "cage_number": 4})),
        (
            "How many fish died in the South Centre?",
            (METRIC, {"metric": "mortality", "center": "south center"}),
        ),
        ("mortality in pen 3 this week", (METRIC, {"metric": "mortality", "cage_number": 3, "days": 7})),
        ("salinty in cage 6", (METRIC, {"metric": "salinity", "cage_number": 6})),
        ("How heavy are the fish in cage 7?", (METRIC, {"metric": "biomass", "cage_number": 7})),
        ("sea lice over the last two weeks", (METRIC, {"metric": "sea_lice", "days": 14})),
        ("Are there any alerts?", ("list_insights", {})),
        (
            "Which alarms are open up north?",
            ("list_insights", {"center": "north center", "severity": "critical"}),
        ),
        ("Any problems with sea lice?", ("list_insights", {"metric": "sea_lice"})),
        ("What's new today?", ("get_my_briefing", {})),
        ("My briefing for the south center, please.", ("get_my_briefing", {"center": "south center"})),
        ("Read the latest report.", (REPORT, {"latest": True})),
        ("Tell me about the latest harvest report.", (REPORT, {"kind": "harvest", "latest": True})),
        (
            "Show me the health reports of the north center",
            ("list_reports", {"center": "north center", "kind": "health"}),
        ),
        ("reports from yesterday", ("list_reports", {"date_from": "yesterday", "date_to": "yesterday"})),
        ("reports since July 20", ("list_reports", {"date_from": "2026-07-20"})),
        ("reports before December 24", ("list_reports", {"date_to": "2025-12-24"})),
        ("the last three reports", ("list_reports", {"limit": 3})),
        ("Tell me about the podcast called Net Effect.", ("get_podcast", {"title": "Net Effect"})),
        ("Read the second episode.", ("read_podcast_transcript", {"episode_number": 2})),
        ("Could you list my reports, please?", ("list_reports", {})),
        ("Reports", ("list_reports", {})),
        ("Podcasts", ("list_podcasts", {})),
    ],
)
def test_a_question_picks_its_tool_and_fills_what_it_names(question, expected):
    assert picked(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Tell me a joke.",
        "What's the weather like in Oslo?",
        "Who won the football?",
        "What time is it?",
        "Book me a flight to Bergen.",
        "How many days until Christmas?",
        "What is my session token?",
    ],
)
def test_an_off_topic_question_calls_nothing_and_offers_what_there_is(question):
    words = spoken(user(question))
    assert words.startswith("I have no tool for that. I can list the latest reports of your centers")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Stop!", "Okay."),
        ("please be quiet", "Okay."),
        ("Thank you very much.", "You are welcome."),
        ("Goodbye", "Goodbye."),
        ("Hello!", "Hello. I can list the latest reports"),
        ("What can you do?", "I can list the latest reports of your centers"),
        ("Help", "I can list the latest reports of your centers"),
        ("Repeat that.", "There is nothing to repeat yet."),
    ],
)
def test_small_talk_needs_no_tool(question, words):
    assert spoken(user(question)).startswith(words)


def test_a_number_out_of_bounds_is_asked_about_and_not_called():
    assert spoken(user("What is the oxygen in cage twelve?")) == (
        "The cage number must be between 1 and 8. Which one do you mean?"
    )


QUESTION = (user("What is the oxygen level in cage four?"), call(METRIC, {"request": {}}))


@pytest.mark.parametrize(
    ("code", "message", "words"),
    [
        ("forbidden", "You do not have access to that", "You do not have access to that."),
        ("unavailable", "AquaPortal does not answer.", "AquaPortal does not answer."),
        ("timeout", "", "That did not work."),
        ("invalid_arguments", "request.metric: 5", "I could not look that up. Please ask it in another way."),
        ("unknown_tool", "no tool x", "I could not look that up. Please ask it in another way."),
    ],
)
def test_a_failure_is_one_plain_sentence(code, message, words):
    assert spoken(*QUESTION, output(failed(code, message))) == words


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"speech": "It is 8.2.", "value": 8.25}, "It is 8.2."),
        ({"title": "Weekly", "id": "x"}, "Weekly"),
        ([{"name": "One"}, {"name": "Two"}], "One; Two"),
        (
            {"metric": "oxygen", "value": 8.2, "unit": "milligrams per liter"},
            "oxygen 8.2 milligrams per liter",
        ),
        ({"count": 3, "report_id": "r"}, "count: 3"),
        ([], "Nothing was found."),
        ("Plain *text* from https://example.org/x here", "Plain text from here"),
    ],
)
def test_a_result_is_quoted_by_its_speech_or_its_own_words(data, words):
    assert spoken(*QUESTION, output(labelled(METRIC, data))) == words


WORDS = st.text("abcdefgh 0123456789.", max_size=12)
LEAVES = st.none() | st.booleans() | st.integers(0, 10**6) | st.floats(0, 99, allow_nan=False) | WORDS
RESULTS = st.recursive(
    LEAVES, lambda part: st.lists(part, max_size=7) | st.dictionaries(WORDS, part, max_size=5)
)


def figures(text):
    return set(re.findall(r"\d+", text))


@settings(deadline=None)
@given(RESULTS)
def test_no_figure_is_ever_invented(data):
    words = spoken(*QUESTION, output(labelled(METRIC, data)))
    counted = re.sub(r"; and \d+ more", "", words)
    assert figures(counted) <= figures(json.dumps(data))


def test_a_long_result_is_cut_between_words_so_that_no_figure_is_halved():
    words = spoken(*QUESTION, output(labelled(METRIC, "x" * 695 + " 239688 more")))
    assert words == "x" * 695 + ". There is more than I can read out."


def test_without_permission_to_call_it_says_so_and_still_speaks_results():
    assert spoken(user("List my podcasts."), may_call=False) == "I cannot look that up just now."
    items = (
        user("List my podcasts."),
        call("list_podcasts", {}),
        output(labelled("list_podcasts", {"speech": "Three."})),
    )
    assert spoken(*items, may_call=False) == "Three."


def test_a_call_that_is_not_answered_yet_is_waited_for():
    assert spoken(user("List my podcasts."), call("list_podcasts", {})) == "One moment, I am still looking."


def test_without_tools_it_is_a_voice_that_says_what_it_cannot_do():
    assert "no tools are connected" in spoken(user("Hello"), tools=())
    assert spoken(user("List my reports."), tools=()).startswith("I heard: List my reports.")


def test_words_that_a_response_is_told_to_say_are_said():
    assert (
        spoken(user("List my podcasts."), order='Say this and nothing else: "One moment."') == "One moment."
    )
    assert spoken(order="Greet the caller.").startswith("Hello.")


def test_instructions_that_merely_quote_something_are_no_order():
    order = 'Answer in short sentences. When a tool fails, say so.\n\nContext: the page is called "Reports".'
    assert spoken(user("Thanks."), order=order) == "You are welcome."


MARKER = (
    "Be brief.\nTo use a tool write "
    '<<<VOCERO_MCP_CALL:NAME=tool_name,ARGUMENTS={"parameter":"value"}>>>\n'
    "Tools, one JSON object a line:\n"
    + "\n".join(
        json.dumps({key: tool[key] for key in ("name", "description", "parameters")}) for tool in DECLARED
    )
    + "\n\n[Page context] nothing"
)


def test_the_catalog_in_the_instructions_is_the_same_as_the_declared_one():
    assert in_instructions(MARKER) == ("VOCERO_MCP_CALL", TOOLS)
    assert in_instructions("Be brief.") == (None, ())


def test_other_tools_than_the_demo_s_are_picked_by_their_own_words():
    tools = declared(
        [
            {
                "type": "function",
                "name": "web_search",
                "description": "Search the web.",
                "parameters": {
                    "type": "object",
                    "properties": {"query": {"type": "string"}},
                    "required": ["query"],
                },
            },
            {"type": "function", "name": "closeGate", "description": "Close a gate.", "parameters": {}},
            {"type": "mcp", "server_label": "ignored"},
        ]
    )
    assert picked("Search the web for salmon.", tools) == (
        "web_search",
        {"query": "salmon"},
    )
    assert picked("Close the gate.", tools) == ("closeGate", {})
    assert isinstance(decided(user("Hello there"), tools=tools), Say)
