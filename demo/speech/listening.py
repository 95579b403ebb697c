"""The input audio buffer: sound in, turns out; nothing is sent and nothing is awaited here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from demo.speech.client_events import Detection
from demo.speech.engine import Ear
from demo.speech.events import Refused, new_id
from demo.speech.pcm import FRAME_MS, byte_count, duration_ms
from demo.speech.turns import LONGEST_TURN_MS, ONSET_FRAMES, Edge, TurnDetector

_SHORTEST_COMMIT_MS = 100


@dataclass(frozen=True, slots=True)
class Utterance:
    """A stretch of committed sound and the item that it becomes."""

    item_id: str
    pcm: bytes
    rate: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Started:
    """The caller began to speak at `at_ms` of all sound so far."""

    item_id: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Paused:
    """The caller fell silent: this may be the whole utterance."""

    utterance: Utterance


@dataclass(frozen=True, slots=True)
class Resumed:
    """The caller went on: what paused was not the whole."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The caller has finished."""

    utterance: Utterance


Signal = Started | Paused | Resumed | Stopped


class Listener:
    """The buffer of one session; times are milliseconds of all sound that was ever appended."""

    def __init__(self, make_ear: Callable[[int], Ear], rate: int, detection: Detection | None) -> None:
        self._make_ear = make_ear
        self._rate = rate
        self._ear = make_ear(rate)
        self._detector = TurnDetector(detection) if detection else None
        self._pcm = bytearray()
        self._base_ms = self._next_ms = self._start_ms = 0
        self._item_id: str | None = None
        self._full = False

    def configure(self, rate: int, detection: Detection | None) -> None:
        """Go on with other settings; a turn in progress goes on where it can."""
        if rate != self._rate:
            self.clear()
            self._rate, self._ear = rate, self._make_ear(rate)
        if self._detector and detection:
            self._detector.detection = detection
        elif bool(self._detector) != bool(detection):
            self._detector = TurnDetector(detection) if detection else None
            self._next_ms = self._end_ms
            self._ear.reset()

    def append(self, pcm: bytes) -> Iterator[Signal]:
        """Take in sound and give what it changed; raises Refused when a manual turn grows too long."""
        if len(pcm) % 2:
            raise Refused("invalid_value", "The audio is not whole 16-bit samples.", "audio")
        if not self._detector and duration_ms(len(self._pcm) + len(pcm), self._rate) > LONGEST_TURN_MS:
            self._overflow()
            return
        self._pcm += pcm
        while self._detector and self._end_ms - self._next_ms >= FRAME_MS:
            yield from self._frame(self._detector)

    def commit(self) -> Utterance:
        """The sound so far as an utterance; raises Refused when there is next to none."""
        length = duration_ms(len(self._pcm), self._rate)
        if length < _SHORTEST_COMMIT_MS:
            reason = (
                "Error committing input audio buffer: buffer too small. Expected at least "
                f"{_SHORTEST_COMMIT_MS}ms of audio, but buffer only has {length}ms of audio."
            )
            raise Refused("input_audio_buffer_commit_empty", reason)
        start = self._start_ms if self._item_id else self._base_ms
        utterance = self._utterance(self._item_id or new_id("item"), start, self._end_ms)
        self.clear()
        return utterance

    def clear(self) -> None:
        """Forget the sound so far, and a turn in progress with it."""
        self._settle(self._end_ms)
        if self._detector:
            self._detector.reset()

    @property
    def _end_ms(self) -> int:
        return self._base_ms + duration_ms(len(self._pcm), self._rate)

    def _overflow(self) -> None:
        """Say once that the buffer is full: sound comes fifty times a second."""
        if self._full:
            return
        self._full = True
        reason = (
            f"The input audio buffer holds {LONGEST_TURN_MS // 1000} seconds at most: commit or clear it."
        )
        raise Refused("input_audio_buffer_full", reason, "audio")

    def _frame(self, detector: TurnDetector) -> Iterator[Signal]:
        frame = self._between(self._next_ms, self._next_ms + FRAME_MS)
        self._next_ms += FRAME_MS
        edge = detector.hear(self._ear.probability(frame))
        padding = detector.detection.prefix_padding_ms + ONSET_FRAMES * FRAME_MS
        if edge is Edge.STARTED:
            self._start_ms = max(self._base_ms, self._next_ms - padding)
            self._item_id = new_id("item")
            yield Started(self._item_id, self._start_ms)
        elif edge is Edge.PAUSED and self._item_id:
            yield Paused(self._utterance(self._item_id, self._start_ms, self._next_ms))
        elif edge is Edge.RESUMED:
            yield Resumed()
        elif edge is Edge.STOPPED and self._item_id:
            utterance = self._utterance(self._item_id, self._start_ms, self._next_ms)
            self._settle(self._next_ms)
            yield Stopped(utterance)
        elif not detector.speaking:
            self._drop_before(self._next_ms - padding)

    def _settle(self, at_ms: int) -> None:
        self._drop_before(at_ms)
        self._next_ms = max(self._next_ms, at_ms)
        self._item_id = None
        self._full = False
        self._ear.reset()

    def _utterance(self, item_id: str, start_ms: int, end_ms: int) -> Utterance:
        return Utterance(item_id, self._between(start_ms, end_ms), self._rate, end_ms)

    def _between(self, start_ms: int, end_ms: int) -> bytes:
        start = byte_count(start_ms - self._base_ms, self._rate)
        return bytes(self._pcm[start : byte_count(end_ms - self._base_ms, self._rate)])

    def _drop_before(self, at_ms: int) -> None:
        if at_ms > self._base_ms:
            del self._pcm[: byte_count(at_ms - self._base_ms, self._rate)]
            self._base_ms = at_ms
