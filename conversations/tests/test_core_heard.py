"""What was heard, recorded, recalled and asked for again."""

import pytest

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    Play,
    R,
    an_answer,
    assert_nothing_sent,
    assert_turn_ended,
    marker,
)
from conversations.tests.speech_dialects import BARE, PIPELINES

pytestmark = pytest.mark.every_dialect


@pytest.fixture
def play():
    return Play()


@pytest.fixture
def answering():
    return an_answer()


def cuts(play):
    """What the service was told to cut: (item id, content index, milliseconds)."""
    return [(one.item_id, one.content_index, one.audio_end_ms) for one in play.of(fx.Truncate)]


# ---- what was heard


def test_a_cut_answer_is_recorded_up_to_what_was_played(answering):
    answering.happens(e.Played(f"item_of_{R}", 600))
    answering.begins_to_speak()
    assert_turn_ended(answering, "interrupted", heard_text="The oxygen")


def test_an_answer_of_which_nothing_was_played_was_not_heard(answering):
    answering.begins_to_speak()
    answering.happens(e.Played(f"item_of_{R}", 0))
    assert answering.ended_turns[-1].heard_text == ""
    assert [said.role for said in answering.machine.history] == ["caller"]


def test_what_is_played_after_the_turn_ended_corrects_the_record_and_the_history(answering):
    """The service is done long before the caller has heard it all."""
    answering.ends_response(R)
    answering.happens(e.Played(f"item_of_{R}", 300))
    assert answering.ended_turns[-1].heard_text == "The oxygen is eight."
    answering.begins_to_speak()
    answering.happens(e.Played(f"item_of_{R}", 600))
    assert answering.ended_turns[-1].heard_text == "The oxygen"
    assert answering.machine.history[-1].text == "The oxygen"


def test_what_was_played_before_the_service_was_lost_corrects_the_record_after_it(answering):
    answering.happens(e.UpstreamLost())
    answering.machine.recall(answering.machine.history)
    answering.happens(e.Played(f"item_of_{R}", 600))
    assert answering.ended_turns[-1].heard_text == "The oxygen"
    assert answering.machine.history[-1].text == "The oxygen"


def test_an_item_behind_the_one_that_was_cut_was_not_heard(answering):
    answering.writes(R, "And so on.", item_id="later")
    answering.sounds(R, 500, item_id="later")
    answering.begins_to_speak()
    answering.happens(e.Played(f"item_of_{R}", 600))
    assert answering.ended_turns[-1].heard_text == "The oxygen"


@pytest.mark.parametrize(("asked", "played", "sent"), [(5_000, None, 1_200), (700, None, 700), (-5, None, 0)])
def test_a_truncation_goes_no_further_than_what_was_sent_case_016(answering, asked, played, sent):
    answering.ends_response(R)
    answering.look_away()
    answering.happens(e.TruncateAsked(f"item_of_{R}", 0, asked))
    assert cuts(answering) == [(f"item_of_{R}", 0, sent)]


def test_a_truncation_goes_no_further_than_what_was_played_case_016(answering):
    answering.happens(e.Played(f"item_of_{R}", 800), e.TruncateAsked(f"item_of_{R}", 0, 5_000))
    assert cuts(answering) == [(f"item_of_{R}", 0, 800)]


@pytest.mark.parametrize(("lie", "heard"), [(10**9, 1_200), (-5, 0)])
def test_a_report_that_lies_counts_for_no_more_than_was_sent_by_then_case_016(answering, lie, heard):
    answering.happens(e.Played(f"item_of_{R}", lie))
    answering.sounds(R, 2_000)
    answering.happens(e.TruncateAsked(f"item_of_{R}", 0, 3_000))
    assert cuts(answering) == [(f"item_of_{R}", 0, heard)]


def test_there_is_nothing_to_truncate_in_what_was_not_spoken(play):
    play.types("Hello.")
    play.responds("Hello.", "text")
    play.look_away()
    play.happens(e.TruncateAsked("item_1", 0, 500), e.TruncateAsked("nonsense", 0, 500), e.Played("x", 1))
    assert_nothing_sent(play)
    assert_turn_ended(play, "done", heard_text="Hello.")


# ---- questions for items


@pytest.mark.except_in(*BARE, because="these services give a call no item of its own")
def test_hidden_items_answer_as_if_they_did_not_exist(play):
    play.types("What about cage four?")
    play.responds(ga.Calls.one("get_report"))
    play.tool_ends()
    output = play.of(fx.SendItem)[-1].item["id"]
    play.look_away()
    for item_id in ("item_1", output):
        play.happens(e.RetrieveAsked(item_id))
    assert_nothing_sent(play)
    assert play.told == [("conversation.item.retrieved", {"item": None})] * 2


@pytest.mark.except_in(*PIPELINES, because="these services are asked for no items")
@pytest.mark.parametrize("names_it", [True, False])
def test_a_question_for_an_item_is_never_an_error(play, names_it):
    play.happens(e.RetrieveAsked("item_9"))
    (question,) = play.sent
    play.complains("unknown_event", question if names_it else None)
    assert play.told == [("conversation.item.retrieved", {"item": None})]


@pytest.mark.except_in(*PIPELINES, because="these services repeat no items")
def test_an_item_is_shown_again_as_far_as_it_passed(answering):
    answering.writes(R, marker())
    answering.begins_to_speak()
    answering.look_away()
    answering.happens(e.RetrieveAsked(f"item_of_{R}"))
    item = ga.message(f"item_of_{R}", "The oxygen is eight." + marker())
    answering.service({"type": "conversation.item.retrieved", "item": item})
    assert answering.words == ""
    assert [frame["item"]["content"][0]["transcript"] for frame in answering.seen] == ["The oxygen is eight."]


@pytest.mark.except_in(*PIPELINES, because="these services are asked for no items")
def test_questions_are_bounded(play):
    for number in range(100):
        play.happens(e.RetrieveAsked(f"item_{number}"))
    assert 0 < len(play.sent) < 50
    assert len(play.sent) + len(play.told) == 100
