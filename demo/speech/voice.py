"""Text to speech: hibari's one English voice at 24 kHz."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hibari import Hibari

from demo.speech import pcm
from demo.speech.engine import EngineFailure
from demo.speech.resample import Decimator, from_pcm, to_pcm
from demo.speech.sentences import sentences

_RATE = 24000
_PAUSE_MS = 120
_SEED = 0


class HibariVoice:
    """The loaded voice; not safe for two threads at once, the engine's worker sees to that."""

    def __init__(self, model: Path) -> None:
        """Load the model and its reading rules, and speak once so that the first caller does not wait."""
        self._hibari = Hibari(model=str(model), threads=1)
        self.speak("Ready.", 1.0, _RATE)

    def units(self, text: str) -> Sequence[str]:
        """Sentences."""
        return sentences(text)

    def speak(self, unit: str, speed: float, rate: int) -> bytes:
        """A sentence and the short pause after it; the same sentence always sounds the same."""
        try:
            samples = self._hibari(unit.strip(), speed=min(2.0, max(0.5, speed)), seed=_SEED)
        except (RuntimeError, ValueError, KeyError, IndexError) as error:
            raise EngineFailure(f"the voice failed: {error}") from error
        sound = to_pcm(np.asarray(samples, np.float32)) + pcm.silence(_PAUSE_MS, _RATE)
        if rate == _RATE:
            return sound
        samples = from_pcm(sound)
        return to_pcm(Decimator()(np.pad(samples, (0, -len(samples) % 3))))
