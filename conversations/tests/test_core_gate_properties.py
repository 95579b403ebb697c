"""Any text in any pieces, with audio anywhere between: what passes is the same."""

import json

from hypothesis import given
from hypothesis import strategies as st

from conversations.core import effects as fx
from conversations.core import events as e
from conversations.core.gate import Gate
from conversations.core.markers import MarkerParser, Selection
from conversations.tests import speech_events as ga
from conversations.tests.core_play import (
    PROFILE,
    Play,
    R,
    assert_no_marker_seen,
    marker,
)
from conversations.tests.core_texts import chunked

ANSWERS = st.lists(
    st.sampled_from(["Yes. ", "2 < 3 ", "Vocero ", "<", "mcp", "\n"]) | st.text(max_size=8), max_size=4
).map("".join)
MARKED = st.tuples(ANSWERS, st.just(marker()), ANSWERS).map("".join)


@st.composite
def interleaved(draw, texts):
    """The pieces of one text in order, with pieces of audio (None) anywhere between."""
    text, pieces = draw(chunked(texts))
    spread = list(pieces)
    for _ in range(draw(st.integers(0, 6))):
        spread.insert(draw(st.integers(0, len(spread))), None)
    return text, spread


def passed(spread):
    """What a gate lets through: (effects, selection), without its structure."""
    gate = Gate(MarkerParser())
    results = []
    for number, piece in enumerate(spread):
        if piece is None:
            results.append(gate.audio(e.AudioDelta(R, "i", 0, 20, f"audio {number}")))
        else:
            results.append(gate.text(e.TextDelta(R, "i", 0, piece, f"text {number}")))
    results.append(gate.finish())
    effects = [effect for result in results for effect in result.effects]
    return gate, effects, next((result.selection for result in results if result.selection), None)


def spoken(effects, spread):
    texts = {f"text {number}": piece for number, piece in enumerate(spread)}
    shown = [effect for effect in effects if not effect.frame.startswith("audio")]
    return "".join(one.delta if isinstance(one, fx.ShowDelta) else texts[one.frame] for one in shown)


@PROFILE
@given(interleaved(ANSWERS.filter(lambda text: "<<" not in text and "_" not in text)))
def test_an_answer_without_a_marker_passes_whole_with_all_its_audio_in_order(case):
    text, spread = case
    gate, effects, selection = passed(spread)
    assert selection is None
    assert spoken(effects, spread) == text == gate.kept.of(("i", 0))
    audio = [one.frame for one in effects if one.frame.startswith("audio")]
    assert audio == [f"audio {number}" for number, piece in enumerate(spread) if piece is None]


@PROFILE
@given(interleaved(MARKED))
def test_no_audio_passes_from_a_marker_s_first_letter_on(case):
    text, spread = case
    gate, effects, selection = passed(spread)
    start = text.index("<<<VOCERO")
    assert selection is not None
    assert text[:start].startswith(spoken(effects, spread))
    assert gate.kept.of(("i", 0)) == spoken(effects, spread)
    place = 0
    for number, piece in enumerate(spread):
        place += len(piece or "")
        if piece is None and place > start:
            assert f"audio {number}" not in [effect.frame for effect in effects]


@PROFILE
@given(interleaved(MARKED | ANSWERS))
def test_chunking_changes_neither_the_words_nor_the_selection(case):
    text, spread = case
    _, effects, selection = passed(spread)
    _, whole_effects, whole_selection = passed([text])
    assert spoken(effects, spread) == spoken(whole_effects, [text])
    assert selection == whole_selection
    assert selection is None or isinstance(selection, Selection) or text != ""


@PROFILE
@given(st.lists(chunked(MARKED | ANSWERS), min_size=1, max_size=3), st.data())
def test_every_whole_text_equals_the_deltas_that_passed(parts, data):
    """Over several items, with the service's own whole texts in between, right or wrong."""
    play = Play()
    play.types("Hello.")
    play.begins_response(R)
    play.look_away()
    output = []
    for number, (text, pieces) in enumerate(parts):
        item_id = f"item_{number}"
        for piece in pieces:
            play.writes(R, piece, item_id=item_id)
        told = data.draw(st.sampled_from([text, text + "!", text[:-1], marker()]))
        play.wrote(R, told, item_id=item_id)
        output.append(ga.message(item_id, told))
    play.ends_response(R, output=output)
    assert_whole_texts_equal_deltas(play)


def assert_whole_texts_equal_deltas(play):
    deltas = {}
    for frame in play.seen:
        if frame["type"].endswith("transcript.delta"):
            deltas[frame["item_id"]] = deltas.get(frame["item_id"], "") + frame["delta"]
        if frame["type"].endswith("transcript.done"):
            assert frame["transcript"] == deltas.get(frame["item_id"], "")
        if frame["type"] == "response.done":
            output = [item for item in frame["response"]["output"] if item["content"]]
            told = {item["id"]: item["content"][0]["transcript"] for item in output}
            assert told.items() <= deltas.items()


SOUND = {"audio": "U0VDUkVU"}


@PROFILE
@given(
    st.lists(st.tuples(st.sampled_from("ab"), chunked(MARKED | ANSWERS)), min_size=2, max_size=4), st.data()
)
def test_an_item_that_several_answers_consist_of_shows_no_more_than_passed(parts, data):
    """A service may use an id again; whole items hold the sound of everything, markers included."""
    play, marked = Play(), set()
    for number, (item_id, (text, pieces)) in enumerate(parts):
        if not play.open_turns:
            play.types("Hello.")
        play.begins_response(f"r{number}")
        play.look_away()
        for piece in pieces:
            play.writes(f"r{number}", piece, item_id=item_id)
            play.sounds(f"r{number}", 20, item_id=item_id)
        marked |= {item_id} if "<<<VOCERO" in text else set()
        whole = ga.message(item_id, data.draw(st.sampled_from([text, "Yes. ", marker()])))
        for part in whole["content"]:
            part.update(SOUND)
        place = {"response_id": f"r{number}", "output_index": 0}
        play.service({"type": "response.output_item.done", **place, "item": whole}, *ga.item_events(whole))
        play.service({"type": "conversation.item.retrieved", "item": whole})
        play.ends_response(f"r{number}", output=[whole])
        if item_id in marked:
            assert SOUND["audio"] not in json.dumps(play.seen)
        assert_no_marker_seen(play)
        for call_id in list(play.running):
            play.tool_ends(call_id=call_id)
