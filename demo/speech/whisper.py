"""Speech to text: Whisper tiny.en, eight bits a weight, on ctranslate2."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from demo.speech.bpe import Tokens
from demo.speech.engine import EngineFailure
from demo.speech.mel import log_mel
from demo.speech.resample import Samples, to_16k

_RATE = 16000
_WINDOW_SECONDS = 29
# The model's own window is 30 s; a shorter one costs a half or a third, and serves shorter turns. Each:
# the longest turn, the window, and how many words in a row may not come twice: a short window tempts to it.
_WINDOWS = ((8.0, 10, 3), (12.5, 15, 4), (30.0, 30, 4))
_PROMPT_TOKENS = 120
_TOKENS_A_SECOND = 8


class Whisper:
    """The loaded model; not safe for two threads at once, the engine's worker sees to that."""

    def __init__(self, model: Path) -> None:
        """Load the model whose `model.bin` this is; run it once so that the first caller does not wait."""
        self._model = ctranslate2.models.Whisper(
            str(model.parent), device="cpu", compute_type="int8", intra_threads=2, inter_threads=1
        )
        self._tokens = Tokens(model.parent / "tokenizer.json")
        self._prompt = lru_cache(maxsize=64)(self._encoded)
        self.transcribe(bytes(_RATE), _RATE, "")

    def transcribe(self, pcm: bytes, rate: int, prompt: str) -> str:
        """The words of an utterance, led by the names and nouns of `prompt`; empty where it is noise."""
        samples = to_16k(pcm, rate)
        size = _WINDOW_SECONDS * _RATE
        texts = (
            self._window(samples[start : start + size], prompt)
            for start in range(0, max(1, len(samples)), size)
        )
        return " ".join(text for text in texts if text)

    def _window(self, samples: Samples, prompt: str) -> str:
        seconds = len(samples) / _RATE
        window, repeats = next(
            (window, repeats) for longest, window, repeats in _WINDOWS if seconds <= longest
        )
        picture = log_mel(samples, window)
        tokens = [
            *self._prompt(prompt),
            self._tokens.id_of("<|startoftranscript|>"),
            self._tokens.id_of("<|notimestamps|>"),
        ]
        try:
            found = self._model.generate(
                ctranslate2.StorageView.from_array(np.ascontiguousarray(picture[None])),
                [tokens],
                beam_size=1,
                max_length=len(tokens) + 16 + int(_TOKENS_A_SECOND * seconds),
                no_repeat_ngram_size=repeats,
                return_scores=True,
                return_no_speech_prob=True,
            )[0]
        except RuntimeError as error:
            raise EngineFailure(f"Whisper failed: {error}") from error
        return "" if _is_noise(found) else self._tokens.decode(found.sequences[0]).strip()

    def _encoded(self, prompt: str) -> tuple[int, ...]:
        if not prompt.strip():
            return ()
        return (
            self._tokens.id_of("<|startofprev|>"),
            *self._tokens.encode(" " + prompt.strip())[-_PROMPT_TOKENS:],
        )


def _is_noise(found: Any) -> bool:
    """Whether words were made up from noise: it had a no-speech probability over 0.52, speech under 0.44."""
    return bool(found.no_speech_prob > 0.5 or (found.scores[0] < -1.0 and found.no_speech_prob > 0.3))
