"""Speech or not: Silero's detector on onnxruntime."""

from pathlib import Path

import numpy as np
import onnxruntime

from demo.speech.resample import Decimator, Samples, from_pcm

_CONTEXT = 64


class SileroModel:
    """The loaded detector, shared by every ear; each ear carries its own state."""

    def __init__(self, model: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def run(self, window: Samples, state: Samples) -> tuple[float, Samples]:
        """The probability for one window, and the state to hand in with the next."""
        inputs = {"input": window[None], "state": state, "sr": np.array(16000, np.int64)}
        output, state = self._session.run(None, inputs)
        return float(output[0, 0]), state


class SileroEar:
    """One session's ear: frames of 32 ms in, a probability out."""

    def __init__(self, model: SileroModel, rate: int) -> None:
        self._model = model
        self._decimator = Decimator() if rate == 24000 else None
        self.reset()

    def reset(self) -> None:
        """Forget what was heard."""
        self._state: Samples = np.zeros((2, 1, 128), np.float32)
        self._context: Samples = np.zeros(_CONTEXT, np.float32)

    def probability(self, frame: bytes) -> float:
        """How likely the frame holds speech."""
        samples = from_pcm(frame)
        if self._decimator:
            samples = self._decimator(samples)
        probability, self._state = self._model.run(np.concatenate([self._context, samples]), self._state)
        self._context = samples[-_CONTEXT:]
        return probability
