"""The planner over several turns: choices, follow-ups, pages, chains of tools, and refusals."""

import pytest

from demo.aquaportal.tools import answer
from demo.speech.planner import CallTools, Say, declared
from demo.tests.planner_talk import (
    ADMINISTRATOR,
    METRIC,
    NORTH_REPORTS,
    REPORT,
    TODAY,
    UNASSIGNED,
    assistant,
    call,
    calls_of,
    conversation,
    decided,
    output,
    spoken,
    user,
)
from demo.tests.speech_caller import failed, labelled


def test_repeat_says_the_last_answer_again():
    items, words = conversation(ADMINISTRATOR, "What is the oxygen level in cage four?")
    assert spoken(*items, user("Say that again, please.")) == words


def test_two_cages_are_two_calls_and_one_answer():
    items, words = conversation(ADMINISTRATOR, "Compare the oxygen in cage one and cage five.")
    assert [arguments["request"]["cage_number"] for _, arguments in calls_of(items)] == [1, 5]
    assert "cage 1" in words
    assert "cage 5" in words


def test_a_number_that_is_mended_completes_the_question():
    question, asked = user("What is the oxygen in cage twelve?"), assistant("Which one do you mean?")
    assert decided(question, asked, user("Cage four.")).calls[0].arguments == {
        "request": {"metric": "oxygen", "cage_number": 4}
    }


def test_a_value_that_the_call_needs_is_asked_for_and_the_answer_completes_the_question():
    asked = spoken(user("What is the level in cage two?"))
    assert asked.startswith("Which metric do you mean: oxygen, temperature,")
    decision = decided(user("What is the level in cage two?"), assistant(asked), user("Oxygen, please."))
    assert decision.calls[0].arguments == {"request": {"metric": "oxygen", "cage_number": 2}}


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("The weekly one.", "weekly"),
        ("the third one", "weekly"),
        ("Number three.", "weekly"),
        ("the health report", "health"),
        ("The one from yesterday.", "daily"),
    ],
)
def test_the_answer_to_which_one_is_resolved_among_the_candidates(reply, kind):
    items, words = conversation(ADMINISTRATOR, "Tell me more about the north center report.")
    assert words.endswith("Which one do you mean?")
    items, words = conversation(ADMINISTRATOR, "Tell me more about the north center report.", reply)
    name, arguments = calls_of(items)[-1]
    assert (name, list(arguments["request"])) == (REPORT, ["report_id"])
    assert f"{kind} report of the north center" in words


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("List my podcasts.", "list_podcasts"),
        ("List the latest reports.", "list_reports"),
        ("What is the oxygen level in cage four?", METRIC),
        ("Read the transcript of the latest episode.", "read_podcast_transcript"),
    ],
)
def test_another_question_instead_of_the_answer_is_a_question_of_its_own(question, expected):
    items, _ = conversation(ADMINISTRATOR, "Tell me more about the north center report.", question)
    assert calls_of(items)[-1][0] == expected


def test_an_answer_that_fits_no_candidate_is_asked_again():
    items, _ = conversation(ADMINISTRATOR, "Tell me more about the north center report.")
    assert spoken(*items, user("the purple one")).startswith("Which one do you mean:")


def test_a_place_in_the_list_just_heard_is_that_thing():
    items, _ = conversation(ADMINISTRATOR, "List the latest reports.", "Tell me more about the third one.")
    third = answer("list_reports", {}, ADMINISTRATOR, TODAY)["reports"][2]
    assert calls_of(items)[-1] == (REPORT, {"request": {"report_id": third["report_id"]}})


def test_a_title_that_was_heard_is_recognised():
    items, _ = conversation(
        ADMINISTRATOR, "List my podcasts.", "Read the latest episode of voices of the farm."
    )
    expected = {"podcast_title": "Voices of the Farm", "latest": True}
    assert calls_of(items)[-1] == ("read_podcast_transcript", {"request": expected})


def test_continue_reads_the_next_page_until_there_is_none():
    questions = ["Read the transcript of the latest episode.", "Continue.", "go on", "yes please"]
    items, words = conversation(ADMINISTRATOR, *questions)
    offsets = [arguments["request"].get("offset") for _, arguments in calls_of(items)]
    assert offsets == [None, 2, 4]
    assert words == "There is no more of it."


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("And in cage five?", {"metric": "oxygen", "cage_number": 5}),
        ("What about salinity?", {"metric": "salinity", "cage_number": 4}),
    ],
)
def test_a_follow_up_keeps_what_it_does_not_change(question, expected):
    items, _ = conversation(ADMINISTRATOR, "What is the oxygen level in cage four?", question)
    assert calls_of(items)[-1] == (METRIC, {"request": expected})


def test_what_a_caller_may_not_see_is_refused_in_words():
    _, words = conversation(NORTH_REPORTS, "What is the oxygen level in cage four?")
    assert words == "You have no access to cage 4, because its center is not assigned to you."
    _, words = conversation(UNASSIGNED, "Give me my briefing.")
    assert "no centers assigned" in words


def page(name, description, properties, required=()):
    request = {"type": "object", "properties": properties, "required": list(required)}
    schema = {
        "type": "object",
        "properties": {"request": request},
        "required": ["request"] if required else [],
    }
    return {"type": "function", "name": name, "description": description, "parameters": schema}


CHAIN = declared(
    [
        page("list_podcasts", "List my podcasts.", {}),
        page(
            "get_podcast",
            "Get one podcast and its episodes.",
            {"podcast_id": {"type": "string", "description": "The id, as list_podcasts gives it."}},
            ["podcast_id"],
        ),
        page(
            "read_podcast_transcript",
            "Read the transcript of an episode.",
            {
                "episode_id": {
                    "type": "string",
                    "description": "The id of an episode, as get_podcast gives it.",
                }
            },
            ["episode_id"],
        ),
    ]
)
CHAIN_RESULTS = {
    "list_podcasts": {
        "podcasts": [
            {"podcast_id": "p1", "title": "Net Effect", "updated": "2026-07-01"},
            {"podcast_id": "p2", "title": "Deep Water", "updated": "2026-08-01"},
        ]
    },
    "get_podcast": {
        "episodes": [
            {"episode_id": "e1", "title": "Old boats", "date": "2026-06-01"},
            {"episode_id": "e2", "title": "Fresh fish", "date": "2026-08-01"},
        ]
    },
    "read_podcast_transcript": {"speech": "Welcome."},
}


def chained(*questions):
    items, words = [], ""
    for question in questions:
        items.append(user(question))
        while isinstance(decision := decided(*items, tools=CHAIN), CallTools):
            (made,) = decision.calls
            call_id = f"c{len(items)}"
            items += [
                call(made.name, made.arguments, call_id),
                output(labelled(made.name, CHAIN_RESULTS[made.name]), call_id),
            ]
        words = decision.text
        items.append(assistant(words))
    return [
        (name, next(iter(arguments.get("request", {}).values()), None)) for name, arguments in calls_of(items)
    ], words


def test_ids_that_only_another_tool_knows_are_fetched_first():
    assert chained("Read the transcript of the latest episode.") == (
        [("list_podcasts", None), ("get_podcast", "p2"), ("read_podcast_transcript", "e2")],
        "Welcome.",
    )


def test_a_choice_within_a_chain_is_put_to_the_caller_and_goes_on_from_there():
    first, words = chained("Read the transcript from Net Effect.")
    assert first == [("list_podcasts", None), ("get_podcast", "p1")]
    assert words == "Which one do you mean: Old boats or Fresh fish?"
    then, words = chained("Read the transcript from Net Effect.", "The fresh one.")
    assert then[2:] == [("read_podcast_transcript", "e2")]
    assert words == "Welcome."


def test_a_question_makes_four_calls_at_most():
    items = [user("Read the transcript of the latest episode.")]
    for number in range(4):
        items += [
            call("list_podcasts", {}, f"c{number}"),
            output(labelled("list_podcasts", CHAIN_RESULTS["list_podcasts"]), f"c{number}"),
        ]
    assert isinstance(decided(*items, tools=CHAIN), Say)


def test_a_marker_turn_is_read_back_from_messages():
    written = '<<<VOCERO_MCP_CALL:NAME=get_metric_history,ARGUMENTS={"request":{"metric":"oxygen"}}>>>'
    asked = (user("What is the oxygen level?"), assistant(written))
    assert spoken(*asked, user(labelled(METRIC, {"speech": "It is 8.2."}))) == "It is 8.2."
    assert spoken(*asked, user(failed("forbidden", "No access."))) == "No access."
    system = {
        "type": "message",
        "role": "system",
        "content": [{"text": labelled(METRIC, {"speech": "It is 9."})}],
    }
    assert spoken(*asked, system) == "It is 9."
    followed = decided(*asked, user(labelled(METRIC, {"speech": "It is 8.2."})), user("And in cage five?"))
    assert followed.calls[0].arguments == {"request": {"metric": "oxygen", "cage_number": 5}}
