"""The short way for frames: what it takes and what it leaves, however the bytes are cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.protocol import CLIENT, OPEN, SERVER, Protocol

from vocero.frames import Frames, Server

PROPERTY = settings(max_examples=300, deadline=None)
SIZES = (0, 1, 125, 126, 1_400, 65_535, 65_536)

WHOLE = st.builds(lambda text: Frame(Opcode.TEXT, text.encode()), st.text(max_size=200))
PARTS = st.builds(
    Frame,
    st.sampled_from([Opcode.TEXT, Opcode.BINARY, Opcode.CONT]),
    st.binary(max_size=140),
    fin=st.booleans(),
)
CONTROL = st.builds(Frame, st.sampled_from([Opcode.PING, Opcode.PONG]), st.binary(max_size=20))
SENT = st.lists(st.tuples(WHOLE | WHOLE | PARTS | CONTROL, st.sampled_from([True] * 9 + [False])), max_size=8)


class Reader:
    """A server's own parser; `seen` are all frames in order, `short` those that did not come through it."""

    def __init__(self):
        self._parser = Protocol(SERVER, state=OPEN)
        self.seen, self.short, self.idle, self.written = [], [], True, []
        self.frames = Frames(Server(self.parse, lambda: self.idle, self._write))
        self.flows = True

    def parse(self, data):
        if self._parser.parser_exc is None:
            self._parser.receive_data(data)
            self.seen += [(event.opcode, bytes(event.data)) for event in self._parser.events_received()]

    def listens(self):
        self.frames.listen(self._take)
        return self

    def _take(self, text):
        if self._parser.parser_exc is None:
            self.seen.append((Opcode.TEXT, text.encode()))
        self.short.append(text)

    def _write(self, data):
        if self.flows:
            self.written.append(data)
        return self.flows


def wire(sent):
    return b"".join(frame.serialize(mask=masked) for frame, masked in sent)


def texts(*said):
    return wire([(Frame(Opcode.TEXT, one.encode()), True) for one in said])


@PROPERTY
@given(SENT, st.lists(st.integers(1, 30), min_size=1, max_size=12))
def test_a_server_and_its_application_see_the_same_frames_in_the_same_order_however_they_are_cut(sent, cuts):
    whole, cut, data = Reader(), Reader().listens(), wire(sent)
    whole.parse(data)
    place = turn = 0
    while place < len(data):
        step = cuts[turn % len(cuts)] ** 2
        cut.frames.read(data[place : place + step])
        place, turn = place + step, turn + 1
    assert cut.seen == whole.seen


def test_a_whole_text_frame_takes_the_short_way():
    reader = Reader().listens()
    said = ["x" * size for size in SIZES]
    reader.frames.read(texts(*said))
    assert reader.short == said


def test_nothing_is_taken_before_somebody_listens_or_while_the_application_is_behind():
    reader = Reader()
    reader.frames.read(texts("early"))
    reader.listens().idle = False
    reader.frames.read(texts("behind"))
    reader.idle = True
    reader.frames.read(texts("now"))
    assert [data for _, data in reader.seen] == [b"early", b"behind", b"now"]
    assert reader.short == ["now"]


def test_text_that_is_not_utf_8_is_left_to_the_server():
    reader = Reader().listens()
    reader.frames.read(wire([(Frame(Opcode.TEXT, b"\xff\xfe"), True)]))
    assert (reader.seen, reader.short) == ([(Opcode.TEXT, b"\xff\xfe")], [])


def test_text_between_the_parts_of_another_is_left_to_the_server_which_refuses_it():
    reader = Reader().listens()
    begun = Frame(Opcode.TEXT, b"begun", fin=False)
    reader.frames.read(wire([(begun, True)]) + texts("between"))
    assert (reader.seen, reader.short) == ([(Opcode.TEXT, b"begun")], [])


def test_what_looks_like_a_frame_in_the_middle_of_another_is_none():
    reader, inner = Reader().listens(), texts("inner")
    reader.frames.read(b"\x82" + bytes((0x80 | 2 + len(inner),)) + b"\0\0\0\0" + b"ab")
    reader.frames.read(inner)
    assert (reader.seen, reader.short) == ([(Opcode.BINARY, b"ab" + inner)], [])


def test_a_length_that_never_comes_is_kept_nowhere():
    reader, seen = Reader().listens(), []
    reader.frames = Frames(Server(seen.append, lambda: True, lambda _data: True))
    reader.frames.read(b"\x81\xff" + (1 << 62).to_bytes(8) + b"mask")
    for _ in range(10):
        reader.frames.read(b"x" * 1_000)
    assert sum(map(len, seen)) == 14 + 10_000


@pytest.mark.parametrize("size", SIZES)
def test_what_is_offered_is_one_text_frame(size):
    reader, client = Reader(), Protocol(CLIENT, state=OPEN)
    assert reader.frames.offer("x" * size)
    client.receive_data(b"".join(reader.written))
    (frame,) = client.events_received()
    assert (frame.opcode, frame.fin, len(frame.data)) == (Opcode.TEXT, True, size)


def test_what_would_have_to_wait_is_not_sent():
    reader = Reader()
    reader.flows = False
    assert not reader.frames.offer("later")
    assert reader.written == []
