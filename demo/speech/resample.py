"""Sound from 24 to 16 kHz, in one piece or as it streams."""

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]

_TAPS = 48
_CUTOFF = 7600 / 24000


def from_pcm(data: bytes) -> Samples:
    """PCM16 as numbers from -1 to 1."""
    return np.frombuffer(data, "<i2").astype(np.float32) / np.float32(32768)


def to_pcm(samples: Samples) -> bytes:
    """Numbers from -1 to 1 as PCM16, clipped."""
    return (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()


class Decimator:
    """A streaming two-thirds resampler: three samples in, two out; the state carries over between pieces."""

    def __init__(self) -> None:
        self._even, self._odd = _FILTER
        self.reset()

    def reset(self) -> None:
        """Forget the sound so far."""
        self._tail = np.zeros(_TAPS - 1, np.float32)

    def __call__(self, samples: Samples) -> Samples:
        """The piece at 16 kHz; its length must be a multiple of three."""
        joined = np.concatenate([self._tail, samples])
        self._tail = joined[-(_TAPS - 1) :]
        windows = np.lib.stride_tricks.sliding_window_view(joined, _TAPS)
        out = np.empty(len(samples) // 3 * 2, np.float32)
        out[0::2] = windows[0::3] @ self._even
        out[1::2] = windows[1::3] @ self._odd
        return out


def to_16k(pcm: bytes, rate: int) -> Samples:
    """A whole utterance as numbers at 16 kHz."""
    samples = from_pcm(pcm)
    if rate == 16000:
        return samples
    return Decimator()(np.pad(samples, (0, -len(samples) % 3)))


def _polyphase() -> tuple[Samples, Samples]:
    place = np.arange(2 * _TAPS) - (2 * _TAPS - 1) / 2
    taps = np.sinc(place * _CUTOFF) * np.kaiser(2 * _TAPS, 8.0)
    taps = 2 * taps / taps.sum()
    return taps[0::2][::-1].astype(np.float32), taps[1::2][::-1].astype(np.float32)


_FILTER = _polyphase()
