"""How much of an answer was heard, and what record, history and the service's own memory hold of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.hearing import MOST_CUTS
from conversations.core.transcript import LETTERS_A_SECOND, Answer, Spoken, heard_part
from conversations.tests.core_play import PROFILE, R, a_question, assert_not_asked, assert_turn_ended
from conversations.tests.speech_dialects import PIPELINES, SENTENCES

pytestmark = [
    pytest.mark.every_dialect,
    pytest.mark.except_in(*SENTENCES, because="these services tell whole sentences, and then their sound"),
]

WORDS = "one two three four five six seven eight nine ten"
ITEM = f"item_of_{R}"


@pytest.fixture
def play():
    return a_question()


def speaks(play, text=WORDS, milliseconds=4_000, response_id=R, **place):
    play.writes(response_id, text, **place)
    play.sounds(response_id, milliseconds, **place)


def heard(play):
    return play.ended_turns[-1].heard_text


def cuts(play):
    return [(one.item_id, one.content_index, one.audio_end_ms) for one in play.of(fx.Truncate)]


def service_cut(play, key):
    play.service({"type": "conversation.item.truncated", "item_id": key[0], "content_index": key[1]})


# ---- how much, as far as anybody knows


@PROFILE
@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["ab", "cde", "日本", "🍸", "x" * 30]), max_size=9).map(" ".join),
    st.floats(0, 1e5),
    st.lists(st.floats(-10, 2e5), min_size=1, max_size=4).map(sorted),
    st.booleans(),
)
def test_what_was_heard_never_exceeds_the_share_that_was_played_and_only_grows(text, audio, played, whole):
    parts = [heard_part(text, audio, ms, whole) for ms in played]
    for ms, part in zip(played, parts, strict=True):
        share = min(max(ms, 0) / audio, 1) if audio > 0 else 0
        assert text.startswith(part)
        assert len(part) <= len(text) * share + 1e-6
        assert whole or len(part) <= max(ms, 0) / 1000 * LETTERS_A_SECOND
        assert not whole or ms < audio or audio == 0 or ms <= 0 or part == text.rstrip()
    assert [len(part) for part in parts] == sorted(len(part) for part in parts)


@PROFILE
@given(st.lists(st.text("abc-'.", min_size=1, max_size=9), min_size=1, max_size=12), st.floats(0, 1))
def test_no_word_is_cut(words, share):
    part = heard_part(" ".join(words), 1_000, 1_000 * share)
    assert part.split() == words[: len(part.split())]


@pytest.mark.parametrize(
    ("text", "part"), [("水温は二十度です", "水温は二"), ("🍸🍸🍸🍸", "🍸🍸"), ("x" * 8, "")]
)
def test_words_without_spaces_are_cut_between_letters_where_a_letter_is_a_word(text, part):
    assert heard_part(text, 1_000, 500) == part


@pytest.mark.parametrize(
    ("text", "played", "audio", "heard"),
    [
        ("Oxygen in cage four is fine today.", 500, 2_000, "Oxygen"),
        ("Oxygen in cage four is fine today.", 1_000, 2_000, "Oxygen in cage"),
        ("日本語です", 500, 1_000, "日本"),
        ("Good 👍🏽 day", 600, 1_000, "Good"),
    ],
)
def test_the_page_shows_the_same_cut_and_never_half_a_character(text, played, audio, heard):
    """conversations/static_tests/heard.test.mjs has the same table."""
    assert heard_part(text, audio, played) == heard


PARTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 900), st.integers(0, 2_000)), max_size=12
)


@PROFILE
@given(
    PARTS, st.integers(0, 5_000), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9_000)), max_size=3)
)
def test_an_answer_is_never_taken_for_heard_further_than_sent_played_and_time_allow(parts, later, reports):
    answer, spoken, now = Answer(), Spoken(whole=True), 100.0
    answer.follow(spoken)
    for item, index, milliseconds, pause in parts:
        spoken.texts.add((f"i{item}", index), "word " * 5, spoken=True)
        spoken.sounded((f"i{item}", index), milliseconds)
        answer.sounds(now)
        now += pause / 1000
    for item, milliseconds in reports:
        answer.played((f"i{item}", 0), milliseconds, now)
    whole = answer.heard()
    now += later / 1000
    answer.cut(now)
    unheard = dict(answer.unheard())
    assert len(answer.heard()) <= len(whole)
    assert all(0 <= milliseconds < answer.sent_ms(key) for key, milliseconds in unheard.items())
    if not reports:
        left = sum(answer.sent_ms(key) - milliseconds for key, milliseconds in unheard.items())
        heard_ms = sum(spoken.audio_ms.values()) - left
        assert heard_ms <= (now - 100.0) * 1000 + 1
    elif later < 3_000:
        item, milliseconds = reports[-1]
        assert unheard.get((f"i{item}", 0), 0) <= milliseconds


def test_without_any_report_it_is_what_time_allows(play):
    speaks(play)
    play.wait(2)
    play.begins_to_speak()
    assert_turn_ended(play, "interrupted", heard_text="one two three four five")


def test_sound_cannot_be_played_before_it_was_sent(play):
    speaks(play, "one two ", 500, item_id="a")
    play.wait(10)
    speaks(play, "three four five six", 4_000, item_id="b")
    play.wait(1.2)
    play.begins_to_speak()
    assert heard(play) == "one two three"


def test_a_second_part_begins_after_the_first(play):
    speaks(play, "First. ", 1_000, item_id="a")
    speaks(play, "Second thing.", 2_000, item_id="b")
    play.wait(2)
    play.begins_to_speak()
    assert heard(play) == "First. Second"


def test_words_that_came_before_their_sound_were_not_heard(play):
    play.writes(R, WORDS)
    play.begins_to_speak()
    assert heard(play) == ""


def test_words_that_are_read_were_read(play):
    play.writes(R, WORDS, kind="output_text")
    play.begins_to_speak()
    assert heard(play) == WORDS


def test_of_words_whose_sound_was_cut_short_no_more_counts_than_anybody_says_in_that_time(play):
    """The words come at once, their sound little by little."""
    speaks(play, WORDS * 9, 1_000)
    play.wait(10)
    play.begins_to_speak()
    assert heard(play) == "one two three four five"


def test_what_was_sent_is_heard_where_the_caller_did_not_stop_it(play):
    """A lost service does not stop what the page still plays."""
    speaks(play)
    play.happens(e.UpstreamLost())
    assert heard(play) == WORDS
    play.happens(e.Played(ITEM, 2_000))
    assert heard(play) == "one two three four five"


def test_parts_of_one_item_are_each_counted(play):
    for index, text in enumerate(("One two. ", "Three four.")):
        play.happens(e.TextDelta(R, ITEM, index, text, '{"type": "text"}', spoken=True))
        play.happens(e.AudioDelta(R, ITEM, index, 1_000, '{"type": "audio"}'))
    play.happens(e.Played(ITEM, 1_000, 0), e.Played(ITEM, 500, 1))
    play.begins_to_speak()
    assert heard(play) == "One two. Three"
    play.happens(e.TruncateAsked(ITEM, 1, 9_999))
    assert cuts(play) == [(ITEM, 1, 500)]


def test_an_old_report_does_not_cut_what_was_played_to_its_end_since(play):
    speaks(play)
    play.ends_response(R)
    play.happens(e.Played(ITEM, 1_000))
    play.wait(60)
    play.begins_to_speak()
    play.wait(5)
    assert play.machine.history[-1].text == WORDS
    assert cuts(play) == []


# ---- what the service remembers


@pytest.mark.except_in(*PIPELINES, because="these services cut nothing")
def test_what_the_client_cuts_is_cut_once(play):
    speaks(play)
    play.begins_to_speak()
    play.happens(e.Played(ITEM, 2_000), e.TruncateAsked(ITEM, 0, 2_000))
    service_cut(play, (ITEM, 0))
    play.wait(5)
    assert cuts(play) == [(ITEM, 0, 2_000)]
    assert play.messages == []


@pytest.mark.except_in(*PIPELINES, because="these services cut nothing")
def test_a_client_that_only_says_what_it_played_has_it_cut(play):
    speaks(play)
    play.begins_to_speak()
    play.happens(e.Played(ITEM, 2_000))
    play.wait(0.6)
    assert cuts(play) == [(ITEM, 0, 2_000)]
    service_cut(play, (ITEM, 0))
    assert play.seen[-1]["type"] == "conversation.item.truncated"
    play.wait(5)
    assert cuts(play) == [(ITEM, 0, 2_000)]
    assert play.messages == []


def test_of_a_client_that_says_nothing_the_answer_is_cut_where_time_says(play):
    speaks(play)
    play.wait(1)
    play.begins_to_speak()
    play.wait(0.6)
    ((_, _, milliseconds),) = cuts(play)
    assert 900 < milliseconds <= 1_010


def test_an_answer_that_was_heard_to_its_end_is_not_cut(play):
    speaks(play)
    play.ends_response(R)
    play.wait(5)
    play.begins_to_speak()
    play.wait(5)
    assert cuts(play) == []


@pytest.mark.parametrize("refuses", ["", "by name", "namelessly"])
def test_a_service_that_does_not_cut_is_told_what_was_heard(play, refuses):
    speaks(play)
    play.begins_to_speak()
    play.happens(e.Played(ITEM, 2_000))
    play.wait(0.6)
    if refuses:
        (cut,) = play.of(fx.Truncate)
        play.complains("invalid_value", cut if refuses == "by name" else None)
    play.wait(0.6)
    (note,) = play.messages
    assert note.endswith("one two three four five")
    assert play.told == []
    assert_not_asked(play)
    play.look_away().acknowledges()
    assert play.seen == []


def test_once_it_is_known_that_a_service_does_not_cut_it_is_told_at_once(play):
    test_a_service_that_does_not_cut_is_told_what_was_heard(play, "")
    play.stops_speaking()
    play.is_understood("And now?")
    play.begins_response("second")
    speaks(play, response_id="second")
    play.look_away()
    play.stops()
    play.wait(0.6)
    assert cuts(play) == []
    assert len(play.messages) == 1


def test_the_note_waits_until_no_turn_has_the_floor(play):
    speaks(play)
    play.types("Something else.")
    play.happens(e.Played(ITEM, 0))
    play.ends_response(R, "cancelled")
    play.look_away().wait(2)
    assert play.messages == []
    play.responds("Yes.")
    (note,) = play.messages
    assert "nothing" in note


def test_a_marker_in_what_was_heard_is_disarmed_case_042():
    play = a_question(plain=True)
    speaks(play, "You write <<<VOCERO_MCP_CALL:NAME=x and so on and on and on", 4_000)
    play.begins_to_speak()
    play.happens(e.Played(ITEM, 3_900))
    play.wait(2)
    assert "VOCERO-MCP-CALL" in play.messages[0]
    assert "<<" not in play.messages[0]


def test_cuts_are_bounded(play):
    for number in range(3 * MOST_CUTS):
        speaks(play, "word", 100, item_id=f"item_{number}")
    play.begins_to_speak()
    play.happens(e.Played("item_0", 50))
    play.wait(5)
    assert len(cuts(play)) == MOST_CUTS


def test_a_new_service_is_told_what_was_heard_and_asked_to_cut_again(play):
    test_a_service_that_does_not_cut_is_told_what_was_heard(play, "")
    play.happens(e.UpstreamLost())
    play.look_away()
    for effect in play.machine.recall(play.machine.history):
        play.perform(effect)
    assert play.messages == ["What about cage four?", "one two three four five"]
    play.types("And now?")
    play.begins_response("second")
    speaks(play, response_id="second")
    play.stops()
    play.wait(0.6)
    assert len(cuts(play)) == 1
