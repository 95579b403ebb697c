"""When a turn begins and ends: a counter over speech probabilities, without a clock and without sound."""

from enum import Enum, auto

from demo.speech.client_events import Detection
from demo.speech.pcm import FRAME_MS

ONSET_FRAMES = 2
GUESS_FRAMES = 7
LONGEST_TURN_MS = 60_000
_HYSTERESIS = 0.15
_LOWEST = 0.01


class Edge(Enum):
    """What one frame changed."""

    STARTED = auto()
    PAUSED = auto()
    RESUMED = auto()
    STOPPED = auto()


class TurnDetector:
    """Speech begins with two loud frames, pauses after 224 ms of silence, and ends after the set silence."""

    def __init__(self, detection: Detection) -> None:
        self.detection = detection
        self.reset()

    def reset(self) -> None:
        """Wait for the next turn."""
        self.speaking = False
        self._loud = self._silent = self._frames = 0

    def hear(self, probability: float) -> Edge | None:
        """Take in one frame."""
        if not self.speaking:
            return self._before(probability)
        return self._within(probability)

    def _before(self, probability: float) -> Edge | None:
        self._loud = self._loud + 1 if probability >= self.detection.threshold else 0
        if self._loud < ONSET_FRAMES:
            return None
        self.speaking, self._silent, self._frames = True, 0, self._loud
        return Edge.STARTED

    def _within(self, probability: float) -> Edge | None:
        quiet = probability < max(self.detection.threshold - _HYSTERESIS, _LOWEST)
        before = self._silent
        self._frames += 1
        self._silent = before + 1 if quiet else 0
        too_long = self._frames * FRAME_MS >= LONGEST_TURN_MS
        if too_long or self._silent * FRAME_MS >= self.detection.silence_duration_ms:
            self.reset()
            return Edge.STOPPED
        if self._silent == GUESS_FRAMES:
            return Edge.PAUSED
        return Edge.RESUMED if before >= GUESS_FRAMES and not self._silent else None
