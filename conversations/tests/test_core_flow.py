"""Most of what a call says takes a short way through the core, which must lead to the same place."""

from hypothesis import example, given
from hypothesis import strategies as st

from conversations.core import events as e
from conversations.core.markers import MarkerParser, Speech
from conversations.core.turn import Machine
from conversations.tests import speech_events as ga
from conversations.tests.core_play import PROFILE, marker, setup

PIECES = st.sampled_from(
    ["Yes. ", " the", "Vocero", "mcp", "a", "<", "<<", "_", "4", " ", "", "</think>", "<think>", marker()[:9]]
) | st.text(max_size=6)
SAID = st.lists(
    st.tuples(st.just("text"), st.sampled_from("ab"), PIECES)
    | st.tuples(st.just("audio"), st.sampled_from("ab"), st.sampled_from([0.0, 20.0, 20.0, 20.0]))
    | st.tuples(st.sampled_from(["speech", "lost", "cancel", "other", "done", "asks"]), st.none(), st.none()),
    max_size=24,
)


class LongWay(Machine):
    """Takes no short way."""

    def __init__(self, of):
        super().__init__(of)
        self._service.flow = lambda _event, _now: None


def events(said):
    yield e.ResponseStarted("r1", "r1 begins")
    for number, (kind, item, value) in enumerate(said):
        frame = f"{kind} {number}"
        match kind:
            case "text":
                yield e.TextDelta("r1", item, 0, value, frame, True)
            case "audio":
                yield e.AudioDelta("r1", item, 0, value, frame)
            case "speech":
                yield e.SpeechStarted(frame, "s1")
            case "lost":
                yield e.BrowserLost()
            case "cancel":
                yield e.CancelAsked()
            case "asks":
                yield e.CreateAsked({})
            case "other":
                yield e.TextDelta("r2", item or "c", 0, "Well. ", frame)
            case "done":
                yield e.ResponseDone("r1", "completed", "", (), frame)


# Sound of a part goes on after its text was left for another's: more of that text does not.
LEFT = [("text", "b", "Yes. "), ("audio", "a", 20.0), ("audio", "a", 20.0), ("text", "a", "the")]


@PROFILE
@given(SAID)
@example(LEFT)
def test_the_short_way_has_the_effects_of_the_long_one(said):
    short, long = Machine(setup()), LongWay(setup())
    for number, event in enumerate(events([("text", "a", "Well, "), ("audio", "a", 20.0), *said])):
        now = 100.0 + number / 4
        assert short.handle(event, now) == long.handle(event, now), event
    assert short.handle(e.Ended("end"), 200.0) == long.handle(e.Ended("end"), 200.0)
    assert short.history == long.history


def test_the_short_way_is_taken_once_an_answer_is_under_way():
    machine, taken = Machine(setup()), []
    whole = machine._service.flow
    machine._service.flow = lambda event, now: taken.append(whole(event, now)) or taken[-1]
    for event in events(
        [("text", "a", "Well, "), ("audio", "a", 20.0), ("text", "a", "yes. "), ("audio", "a", 20.0)]
    ):
        machine.handle(event, 100.0)
    assert [bool(way) for way in taken] == [False, False, True, True]


@PROFILE
@given(st.lists(PIECES, max_size=8))
def test_a_piece_that_passes_at_once_is_speech_to_its_last_letter(pieces):
    quick, slow = MarkerParser(), MarkerParser()
    for piece in pieces:
        if quick.passes(piece):
            assert slow.feed(piece) == ([Speech(piece)] if piece else [])
        else:
            assert quick.feed(piece) == slow.feed(piece)
    assert quick.finish() == slow.finish()
    assert quick.dropped == slow.dropped


def test_pieces_of_ordinary_talk_pass_at_once():
    parser = MarkerParser()
    words = ga.pieces_of("It is seven point four milligrams per liter, in cage four. ", 12)
    assert all(parser.passes(word) for word in words)
