"""Whisper's front end: sound to a log-mel picture, with numpy alone."""

import numpy as np
import numpy.typing as npt

from demo.speech.resample import Samples

_RATE = 16000
_FFT = 400
_HOP = 160
_BANDS = 80
_BREAK_HERTZ, _BREAK_MEL = 1000.0, 15.0
_LOG_STEP = np.log(6.4) / 27

Numbers = npt.NDArray[np.float64]


def log_mel(samples: Samples, seconds: int) -> Samples:
    """The picture of sound at 16 kHz, padded with silence to `seconds`: 80 bands, 100 columns a second."""
    count = seconds * _RATE
    padded = np.pad(samples[:count], (0, max(0, count - len(samples))))
    framed = np.pad(padded, _FFT // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(framed, _FFT)[::_HOP][: seconds * 100]
    power = np.abs(np.fft.rfft(frames * _WINDOW, axis=1).astype(np.complex64)) ** 2
    picture = np.log10(np.maximum(_FILTERS @ power.T, 1e-10))
    picture = np.maximum(picture, picture.max() - 8)
    return np.ascontiguousarray((picture + 4) / 4, np.float32)


def _mel(hertz: Numbers) -> Numbers:
    above = _BREAK_MEL + np.log(np.maximum(hertz, 1e-9) / _BREAK_HERTZ) / _LOG_STEP
    return np.where(hertz < _BREAK_HERTZ, hertz * 3 / 200, above)


def _hertz(mel: Numbers) -> Numbers:
    return np.where(mel < _BREAK_MEL, mel * 200 / 3, _BREAK_HERTZ * np.exp(_LOG_STEP * (mel - _BREAK_MEL)))


def _filters() -> Samples:
    bins = np.linspace(0, _RATE / 2, _FFT // 2 + 1)
    low, high = _mel(np.array([0.0, _RATE / 2]))
    points = _hertz(np.linspace(low, high, _BANDS + 2))
    steps = np.diff(points)
    slopes = points[:, None] - bins[None]
    triangles = np.maximum(0, np.minimum(-slopes[:-2] / steps[:-1, None], slopes[2:] / steps[1:, None]))
    return (triangles * (2 / (points[2:] - points[:-2]))[:, None]).astype(np.float32)


_FILTERS = _filters()
_WINDOW = np.hanning(_FFT + 1)[:-1].astype(np.float32)
